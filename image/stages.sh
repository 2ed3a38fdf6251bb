# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh and poudriere.conf
# The stages of the build, each runnable alone, each with a fingerprint of what it depends on.

STAGES='jail kernel ports bulk image pack'
jail=linkladder tree=linkladder
needed_sets='MANIFEST base.txz kernel.txz'

poudriere_here() {
	poudriere -e "$work/etc" "$@"
}

# fingerprint STAGE - changes when the stage must be run again.
fingerprint() {
	(
		echo "$LL_RELEASE $LL_ARCH $sets"
		case $1 in
		kernel) cat "$here/LINKLADDER" ;;
		ports) echo "$LL_PORTS_BRANCH $ports" ;;
		bulk) cat "$top/ports/pkglist" "$top/ports/make.conf" && echo "$packages" && tree_sum "$top/ports" "$top/tui/src" ;;
		image) tree_sum "$top/overlay" "$top/ports" "$top/tui/src" "$here" ;;
		pack) date ;; # cheap, and its inputs are large: always run
		esac
	) | cksum
}

tree_sum() {
	find "$@" -type f ! -name '*.pyc' -exec cksum {} + | sort
}

check_stage_names() {
	for name in $only $again; do
		case " $STAGES " in
		*" $name "*) ;;
		*) die "there is no stage $name; they are: $STAGES" ;;
		esac
	done
	for name in $again; do
		rm -f "$work/done/$name"
	done
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
	faults=''
	fault() {
		faults="$faults  $*
"
	}
	if [ -n "$sets" ]; then
		check_sets
	elif [ -n "$offline" ]; then
		fault "$offline/sets is not there"
	fi
	if [ -n "$packages" ]; then
		[ -s "$packages/packagesite.pkg" ] || [ -s "$packages/packagesite.txz" ] || [ -s "$packages/packagesite.tzst" ] ||
			fault "$packages is no package repository: it has no packagesite (pkg repo makes it)"
		[ -s "$packages/Latest/pkg.pkg" ] || fault "$packages/Latest/pkg.pkg is missing: pkg itself is installed from it"
		check_package_list
	fi
	[ -z "$ports" ] || [ -e "$ports" ] || fault "the ports tree $ports is not there"
	[ -z "$builder" ] || [ -s "$builder" ] || fault "the builder image $builder is not there"
	[ -z "$offline" ] || check_sums
	[ -z "$faults" ] || {
		printf '%s' "$faults" >&2
		die "these inputs are missing or damaged; nothing was started"
	}
	say "inputs: good"
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
}

run_stages() {
	mkdir -p "$work"
	: >"$work/stages"
	write_configuration
	for name in ${only:-$STAGES}; do
		if [ "$(uname -s)" != FreeBSD ] && [ "$name" != pack ]; then
			die "the stage $name runs on FreeBSD"
		fi
		run_stage "$name" "stage_$name"
	done
	[ -n "$only" ] || say "the artifacts are in $out"
}

# poudriere starts with an environment of its own, so the pinned values are written out.
write_configuration() {
	mkdir -p "$work/etc/poudriere.d"
	{
		printf "LL_WORK='%s'\nLL_RELEASE='%s'\nLL_ARCH='%s'\nLL_PORTS_BRANCH='%s'\n" "$work" "$LL_RELEASE" "$LL_ARCH" "$LL_PORTS_BRANCH"
		[ -z "${LL_DISTFILES-}" ] || printf "LL_DISTFILES='%s'\n" "$LL_DISTFILES"
		cat "$top/poudriere.conf"
	} >"$work/etc/poudriere.conf"
	cp "$top/ports/make.conf" "$work/etc/poudriere.d/make.conf"
}

stage_jail() {
	method=http
	[ -z "$sets" ] || method=url=file://$sets
	mkdir -p "$work/poudriere/distfiles"
	if poudriere_here jail -i -j "$jail" >/dev/null 2>&1; then
		poudriere_here jail -d -y -j "$jail"
	fi
	poudriere_here jail -c -j "$jail" -v "$LL_RELEASE" -a "$LL_ARCH" -K GENERIC -m "$method"
}

jail_root() {
	poudriere_here jail -i -j "$jail" | sed -n 's/^Jail mount: *//p'
}

# From a set that holds it, or from the release's own source inside the jail: the same compiler as the release's.
stage_kernel() {
	rm -rf "$work/kernel"
	mkdir -p "$work/kernel"
	if [ -n "$sets" ] && [ -s "$sets/kernel-LINKLADDER.txz" ]; then
		tar -xpf "$sets/kernel-LINKLADDER.txz" -C "$work/kernel"
	else
		root=$(jail_root)
		cp "$here/LINKLADDER" "$root/usr/src/sys/$LL_ARCH/conf/LINKLADDER"
		mount -t devfs devfs "$root/dev"
		status=0
		chroot "$root" make -C /usr/src -s -j "$(sysctl -n hw.ncpu)" KERNCONF=LINKLADDER WITHOUT_KERNEL_SYMBOLS=yes \
			kernel-toolchain buildkernel || status=$?
		[ "$status" -ne 0 ] || chroot "$root" make -C /usr/src -s KERNCONF=LINKLADDER WITHOUT_KERNEL_SYMBOLS=yes \
			DESTDIR=/tmp/linkladder-kernel installkernel || status=$?
		umount "$root/dev"
		[ "$status" -eq 0 ] || return "$status"
		mv "$root/tmp/linkladder-kernel/boot" "$work/kernel/"
	fi
	[ -f "$work/kernel/boot/kernel/kernel" ]
}

stage_ports() {
	[ -z "$packages" ] || {
		echo "packages were given: no ports tree is needed"
		return 0
	}
	for name in "$tree" linkladder-overlay; do
		if poudriere_here ports -l -q -n | grep -qx "$name"; then
			poudriere_here ports -d -y -p "$name"
		fi
	done
	case $ports in
	'') poudriere_here ports -c -p "$tree" -m git+https -B "$LL_PORTS_BRANCH" ;;
	*.tar.*)
		rm -rf "$work/ports"
		mkdir -p "$work/ports"
		tar -xf "$ports" --strip-components 1 -C "$work/ports"
		poudriere_here ports -c -p "$tree" -m null -M "$work/ports"
		;;
	*) poudriere_here ports -c -p "$tree" -m null -M "$ports" ;;
	esac
	rm -rf "$work/overlay-ports"
	cp -Rp "$top/ports" "$work/overlay-ports"
	poudriere_here ports -c -p linkladder-overlay -m null -M "$work/overlay-ports"
}

# linkladder's own source lies beside its port as a tar without dates and owners of this machine.
own_source() {
	mkdir -p "$work/source"
	rm -rf "$work/source/tree"
	mkdir -p "$work/source/tree"
	cp -Rp "$top/tui/pyproject.toml" "$top/tui/src" "$top/LICENSE" "$work/source/tree/"
	find "$work/source/tree" -name __pycache__ -prune -exec rm -rf {} +
	tar -C "$work/source/tree" -cf "$1" .
}

stage_bulk() {
	if [ -n "$packages" ]; then
		mkdir -p "$work/poudriere/data/packages"
		rm -rf "$work/poudriere/data/packages/$jail-$tree"
		cp -Rp "$packages" "$work/poudriere/data/packages/$jail-$tree"
		return 0
	fi
	own_source "$work/overlay-ports/net-mgmt/linkladder/source.tar"
	poudriere_here bulk -j "$jail" -p "$tree" -O linkladder-overlay -f "$top/ports/pkglist"
}

stage_image() {
	rm -rf "$work/overlay" "$work/images"
	mkdir -p "$work/images"
	cp -Rp "$top/overlay" "$work/overlay"
	LL_KERNEL_DIR=$work/kernel/boot/kernel LL_PACKAGE_MANIFEST=$work/packages.tsv
	export LL_KERNEL_DIR LL_PACKAGE_MANIFEST
	for kind in usb iso; do
		# The sizes are decimal; the rest of the disk becomes the state partition on the first boot.
		size=''
		[ "$kind" != usb ] || size='-s 3g'
		# shellcheck disable=SC2086  # the size is an option and its value
		poudriere_here image -t "$kind" -j "$jail" -p "$tree" -n linkladder -h linkladder $size \
			-c "$work/overlay" -f "$top/ports/pkglist" -X "$here/exclude" -A "$here/post-build.sh" -o "$work/images"
	done
}

stage_pack() {
	set -- "$work/images/linkladder.img" --out "$out" --version "$version" --arch "$LL_ARCH" --stages "$work/stages"
	[ ! -s "$work/images/linkladder.iso" ] || set -- "$@" --iso "$work/images/linkladder.iso"
	[ ! -s "$work/packages.tsv" ] || set -- "$@" --packages "$work/packages.tsv"
	if [ -n "$sets" ]; then
		for file in "$sets"/*; do
			[ ! -f "$file" ] || set -- "$@" --input "sets/${file##*/}=$file"
		done
	fi
	if [ -n "$packages" ]; then
		for file in "$packages"/packagesite.*; do
			set -- "$@" --input "packages/${file##*/}=$file"
		done
	fi
	[ -z "$builder" ] || [ ! -f "$builder" ] || set -- "$@" --input "builder=$builder"
	while read -r text; do
		[ -z "$text" ] || set -- "$@" --stand-in "$text"
	done <<-TEXT
		$standins
	TEXT
	epoch=$(git -C "$top" log -1 --format=%ct 2>/dev/null || echo 0)
	python3 "$here/pack.py" "$@" --epoch "$epoch"
}

# fetch_all DIR - what an offline build needs.
fetch_all() {
	folder=$1
	mkdir -p "$folder/sets" "$folder/distfiles"
	say "filling $folder"
	for file in MANIFEST base.txz kernel.txz src.txz; do
		download "$LL_SETS_URL/$file" "$folder/sets/$file"
	done
	sets=$folder/sets faults=''
	fault() { faults="$faults  $*
"; }
	check_sets
	[ -z "$faults" ] || die "what came is damaged:
$faults"
	download "https://codeload.github.com/freebsd/freebsd-ports/tar.gz/refs/heads/$LL_PORTS_BRANCH" "$folder/ports.tar.gz"
	if [ ! -s "$folder/builder.qcow2" ]; then
		download "$LL_BUILDER_URL" "$folder/builder.qcow2.xz"
		check_builder "$folder/builder.qcow2.xz"
		xz -dk "$folder/builder.qcow2.xz"
	fi
	if [ "$(uname -s)" = FreeBSD ]; then
		fetch_distfiles "$folder"
	else
		say "  the distfiles of the packages are fetched in the builder"
		offline=$folder builder=${builder:-$folder/builder.qcow2}
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
	[ -n "${LL_BUILDER_SHA256-}" ] || {
		say "  no digest is pinned for the builder image of $LL_RELEASE (LL_BUILDER_SHA256 in poudriere.conf): it is not checked"
		return 0
	}
	[ "$(sha256_of "$1")" = "$LL_BUILDER_SHA256" ] || die "the builder image is damaged: its SHA-256 is not the pinned one"
}
