# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh and poudriere.conf
# What goes into a build: looked at before any work starts, and told apart from what is official.

needed_sets='MANIFEST base.txz kernel.txz'
faults=''

fault() {
	faults="$faults  $*
"
}

# An offline folder names every input that was not given by itself.
use_offline() {
	[ -n "$offline" ] || return 0
	[ -d "$offline" ] || die "there is no folder $offline; ./build.sh fetch $offline fills it"
	if [ -z "$sets" ] && [ -z "$source" ]; then
		# A folder holds the source, or the sets where it was filled with --as-released.
		if [ "$released" = yes ] || [ -d "$offline/sets" ]; then sets=$offline/sets; else source=$offline/source.tar.gz; fi
	fi
	if [ -z "$packages" ] && [ -d "$offline/packages" ]; then
		packages=$offline/packages
	fi
	[ -n "$packages" ] || [ -n "$ports" ] || ports=$offline/ports.tar.gz
	[ -n "$builder" ] || [ "$(uname -s)" = FreeBSD ] || builder=$offline/builder.qcow2
	LL_DISTFILES=$offline/distfiles
	export LL_DISTFILES
}

# Every fault of the inputs at once, before any work: hours later is too late to learn of a missing file.
check_inputs() {
	if [ -n "$sets" ]; then
		check_sets
	elif [ "$released" = yes ] && wants_stages; then
		need_manifest_digest
	fi
	if [ -n "$packages" ]; then
		[ -n "$(packages_list "$packages")" ] || fault "$packages is no package repository: it has no packagesite (pkg repo makes it)"
		[ -s "$packages/Latest/pkg.pkg" ] || fault "$packages/Latest/pkg.pkg is missing: pkg itself is installed from it"
		[ "$inside" = yes ] || [ -z "$(packages_list "$packages")" ] || check_packages
	fi
	[ -z "$ports" ] || [ -e "$ports" ] || fault "the ports tree $ports is not there"
	[ -z "$source" ] || [ -f "$source" ] || fault "the packed source $source is not there; git archive packs one"
	[ -z "$builder" ] || [ -s "$builder" ] || fault "the builder image $builder is not there"
	[ -z "$offline" ] || check_sums
	check_tools
	stop_at_faults 'nothing was started'
	say "inputs: good"
	[ "$inside" = yes ] || stand_ins | sort -u | sed 's/^/  stand-in: /' >&2
}

need_manifest_digest() {
	[ -n "${LL_MANIFEST_SHA256-}" ] ||
		fault "no digest is pinned for the sets of $LL_RELEASE: set LL_MANIFEST_SHA256 to the one that was published, or give sets with --sets"
}

# stop_at_faults WORDS - all of them, each once.
stop_at_faults() {
	[ -n "$faults" ] || return 0
	printf '%s' "$faults" | awk '!told[$0]++' >&2
	die "these inputs are missing or damaged; $1"
}

# The programs that this machine's part of the build calls; and a builder image that nobody can vouch for is not fetched.
check_tools() {
	wanted=''
	! wants_stages || wanted="$wanted $(build_programs)"
	! downloads || wanted="$wanted $(downloader)"
	[ "$inside" = yes ] || ! wants pack || wanted="$wanted xz:xz-utils qemu-img:qemu-utils python3:python3 ssh-keygen:openssh-client"
	need_programs "$wanted"
}

# need_programs COMMAND:PACKAGE ... - in one word.
need_programs() {
	for pair in $1; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || fault "${pair%%:*} is not installed (package ${pair#*:})"
	done
	if [ "$(uname -s)" = FreeBSD ]; then
		! wants_stages || [ "$(id -u)" -eq 0 ] || fault "poudriere makes jails and disks: run this as root"
	elif wants_builder && [ -z "$builder" ] && [ -z "${LL_BUILDER_SHA256-}" ]; then
		fault "no digest is pinned for the builder image of $LL_RELEASE: set LL_BUILDER_SHA256 to the one that was published, or give an image with --builder"
	fi
}

# What runs the stages here: poudriere itself, or the virtual machine that has it.
build_programs() {
	if [ "$(uname -s)" = FreeBSD ]; then
		echo 'poudriere:poudriere'
	else
		echo 'xz:xz-utils qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils ssh:openssh-client ssh-keygen:openssh-client'
	fi
}

downloader() {
	command -v fetch >/dev/null 2>&1 || echo 'curl:curl'
}

# Whether anything has to be downloaded for this build.
downloads() {
	[ -z "$offline" ] && wants_stages || return 1
	[ -z "$sets$source" ] || { [ -z "$packages" ] && [ -z "$ports" ] && wants ports bulk image; } || { wants_builder && [ -z "$builder" ]; }
}

# wants STAGE ... - whether any of these is to be run.
wants() {
	[ -n "$only" ] || return 0
	for stage in "$@"; do
		case " $only " in
		*" $stage "*) return 0 ;;
		esac
	done
	return 1
}

# Whether any stage is to run besides the packing of what is there.
wants_stages() {
	wants jail kernel ports bulk image
}

# Elsewhere than on FreeBSD every stage but the last is run in the builder.
wants_builder() {
	[ "$(uname -s)" != FreeBSD ] && wants_stages
}

check_sets() {
	for file in $needed_sets; do
		[ -s "$sets/$file" ] || fault "$sets/$file is missing"
	done
	[ -s "$sets/MANIFEST" ] || return 0
	if [ ! -s "$sets/kernel-LINKLADDER.txz" ] && [ ! -s "$sets/src.txz" ]; then
		fault "$sets has neither src.txz nor kernel-LINKLADDER.txz: the kernel cannot be built"
	fi
	# MANIFEST: file, SHA-256, then words about it.
	while read -r file want _; do
		[ -s "$sets/$file" ] || continue
		[ "$(sha256_of "$sets/$file")" = "$want" ] || fault "$sets/$file is damaged: its SHA-256 is not the one in MANIFEST"
	done <"$sets/MANIFEST"
	# Whatever is unpacked is vouched for, and what poudriere will look for is there.
	for file in "$sets"/*.txz; do
		[ ! -e "$file" ] || grep -q "^${file##*/}[[:space:]]" "$sets/MANIFEST" || fault "$sets/MANIFEST does not name ${file##*/}"
	done
	! grep -q '^src.txz[[:space:]]' "$sets/MANIFEST" || [ -s "$sets/src.txz" ] ||
		fault "$sets/src.txz is missing: MANIFEST names it, and poudriere unpacks it into the jail"
}

# Every package of the list and all that they depend on: there, and as the repository's own list has them.
check_packages() {
	mkdir -p "$work"
	listed=$(packages_list "$packages")
	tar -xOf "$listed" packagesite.yaml >"$work/packagesite.yaml" 2>/dev/null || {
		fault "$listed is damaged, or there is no zstd to read it: no packagesite.yaml comes out of it"
		return 0
	}
	told=$(python3 "$here/repository.py" "$packages" "$top/ports/pkglist" <"$work/packagesite.yaml") ||
		fault "$packages could not be checked"
	rm -f "$work/packagesite.yaml"
	[ -z "$told" ] || faults=$faults$(printf '%s\n' "$told" | sed 's/^/  /')"
"
}

check_sums() {
	[ -s "$offline/SHA256SUMS" ] || {
		fault "$offline/SHA256SUMS is missing"
		return 0
	}
	while read -r want file; do
		if [ ! -s "$offline/$file" ]; then
			fault "$offline/$file is missing"
		elif [ "$(sha256_of "$offline/$file")" != "$want" ]; then
			fault "$offline/$file is damaged: its SHA-256 is not the one in SHA256SUMS"
		fi
	done <"$offline/SHA256SUMS"
	for one in ports source; do
		[ -s "$offline/$one.tar.gz" ] || continue
		told=$(identity "$one" "$offline/$one.tar.gz" 2>&1) || fault "$told"
	done
	# A file that nothing vouches for is as bad as a damaged one.
	for file in sets/MANIFEST source.tar.gz ports.tar.gz builder.qcow2; do
		[ ! -s "$offline/$file" ] || grep -q " ${file}\$" "$offline/SHA256SUMS" || fault "$offline/SHA256SUMS does not name $file"
	done
}

# Whether the sets are the release's own, as they were published.
sets_are_published() {
	[ "$(sha256_of "$sets/MANIFEST")" = "${LL_MANIFEST_SHA256-}" ]
}

# What is not the official input, as far as it can be seen before the build: whoever made a set or a package says so in a
# file STAND-IN beside it, and what differs from the release's own digests is found here.
stand_ins() {
	printf '%s' "$standins"
	[ -n "${LINKLADDER_SIGNING_KEY-}" ] || echo "upgrades: signed by a development key, made on this machine"
	if [ -n "$sets" ]; then
		if sets_are_published; then
			echo "system: FreeBSD $LL_RELEASE as it was released, without the security patches since"
		else
			echo "sets: their MANIFEST is not the one that was published with $LL_RELEASE"
		fi
		[ ! -s "$sets/kernel-LINKLADDER.txz" ] || echo "kernel LINKLADDER: from a given set, not built from the release's source"
		[ ! -s "$sets/STAND-IN" ] || sed 's/^/sets: /' "$sets/STAND-IN"
	fi
	if [ -n "$packages" ]; then
		echo "packages: given as a repository, not built by poudriere bulk; linkladder is packed from this tree"
		[ ! -s "$packages/STAND-IN" ] || sed 's/^/packages: /' "$packages/STAND-IN"
	fi
	not_the_pinned ports "$ports"
	not_the_pinned source "$source"
	case $builder in
	'') ;;
	"$offline/builder.qcow2") [ ! -s "$offline/STAND-IN" ] || sed 's/^/builder: /' "$offline/STAND-IN" ;;
	*) echo "builder: ${builder##*/} was given, it is not the pinned official image" ;;
	esac
}
