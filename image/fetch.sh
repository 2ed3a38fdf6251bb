# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh and poudriere.conf
# `build.sh fetch`: everything that a build needs, into one folder, for a build with the network cut.

# get_sets DIR - the release's own distribution sets, each as the release published it.
get_sets() {
	mkdir -p "$1"
	for file in MANIFEST base.txz kernel.txz src.txz; do
		download "$LL_SETS_URL/$file" "$1/$file"
	done
	[ "$(sha256_of "$1/MANIFEST")" = "$LL_MANIFEST_SHA256" ] ||
		die "$1/MANIFEST is not the one published with $LL_RELEASE; remove it and try again"
	sets=$1
	check_sets
	[ -z "$faults" ] || die "what came is damaged; remove it and try again:
$faults"
}

# What was not given is downloaded once, and from there on is taken as if it had been given.
get_inputs() {
	rm -f "$work/ports.sum" "$work/source.sum"
	if [ -n "$offline" ]; then
		[ "$inside" = yes ] || hold_offline
		return 0
	fi
	if [ -z "$sets" ] && [ "$released" = yes ]; then
		sets=$work/sets-$LL_RELEASE-$LL_ARCH
		! wants_stages || get_sets "$sets"
	fi
	if [ -z "$sets" ] && [ -z "$source" ]; then
		source=$(packed_name source)
		if wants_stages; then
			get_tree source "$source"
			take_pinned_name source "$source"
			source=$(packed_name source)
		fi
	fi
	if [ -z "$packages" ] && [ -z "$ports" ]; then
		ports=$(packed_name ports)
		if wants ports bulk image; then
			get_tree ports "$ports"
			take_pinned_name ports "$ports"
			ports=$(packed_name ports)
		fi
	fi
}

# What lies in an offline folder is pinned by the first build of it, as what is downloaded is.
hold_offline() {
	[ "$ports" != "$offline/ports.tar.gz" ] || ! wants ports bulk image || hold ports "$ports"
	[ "$source" != "$offline/source.tar.gz" ] || ! wants_stages || hold source "$source"
}

# take_pinned_name TREE FILE - a branch's tree that has become the pinned one is found by its commit from here on.
take_pinned_name() {
	is_pinned "$1" || return 0
	named=$(packed_name "$1")
	[ "$2" = "$named" ] || mv "$2" "$named"
}

# fetch_all DIR - what an offline build needs.
fetch_all() {
	folder=$1
	[ "$released" = no ] || need_manifest_digest
	[ -z "$builder" ] || [ -s "$builder" ] || fault "the builder image $builder is not there"
	need_programs "$(downloader) $(build_programs) python3:python3"
	stop_at_faults 'nothing was fetched'
	mkdir -p "$folder/distfiles"
	say "filling $folder"
	if [ "$released" = yes ]; then
		get_sets "$folder/sets"
	else
		get_tree source "$folder/source.tar.gz"
	fi
	get_tree ports "$folder/ports.tar.gz"
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

# On FreeBSD: every distfile of the list and of what it depends on, with the options that it will be built with.
fetch_distfiles() {
	rm -rf "$work/fetch-ports"
	mkdir -p "$work/fetch-ports"
	tar -xf "$1/ports.tar.gz" --strip-components 1 -C "$work/fetch-ports"
	cp -Rp "$top/ports/textproc/py-textual" "$work/fetch-ports/textproc/"
	missing=''
	while read -r origin; do
		case $origin in
		net-mgmt/linkladder) origin=devel/py-hatchling ;;
		esac
		# Where a line names no flavor the port chooses: an empty one is refused [Mk/bsd.port.mk].
		flavor=''
		case $origin in
		*@*) flavor=FLAVOR=${origin#*@} ;;
		esac
		make -C "$work/fetch-ports/${origin%@*}" ${flavor:+"$flavor"} PORTSDIR="$work/fetch-ports" DISTDIR="$1/distfiles" \
			BATCH=yes __MAKE_CONF="$top/ports/make.conf" fetch-recursive </dev/null || missing="$missing ${origin%@*}"
	done <"$top/ports/pkglist"
	[ -z "$missing" ] || die "the distfiles of these ports could not all be fetched, what each said stands above:$missing.
  Try again: what came is kept"
}

# The published digest of the builder image, for the pinned release.
check_builder() {
	[ "$(sha256_of "$1")" = "${LL_BUILDER_SHA256-}" ] ||
		die "the builder image $1 is damaged: its SHA-256 is not the pinned one (LL_BUILDER_SHA256); remove it and try again"
}
