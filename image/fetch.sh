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

# Where a tree of ports comes from: the pinned commit of it, or its branch as it is now.
ports_url() {
	echo "${LL_PORTS_URL:-$LL_PORTS_ARCHIVE/${LL_PORTS_COMMIT:-refs/heads/$LL_PORTS_BRANCH}}"
}

# get_ports FILE - the ports tree, packed: the pinned commit of it, or its branch as it is, which is pinned by that.
get_ports() {
	# Half of a branch's tree is not gone on with: the branch may have moved meanwhile.
	[ -n "$LL_PORTS_COMMIT" ] || rm -f "$1.part"
	download "$(ports_url)" "$1"
	hold_ports "$1"
}

# ports_told FILE - its commit and the digest of its files; ends the build where it is not the pinned tree.
ports_told() {
	python3 "$here/ports_tree.py" "$1" --commit "$LL_PORTS_COMMIT" --digest "$LL_PORTS_SHA256" ||
		die "the ports tree that came is not the one that was asked for; remove $1 and try again"
}

ports_are_pinned() {
	[ -n "$LL_PORTS_COMMIT" ] && [ -n "$LL_PORTS_SHA256" ]
}

# hold_ports FILE - the tree is the pinned one, or the one that is pinned from now on: who builds twice gets the same twice.
hold_ports() {
	told=$(ports_told "$1") || exit 3
	! ports_are_pinned || return 0
	if [ "$unpinned" = yes ]; then
		say "  the ports tree stays unpinned: commit ${told%% *}, files ${told##* }"
		return 0
	fi
	write_pin "${told%% *}" "${told##* }"
	say "  the ports tree was not pinned: poudriere.conf holds every later build to this one
    commit $LL_PORTS_COMMIT
    files  $LL_PORTS_SHA256
    ./build.sh pin takes a newer one"
}

# write_pin COMMIT DIGEST - into poudriere.conf, and for this build.
write_pin() {
	[ "$1" != unknown ] ||
		die "the ports tree cannot be pinned: it does not tell its commit, as one that git archive packed does.
  Take such a tree, or build with --unpinned: the image then says that nothing pins its ports"
	python3 "$here/pin.py" "$top/poudriere.conf" "$LL_PORTS_BRANCH" "$1" "$2" ||
		die "the ports tree cannot be pinned, so that a later build could get another one unseen.
  Make poudriere.conf writable, set LL_PORTS_COMMIT=$1 LL_PORTS_SHA256=$2, or build with --unpinned"
	LL_PORTS_COMMIT=$1 LL_PORTS_SHA256=$2
}

# `build.sh pin`: the newest commit of the branch, the one that --commit names, or the tree that --ports names.
move_pin() {
	before=${LL_PORTS_COMMIT:-none} files=$LL_PORTS_SHA256
	LL_PORTS_COMMIT=$commit LL_PORTS_SHA256=''
	mkdir -p "$work"
	tree=$work/pin.tar.gz
	if [ -n "$ports" ]; then
		[ -f "$ports" ] || die "there is no packed ports tree $ports; git archive packs one"
		tree=$ports
	else
		say "getting the ports tree: ${commit:-the newest of branch $LL_PORTS_BRANCH}"
		rm -f "$tree" "$tree.part"
		download "$(ports_url)" "$tree"
	fi
	told=$(ports_told "$tree") || exit 3
	if [ "${told%% *}" = "$before" ] && [ -n "$files" ] && [ "${told##* }" != "$files" ]; then
		die "commit $before has other files than the pinned ones: ${told##* }, not $files.
  A commit cannot change: whoever sent this tree changed it, or the pin was written of a changed one.  Nothing was moved;
  get the tree from elsewhere (--ports FILE), and compare"
	fi
	write_pin "${told%% *}" "${told##* }"
	# The next build finds it there.
	[ -n "$ports" ] || mv "$tree" "$work/ports-$LL_PORTS_COMMIT.tar.gz"
	say "ports tree, branch $LL_PORTS_BRANCH
  before: $before${files:+, files $files}
  now:    $LL_PORTS_COMMIT, files $LL_PORTS_SHA256"
	[ "$before" != "$LL_PORTS_COMMIT" ] || say "  it was pinned already: nothing newer is there"
	say "FreeBSD $LL_RELEASE: its sets and the builder image stay those whose digests poudriere.conf has"
}

# What was not given is downloaded once, and from there on is taken as if it had been given.
get_inputs() {
	rm -f "$work/ports.sum"
	if [ -n "$offline" ]; then
		[ "$ports" != "$offline/ports.tar.gz" ] || [ "$inside" = yes ] || ! wants ports bulk image || hold_ports "$ports"
		return 0
	fi
	if [ -z "$sets" ]; then
		sets=$work/sets-$LL_RELEASE-$LL_ARCH
		! wants_stages || get_sets "$sets"
	fi
	if [ -z "$packages" ] && [ -z "$ports" ]; then
		ports=$work/ports-${LL_PORTS_COMMIT:-$LL_PORTS_BRANCH}.tar.gz
		if wants ports bulk image; then
			get_ports "$ports"
			take_pinned_name
		fi
	fi
}

# A branch's tree that has become the pinned one is found by its commit from here on.
take_pinned_name() {
	ports_are_pinned || return 0
	[ "$ports" = "$work/ports-$LL_PORTS_COMMIT.tar.gz" ] || mv "$ports" "$work/ports-$LL_PORTS_COMMIT.tar.gz"
	ports=$work/ports-$LL_PORTS_COMMIT.tar.gz
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
