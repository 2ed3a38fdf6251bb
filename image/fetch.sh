# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh and poudriere.conf
# `build.sh fetch`: everything that a build needs, into one folder, for a build with the network cut.

# fetch_all DIR - what an offline build needs.
fetch_all() {
	folder=$1
	# Whatever is fetched is checked against what was published: without a digest there is nothing to check against.
	for name in LL_MANIFEST_SHA256 LL_BUILDER_SHA256; do
		[ "$name" = LL_BUILDER_SHA256 ] && [ -n "$builder" ] && continue
		eval "want=\${$name-}"
		[ -n "$want" ] || die "no digest is pinned for $LL_RELEASE: set $name to the one that was published; nothing was fetched"
	done
	[ -z "$builder" ] || [ -s "$builder" ] || die "the builder image $builder is not there; nothing was fetched"
	mkdir -p "$folder/sets" "$folder/distfiles"
	say "filling $folder"
	for file in MANIFEST base.txz kernel.txz src.txz; do
		download "$LL_SETS_URL/$file" "$folder/sets/$file"
	done
	[ "$(sha256_of "$folder/sets/MANIFEST")" = "$LL_MANIFEST_SHA256" ] ||
		die "$folder/sets/MANIFEST is not the one published with $LL_RELEASE; remove it and fetch again"
	sets=$folder/sets
	check_sets
	[ -z "$faults" ] || die "what came is damaged:
$faults"
	download "$LL_PORTS_URL" "$folder/ports.tar.gz"
	if [ "$(uname -s)" = FreeBSD ]; then
		fetch_distfiles "$folder"
	else
		say "  the distfiles of the packages are fetched in the builder"
		# shellcheck source=image/builder.sh
		. "$here/builder.sh"
		fetch_in_vm "$folder"
	fi
	(cd "$folder" && find . -type f ! -name 'SHA256SUMS*' ! -name '*.part' | sed 's|^\./||' | sort |
		while read -r file; do printf '%s  %s\n' "$(sha256_of "$file")" "$file"; done) >"$folder/SHA256SUMS.new"
	mv "$folder/SHA256SUMS.new" "$folder/SHA256SUMS"
	say "$folder is complete: ./build.sh image --offline $folder"
}

# On FreeBSD: every distfile of the list and of what it depends on.
fetch_distfiles() {
	rm -rf "$work/fetch-ports"
	mkdir -p "$work/fetch-ports"
	tar -xf "$1/ports.tar.gz" --strip-components 1 -C "$work/fetch-ports"
	cp -Rp "$top/ports/textproc/py-textual" "$work/fetch-ports/textproc/"
	while read -r origin; do
		case $origin in
		net-mgmt/linkladder) origin=devel/py-hatchling ;;
		esac
		flavor=''
		case $origin in
		*@*) flavor=${origin#*@} origin=${origin%@*} ;;
		esac
		make -C "$work/fetch-ports/$origin" PORTSDIR="$work/fetch-ports" DISTDIR="$1/distfiles" BATCH=yes FLAVOR="$flavor" \
			fetch-recursive
	done <"$top/ports/pkglist"
}

# The published digest of the builder image, for the pinned release.
check_builder() {
	[ "$(sha256_of "$1")" = "${LL_BUILDER_SHA256-}" ] ||
		die "the builder image $1 is damaged: its SHA-256 is not the pinned one (LL_BUILDER_SHA256); remove it and try again"
}
