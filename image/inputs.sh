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
	[ -n "$sets" ] || sets=$offline/sets
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
	elif [ -n "$offline" ]; then
		fault "$offline/sets is not there"
	fi
	if [ -n "$packages" ]; then
		[ -n "$(packages_list)" ] || fault "$packages is no package repository: it has no packagesite (pkg repo makes it)"
		[ -s "$packages/Latest/pkg.pkg" ] || fault "$packages/Latest/pkg.pkg is missing: pkg itself is installed from it"
		check_package_list
	fi
	[ -z "$ports" ] || [ -e "$ports" ] || fault "the ports tree $ports is not there"
	[ -z "$builder" ] || [ -s "$builder" ] || fault "the builder image $builder is not there"
	[ -z "$offline" ] || check_sums
	check_tools
	[ -z "$faults" ] || {
		printf '%s' "$faults" | awk '!told[$0]++' >&2
		die "these inputs are missing or damaged; nothing was started"
	}
	say "inputs: good"
	[ "$inside" = yes ] || stand_ins | sort -u | sed 's/^/  stand-in: /' >&2
}

# The programs that this machine's part of the build calls; and a builder image that nobody can vouch for is not fetched.
check_tools() {
	wanted='xz:xz-utils'
	if [ "$(uname -s)" = FreeBSD ]; then
		wanted="$wanted poudriere:poudriere"
	elif wants_builder; then
		wanted="$wanted qemu-system-x86_64:qemu-system-x86 ssh:openssh-client ssh-keygen:openssh-client"
		[ -n "$builder" ] || [ -n "${LL_BUILDER_SHA256-}" ] ||
			fault "no digest is pinned for the builder image of $LL_RELEASE: set LL_BUILDER_SHA256 to the one that was published, or give an image with --builder"
	fi
	case " $only " in
	'  ' | *' pack '*) [ "$inside" = yes ] || wanted="$wanted qemu-img:qemu-utils python3:python3" ;;
	esac
	for pair in $wanted; do
		command -v "${pair%%:*}" >/dev/null 2>&1 || fault "${pair%%:*} is not installed (package ${pair#*:})"
	done
}

# Elsewhere than on FreeBSD every stage but the last is run in the builder.
wants_builder() {
	[ "$(uname -s)" != FreeBSD ] || return 1
	case " $only " in
	'  ' | *' jail '* | *' kernel '* | *' ports '* | *' bulk '* | *' image '*) return 0 ;;
	esac
	return 1
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
	for file in base.txz kernel.txz; do
		grep -q "^${file}[[:space:]]" "$sets/MANIFEST" || fault "$sets/MANIFEST does not name $file"
	done
}

# Every package of the list is in the repository, under any version.
check_package_list() {
	all=$packages/All
	[ -d "$all" ] || {
		fault "$all is missing"
		return 0
	}
	while read -r origin; do
		port=${origin#*/}
		port=${port%@*}
		case $port in
		linkladder) continue ;; # packed from this tree
		py-*) pattern="py3*-${port#py-}-[0-9]*" ;;
		open-vm-tools) pattern='open-vm-tools*-[0-9]*' ;;
		*) pattern="$port-[0-9]*" ;;
		esac
		find "$all" -iname "$pattern" | grep -q . || fault "$packages has no package of $origin"
	done <"$top/ports/pkglist"
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
	# A file that nothing vouches for is as bad as a damaged one.
	for file in sets/MANIFEST ports.tar.gz builder.qcow2; do
		[ ! -s "$offline/$file" ] || grep -q " ${file}\$" "$offline/SHA256SUMS" || fault "$offline/SHA256SUMS does not name $file"
	done
}

# What is not the official input, as far as it can be seen before the build: whoever made a set or a package says so in a
# file STAND-IN beside it, and what differs from the release's own digests is found here.
stand_ins() {
	printf '%s' "$standins"
	if [ -n "$sets" ]; then
		[ "$(sha256_of "$sets/MANIFEST")" = "${LL_MANIFEST_SHA256-}" ] ||
			echo "sets: their MANIFEST is not the one that was published with $LL_RELEASE"
		[ ! -s "$sets/kernel-LINKLADDER.txz" ] || echo "kernel LINKLADDER: from a given set, not built from the release's source"
		[ ! -s "$sets/STAND-IN" ] || sed 's/^/sets: /' "$sets/STAND-IN"
	fi
	if [ -n "$packages" ]; then
		echo "packages: given as a repository, not built by poudriere bulk; linkladder is packed from this tree"
		[ ! -s "$packages/STAND-IN" ] || sed 's/^/packages: /' "$packages/STAND-IN"
	fi
	case $builder in
	'') ;;
	"$offline/builder.qcow2") [ ! -s "$offline/STAND-IN" ] || sed 's/^/builder: /' "$offline/STAND-IN" ;;
	*) echo "builder: ${builder##*/} was given, it is not the pinned official image" ;;
	esac
}
