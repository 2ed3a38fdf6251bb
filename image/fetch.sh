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

# get_ports FILE - the ports tree, packed: the pinned commit of it, or its branch as it is.
get_ports() {
	download "$LL_PORTS_URL" "$1"
	told=$(python3 "$here/ports_tree.py" "$1" --commit "$LL_PORTS_COMMIT" --digest "$LL_PORTS_SHA256") ||
		die "the ports tree that came is not the one that was asked for"
	if [ -z "$LL_PORTS_COMMIT" ] || [ -z "$LL_PORTS_SHA256" ]; then
		say "  nothing pins the ports tree: to hold later builds to this one, set
    LL_PORTS_COMMIT=${told%% *} LL_PORTS_SHA256=${told##* }"
	fi
}

# What was not given is downloaded once, and from there on is taken as if it had been given.
get_inputs() {
	rm -f "$work/ports.sum"
	[ -z "$offline" ] || return 0
	if [ -z "$sets" ]; then
		sets=$work/sets-$LL_RELEASE-$LL_ARCH
		! wants_stages || get_sets "$sets"
	fi
	if [ -z "$packages" ] && [ -z "$ports" ]; then
		ports=$work/ports-${LL_PORTS_COMMIT:-$LL_PORTS_BRANCH}.tar.gz
		! wants ports bulk image || get_ports "$ports"
	fi
}

# fetch_all DIR - what an offline build needs.
fetch_all() {
	folder=$1
	[ -n "${LL_MANIFEST_SHA256-}" ] || fault "no digest is pinned for the sets of $LL_RELEASE: set LL_MANIFEST_SHA256 to the one that was published"
	[ -z "$builder" ] || [ -s "$builder" ] || fault "the builder image $builder is not there"
	need_programs "$(downloader) $(build_programs)"
	stop_at_faults 'nothing was fetched'
	mkdir -p "$folder/distfiles"
	say "filling $folder"
	get_sets "$folder/sets"
	get_ports "$folder/ports.tar.gz"
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
			BATCH=yes __MAKE_CONF="$top/ports/make.conf" fetch-recursive </dev/null
	done <"$top/ports/pkglist"
}

# The published digest of the builder image, for the pinned release.
check_builder() {
	[ "$(sha256_of "$1")" = "${LL_BUILDER_SHA256-}" ] ||
		die "the builder image $1 is damaged: its SHA-256 is not the pinned one (LL_BUILDER_SHA256); remove it and try again"
}
