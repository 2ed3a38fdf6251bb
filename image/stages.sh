# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh and poudriere.conf
# The stages of the build, each runnable alone, each with a fingerprint of what it depends on.

STAGES='jail kernel ports bulk image pack'
jail=linkladder tree=linkladder

poudriere_here() {
	poudriere -e "$work/etc" "$@"
}

# fingerprint STAGE - changes when the stage must be run again: by what its inputs hold, not by where they lie, so that it
# is the same in the builder as outside.
fingerprint() {
	(
		echo "$LL_RELEASE $LL_ARCH"
		[ -z "$sets" ] || cat "$sets/MANIFEST"
		case $1 in
		kernel) cat "$here/LINKLADDER" ;;
		ports)
			echo "$LL_PORTS_BRANCH ${ports##*/}"
			[ ! -f "$ports" ] || cksum <"$ports"
			;;
		bulk) packages_sum && tree_sum ports tui/src ;;
		image) packages_sum && tree_sum overlay ports tui/src image/LINKLADDER image/exclude image/post-build.sh ;;
		pack) date ;; # cheap, and its inputs are large: always run
		esac
	) | cksum
}

tree_sum() {
	(cd "$top" && find "$@" -type f ! -name '*.pyc' -exec cksum {} + | LC_ALL=C sort)
}

packages_sum() {
	[ -z "$packages" ] || cksum <"$(packages_list)"
}

# The list that `pkg repo` writes, in whichever form.
packages_list() {
	for list in "$packages"/packagesite.pkg "$packages"/packagesite.tzst "$packages"/packagesite.txz; do
		[ ! -s "$list" ] || {
			echo "$list"
			return 0
		}
	done
}

check_stage_names() {
	for name in $only $again; do
		case " $STAGES " in
		*" $name "*) ;;
		*) die "there is no stage $name; they are: $STAGES" ;;
		esac
	done
	# What a stage made is input to those behind it.
	for name in $again; do
		behind=no
		for stage in $STAGES; do
			[ "$stage" != "$name" ] || behind=yes
			[ "$behind" = no ] || rm -f "$work/done/$stage"
		done
	done
}

run_stages() {
	mkdir -p "$work"
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
	mkdir -p "${LL_DISTFILES:-$work/poudriere/distfiles}"
	if poudriere_here jail -i -j "$jail" >/dev/null 2>&1; then
		poudriere_here jail -d -y -j "$jail"
	fi
	sweep "$work/poudriere/jails/$jail"
	poudriere_here jail -c -j "$jail" -v "$LL_RELEASE" -a "$LL_ARCH" -m "$method"
}

# sweep FOLDER ... - what an interrupted run left: half a system, with its mounts and its files that cannot be changed.
sweep() {
	for left in "$@"; do
		[ -d "$left" ] || continue
		mount -p | awk -v d="$left/" 'index($2, d) == 1 { print $2 }' | sort -r | xargs -r -n 1 umount -f
		chflags -R noschg "$left"
		rm -rf "$left"
	done
}

jail_root() {
	poudriere_here jail -i -j "$jail" | sed -n 's/^Jail mount: *//p'
}

# From a set that holds it, or from the release's own source inside the jail: the same compiler as the release's.
stage_kernel() {
	rm -rf "$work/kernel"
	mkdir -p "$work/kernel"
	if [ -n "$sets" ] && [ -s "$sets/kernel-LINKLADDER.txz" ]; then
		outcome "unpacked from kernel-LINKLADDER.txz, not built from source"
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
		outcome "not needed: packages were given"
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
		outcome "packages were given; linkladder packed from this tree, no port built"
		own_package "$work/poudriere/data/packages/$jail-$tree"
		return 0
	fi
	own_source "$work/overlay-ports/net-mgmt/linkladder/source.tar"
	poudriere_here bulk -j "$jail" -p "$tree" -O linkladder-overlay -f "$top/ports/pkglist"
}

stage_image() {
	[ -f "$work/kernel/boot/kernel/kernel" ] || {
		echo "there is no kernel yet: the stage kernel comes before this one"
		return 1
	}
	sweep "$work"/poudriere/data/images/linkladder-*
	rm -rf "$work/overlay" "$work/images" "$work/linkladder.tzst" "$work/linkladder.tzst.new"
	mkdir -p "$work/images"
	cp -Rp "$top/overlay" "$work/overlay"
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
	for name in $STAGES; do
		[ "$name" = pack ] || [ ! -s "$work/ran/$name" ] || cat "$work/ran/$name"
	done >"$work/stages"
	set -- "$work/images/linkladder.img" --out "$out" --version "$version" --arch "$LL_ARCH" --stages "$work/stages"
	[ ! -s "$work/images/linkladder.iso" ] || set -- "$@" --iso "$work/images/linkladder.iso"
	[ ! -s "$work/packages.tsv" ] || set -- "$@" --packages "$work/packages.tsv"
	if [ -n "$sets" ]; then
		for file in "$sets/MANIFEST" "$sets"/*.txz; do
			set -- "$@" --input "sets/${file##*/}=$file"
		done
	fi
	if [ -n "$packages" ]; then
		for file in "$(packages_list)" "$packages"/All/*.pkg; do
			set -- "$@" --input "packages/${file##*/}=$file"
		done
	fi
	[ -z "$ports" ] || [ ! -f "$ports" ] || set -- "$@" --input "ports=$ports"
	[ -z "$builder" ] || [ ! -f "$builder" ] || set -- "$@" --input "builder=$builder"
	stand_ins >"$work/stand-ins"
	[ ! -s "$work/packages.tsv.stand-ins" ] || cat "$work/packages.tsv.stand-ins" >>"$work/stand-ins"
	while read -r text; do
		[ -z "$text" ] || set -- "$@" --stand-in "$text"
	done <"$work/stand-ins"
	epoch=$(git -C "$top" log -1 --format=%ct 2>/dev/null || echo 0)
	python3 "$here/pack.py" "$@" --epoch "$epoch"
}
