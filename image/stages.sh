# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh and poudriere.conf
# The stages of the build, each runnable alone, each with a fingerprint of what it depends on.

STAGES='jail kernel ports bulk image pack'
# No dash in the name of a tree: poudriere takes what follows one for the name of a set.
jail=linkladder tree=linkladder overlay=linkladder_overlay

poudriere_here() {
	poudriere -e "$work/etc" "$@"
}

# fingerprint STAGE - changes when the stage must be run again: by what its inputs hold, not by where they lie, so that it
# is the same in the builder as outside.  A stage depends on what those depend on whose work it takes up.
fingerprint() {
	(
		case $1 in
		jail)
			echo "$LL_RELEASE $LL_ARCH"
			if [ -n "$sets" ]; then
				[ ! -s "$sets/MANIFEST" ] || cat "$sets/MANIFEST"
			else
				source_sum && tree_sum image/src.conf
			fi
			;;
		kernel) fingerprint jail && cat "$here/LINKLADDER" ;;
		ports) if [ -n "$packages" ]; then packages_sum; else ports_sum && tree_sum ports; fi ;;
		bulk) fingerprint jail && fingerprint ports && tree_sum LICENSE ports tui/pyproject.toml tui/src ;;
		image) fingerprint kernel && fingerprint bulk && tree_sum overlay image/exclude image/post-build.sh && cat "$work/upgrade_signers" "$work/origins" ;;
		pack) date ;; # cheap, and its inputs are large: always run
		esac
	) | cksum
}

tree_sum() {
	(cd "$top" && find "$@" -type f ! -name '*.pyc' -exec cksum {} + | LC_ALL=C sort)
}

packages_sum() {
	cksum <"$(packages_list "$packages")"
}

# A ports tree has a hundred thousand files: it is looked through once a run.
ports_sum() {
	if [ -d "$ports" ]; then
		[ -s "$work/ports.sum" ] ||
			(cd "$ports" && find . -name .git -prune -o -type f -exec cksum {} + | LC_ALL=C sort | cksum) >"$work/ports.sum"
		cat "$work/ports.sum"
	else
		cksum <"$ports"
	fi
}

# Of some hundred megabytes: once a run.
source_sum() {
	[ -s "$work/source.sum" ] || cksum <"$source" >"$work/source.sum"
	cat "$work/source.sum"
}

# packages_list REPO - the list that `pkg repo` writes, in whichever form.
packages_list() {
	for list in "$1"/packagesite.pkg "$1"/packagesite.tzst "$1"/packagesite.txz; do
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
		# Downloaded anew: the pinned tree, or the branch as it is now.
		[ "$name" != ports ] || rm -f "$work"/ports-*.tar.gz
		[ "$name" != jail ] || rm -f "$work"/source-*.tar.gz
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
	mkdir -p "${LL_DISTFILES:-$work/poudriere/distfiles}"
	if poudriere_here jail -i -j "$jail" >/dev/null 2>&1; then
		poudriere_here jail -d -y -j "$jail"
	fi
	sweep "$work/poudriere/jails/$jail"
	rm -rf "$work/src" "$work/obj"
	if [ -n "$sets" ]; then
		poudriere_here jail -c -j "$jail" -v "$LL_RELEASE" -a "$LL_ARCH" -m "url=file://$sets"
	else
		build_system
	fi
}

# World and GENERIC of the pinned source; the jail keeps a copy of it, of which LINKLADDER is built.
build_system() {
	mkdir -p "$work/src" "$work/obj"
	tar -xf "$source" --strip-components 1 -C "$work/src"
	[ -s "$work/src/sys/conf/newvers.sh" ] || {
		echo "$source is no source of FreeBSD: it has no sys/conf/newvers.sh" >&2
		return 1
	}
	cp "$here/src.conf" "$work/etc/poudriere.d/$jail-src.conf"
	MAKEOBJDIRPREFIX=$work/obj
	export MAKEOBJDIRPREFIX
	poudriere_here jail -c -j "$jail" -v "$LL_RELEASE" -a "$LL_ARCH" -b -K GENERIC -m "src=$work/src"
	rm -rf "$work/src" "$work/obj"
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

# not_yet WHAT STAGE - a stage that is run alone finds what it works on, or says whose work that is.
not_yet() {
	echo "there is no $1 yet: the stage $2 comes before this one (./build.sh image --stage $2)" >&2
	return 1
}

# The jail's root, never empty: what is written below it must not land on this machine.
jail_root() {
	place=$(poudriere_here jail -i -j "$jail" | sed -n 's/^Jail mount: *//p')
	[ -n "$place" ] && [ -d "$place/usr" ] || not_yet jail jail
	printf '%s\n' "$place"
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
		build_kernel "${root:?}"
	fi
	[ -f "$work/kernel/boot/kernel/kernel" ]
}

# build_kernel ROOT - in the jail, whose devices are taken away again however this ends.
build_kernel() {
	[ -d "$1/usr/src/sys/$LL_ARCH/conf" ] || {
		echo "the jail has no source to build a kernel from: src.txz was not among its sets" >&2
		return 1
	}
	cp "$here/LINKLADDER" "$1/usr/src/sys/$LL_ARCH/conf/LINKLADDER"
	rm -rf "$1/tmp/linkladder-kernel"
	mount -t devfs devfs "$1/dev"
	trap 'umount "$root/dev"' EXIT
	trap 'exit 143' INT TERM HUP
	chroot "$1" make -C /usr/src -s -j "$(sysctl -n hw.ncpu)" KERNCONF=LINKLADDER WITHOUT_KERNEL_SYMBOLS=yes \
		kernel-toolchain buildkernel
	chroot "$1" make -C /usr/src -s KERNCONF=LINKLADDER WITHOUT_KERNEL_SYMBOLS=yes \
		DESTDIR=/tmp/linkladder-kernel installkernel
	mv "$1/tmp/linkladder-kernel/boot" "$work/kernel/"
}

stage_ports() {
	[ -z "$packages" ] || {
		outcome "not needed: packages were given"
		return 0
	}
	for name in "$tree" "$overlay"; do
		if poudriere_here ports -l -q -n | grep -qx "$name"; then
			poudriere_here ports -d -y -p "$name"
		fi
	done
	case $ports in
	*.tar.*)
		rm -rf "$work/ports"
		mkdir -p "$work/ports"
		tar -xf "$ports" --strip-components 1 -C "$work/ports"
		chmod 755 "$work/ports"
		poudriere_here ports -c -p "$tree" -m null -M "$work/ports"
		;;
	*) poudriere_here ports -c -p "$tree" -m null -M "$ports" ;;
	esac
	rm -rf "$work/overlay-ports"
	cp -Rp "$top/ports" "$work/overlay-ports"
	# poudriere builds as nobody, who reads neither what the checkout nor what this shell keeps to its owner.
	chmod -R u=rwX,go=rX "$work/overlay-ports"
	poudriere_here ports -c -p "$overlay" -m null -M "$work/overlay-ports"
}

# linkladder's own source lies beside its port as a tar without dates and owners of this machine.
own_source() {
	mkdir -p "$work/source"
	rm -rf "$work/source/tree"
	mkdir -p "$work/source/tree"
	cp -Rp "$top/tui/pyproject.toml" "$top/tui/src" "$top/LICENSE" "$work/source/tree/"
	find "$work/source/tree" -name __pycache__ -prune -exec rm -rf {} +
	chmod -R u=rwX,go=rX "$work/source/tree"
	tar -C "$work/source/tree" -cf "$1" .
	chmod 644 "$1"
}

stage_bulk() {
	if [ -n "$packages" ]; then
		mkdir -p "$work/poudriere/data/packages"
		rm -rf "$work/poudriere/data/packages/$jail-$tree"
		cp -Rp "$packages" "$work/poudriere/data/packages/$jail-$tree"
		outcome "packages were given; linkladder packed from this tree, no port built"
		own_package "$work/poudriere/data/packages/$jail-$tree"
	else
		bulk_build
	fi
	# What the packages of the image are, by their digests: for the build record.
	cp "$(packages_list "$work/poudriere/data/packages/$jail-$tree")" "$work/packagesite"
}

bulk_build() {
	jail_root >/dev/null
	[ -d "$work/overlay-ports/net-mgmt/linkladder" ] || not_yet 'ports tree' ports
	# Under the same version poudriere would keep the package of before, whatever this tree has become: linkladder's, and
	# netperf's, which is built with a patch of this tree.  What a failed run had built is in .building, where it goes on.
	for name in linkladder netperf; do
		rm -f "$work/poudriere/data/packages/$jail-$tree/All/$name"-[0-9]*.pkg \
			"$work/poudriere/data/packages/$jail-$tree/.building/All/$name"-[0-9]*.pkg
	done
	own_source "$work/overlay-ports/net-mgmt/linkladder/source.tar"
	# Under another version than its port's the framework would not find what was built.
	printf 'LINKLADDER_VERSION=\t%s\n' "$version" >"$work/overlay-ports/net-mgmt/linkladder/Makefile.local"
	chmod 644 "$work/overlay-ports/net-mgmt/linkladder/Makefile.local"
	rm -rf "$work/log/ports"
	poudriere_here bulk -j "$jail" -p "$tree" -O "$overlay" -f "$top/ports/pkglist" || {
		failed_ports
		return 1
	}
}

# Why a port failed stands in poudriere's log of it, which lies in a builder that is off when somebody reads of it.
failed_ports() {
	for told in "$work/poudriere/data/logs/bulk/$jail-$tree"/latest/logs/errors/*.log; do
		[ -e "$told" ] || continue
		mkdir -p "$work/log/ports"
		cp "$told" "$work/log/ports/"
		echo "the last lines of log/ports/${told##*/}:"
		tail -n 15 "$told"
	done
}

# poudriere gives the image's own folders, / among them, the owner and mode that they have in the overlay: those of
# whoever checked the tree out must not come along.  post-build.sh closes what is to be closed further.
overlay_copy() {
	cp -Rp "$top/overlay" "$work/overlay"
	chown -R 0:0 "$work/overlay"
	# Whose upgrades this system takes.
	mkdir -p "$work/overlay/usr/local/etc/linkladder"
	cp "$work/upgrade_signers" "$work/overlay/usr/local/etc/linkladder/upgrade_signers"
	# And what it was built of, for its doctor.
	cp "$work/origins" "$work/overlay/usr/local/share/linkladder/origins"
	chmod -R u=rwX,go=rX "$work/overlay"
}

stage_image() {
	jail_root >/dev/null
	[ -f "$work/kernel/boot/kernel/kernel" ] || not_yet kernel kernel
	[ -n "$(packages_list "$work/poudriere/data/packages/$jail-$tree")" ] || not_yet 'package repository' bulk
	sweep "$work"/poudriere/data/images/linkladder-*
	rm -rf "$work/overlay" "$work/images" "$work/linkladder.tzst" "$work/linkladder.tzst.new"
	mkdir -p "$work/images"
	overlay_copy
	printf 'system\t%s\npoudriere\t%s\n' "$(uname -sr)" "$(poudriere version)" >"$work/tools"
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
	[ -s "$work/images/linkladder.img" ] || not_yet disk image
	for name in $STAGES; do
		[ "$name" = pack ] || [ ! -s "$work/ran/$name" ] || cat "$work/ran/$name"
	done >"$work/stages"
	set -- "$work/images/linkladder.img" --out "$out" --version "$version" --arch "$LL_ARCH" --stages "$work/stages"
	[ ! -s "$work/images/linkladder.iso" ] || set -- "$@" --iso "$work/images/linkladder.iso"
	[ ! -s "$work/packages.tsv" ] || set -- "$@" --packages "$work/packages.tsv"
	if [ -n "$sets" ]; then
		for file in "$sets/MANIFEST" "$sets"/*.txz; do
			[ ! -s "$file" ] || set -- "$@" --input "sets/${file##*/}=$file"
		done
	elif [ -s "$source" ]; then
		set -- "$@" --input "source=$source"
	fi
	if [ -n "$packages" ]; then
		for file in "$(packages_list "$packages")" "$packages"/All/*.pkg; do
			set -- "$@" --input "packages/${file##*/}=$file"
		done
	elif [ -f "$ports" ]; then
		set -- "$@" --input "ports=$ports"
	elif [ -s "$work/ports.sum" ]; then
		set -- "$@" --input "ports=$work/ports.sum"
	fi
	[ ! -s "$work/packagesite" ] || set -- "$@" --input "bulk/packagesite=$work/packagesite"
	[ ! -s "$work/tools" ] || set -- "$@" --tools "$work/tools" --release "$LL_RELEASE"
	image=${builder:-$work/builder/$LL_BUILDER_NAME}
	[ ! -f "$image" ] || set -- "$@" --input "builder=$image"
	stand_ins >"$work/stand-ins"
	[ ! -s "$work/packages.tsv.stand-ins" ] || cat "$work/packages.tsv.stand-ins" >>"$work/stand-ins"
	while read -r text; do
		[ -z "$text" ] || set -- "$@" --stand-in "$text"
	done <"$work/stand-ins"
	[ ! -s "$work/origins" ] || set -- "$@" --origins "$work/origins"
	set -- "$@" --sign-key "${LINKLADDER_SIGNING_KEY:-$work/upgrade-key}"
	epoch=$(git -C "$top" log -1 --format=%ct 2>/dev/null || echo 0)
	python3 "$here/pack.py" "$@" --epoch "$epoch"
}
