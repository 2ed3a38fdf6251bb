# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh
# On Linux: the same build inside a FreeBSD virtual machine.  The tree goes in and the artifacts come out by ssh.

builder_port=${LL_BUILDER_PORT:-8722}

builder_image() {
	if [ -z "$builder" ]; then
		mkdir -p "$work/builder"
		builder=$work/builder/official.qcow2
		if [ ! -s "$builder" ]; then
			say "getting the FreeBSD builder image"
			download "$LL_BUILDER_URL" "$builder.xz"
			check_builder "$builder.xz"
			xz -dk "$builder.xz"
		fi
	fi
	[ -s "$builder" ] || die "there is no builder image at $builder"
}

# A throw-away layer over the image, so that it can be used again as it came.
builder_disk() {
	mkdir -p "$work/builder"
	if [ ! -s "$work/builder/disk.qcow2" ]; then
		form=$(qemu-img info "$builder" | sed -n 's/^file format: //p')
		qemu-img create -q -f qcow2 -F "$form" -b "$builder" "$work/builder/disk.qcow2" 60G
	fi
}

# What the machine's first boot does (nuageinit reads it from a disk labelled cidata): let this build in by key.
builder_seed() {
	seed=$work/builder/seed
	mkdir -p "$seed"
	[ -s "$work/builder/key" ] || ssh-keygen -q -t ed25519 -N '' -C linkladder-build -f "$work/builder/key"
	printf 'instance-id: linkladder-build\nlocal-hostname: builder\n' >"$seed/meta-data"
	cat >"$seed/user-data" <<-SEED
		#!/bin/sh
		mkdir -p -m 700 /root/.ssh
		echo '$(cat "$work/builder/key.pub")' >/root/.ssh/authorized_keys
		sysrc sshd_enable=YES
		sed -i '' -e '/^PermitRootLogin/d' /etc/ssh/sshd_config
		echo 'PermitRootLogin prohibit-password' >>/etc/ssh/sshd_config
		service sshd restart
	SEED
}

# KVM only if a machine really starts with it: a container may show a device that does not work.
accelerator() {
	if [ -w /dev/kvm ] && printf 'quit\n' | timeout 10 qemu-system-x86_64 -accel kvm -cpu host -display none -nodefaults \
		-monitor stdio >/dev/null 2>&1; then
		echo 'kvm -cpu host'
	else
		echo 'tcg,thread=multi -cpu max'
	fi
}

builder_start() {
	firmware=''
	for file in /usr/share/ovmf/OVMF.fd /usr/share/OVMF/OVMF_CODE.fd; do
		[ -n "$firmware" ] || [ ! -f "$file" ] || firmware="-bios $file"
	done
	net="user,id=n0,hostfwd=tcp:127.0.0.1:$builder_port-:22"
	# The network is cut for an offline build: nothing but the forwarded port.
	[ -z "$offline" ] || net="$net,restrict=on"
	# shellcheck disable=SC2046,SC2086  # several words each
	qemu-system-x86_64 -accel $(accelerator) $firmware -machine q35 -smp "$(nproc)" -m "${LL_BUILDER_MEMORY:-4096}" \
		-display none -serial "file:$work/builder/console.log" \
		-drive "file=$work/builder/disk.qcow2,if=virtio,cache=unsafe" \
		-blockdev "driver=vvfat,node-name=seed,dir=$work/builder/seed,label=cidata,read-only=on" \
		-device virtio-blk-pci,drive=seed -netdev "$net" -device virtio-net-pci,netdev=n0 &
	builder_pid=$!
	trap 'kill "$builder_pid" 2>/dev/null || true' EXIT
	trap 'exit 130' INT TERM
	waited=0
	until builder_run true 2>/dev/null; do
		kill -0 "$builder_pid" 2>/dev/null || die "the builder ended; its console is $work/builder/console.log"
		[ "$waited" -lt 900 ] || {
			tail -n 15 "$work/builder/console.log" >&2
			die "the builder did not answer within 15 minutes; its console is $work/builder/console.log"
		}
		sleep 5
		waited=$((waited + 5))
		[ $((waited % 60)) -ne 0 ] || say "  the builder starts, $(duration "$waited")"
	done
}

builder_run() {
	ssh -q -i "$work/builder/key" -p "$builder_port" -o BatchMode=yes -o ConnectTimeout=5 -o StrictHostKeyChecking=no \
		-o "UserKnownHostsFile=$work/builder/known" root@127.0.0.1 "$@"
}

# carry_in FOLDER PLACE - a folder's content into the builder.
carry_in() {
	tar -C "$1" -cf - . | builder_run "mkdir -p '$2' && tar -xf - -C '$2'"
}

builder_tree() {
	(cd "$top" && tar -cf - --exclude=__pycache__ LICENSE build.sh poudriere.conf image overlay ports tui) |
		builder_run 'mkdir -p /build/tree && tar -xf - -C /build/tree'
}

builder_stop() {
	builder_run 'shutdown -p now' 2>/dev/null || true
	wait "$builder_pid" 2>/dev/null || true
	trap - EXIT INT TERM
}

build_in_vm() {
	builder_image
	builder_disk
	builder_seed
	say "builder: starting"
	builder_start
	say "builder: carrying the tree in"
	builder_tree
	options='' distfiles=''
	if [ -n "$sets" ]; then
		carry_in "$sets" /build/sets
		options="$options --sets /build/sets"
	fi
	if [ -n "$packages" ]; then
		carry_in "$packages" /build/packages
		options="$options --packages /build/packages"
	fi
	if [ -n "$ports" ]; then
		builder_run 'cat >/build/ports.tar.gz' <"$ports"
		options="$options --ports /build/ports.tar.gz"
	fi
	if [ -n "${LL_DISTFILES-}" ] && [ -d "$LL_DISTFILES" ]; then
		carry_in "$LL_DISTFILES" /build/distfiles
		distfiles='LL_DISTFILES=/build/distfiles'
	fi
	stages=$only
	[ -n "$stages" ] || stages='jail kernel ports bulk image'
	for name in $stages; do
		[ "$name" = pack ] || options="$options --stage $name"
	done
	# What the builder itself lacks; an image made for offline builds has them already.
	builder_run 'command -v poudriere >/dev/null || pkg install -y poudriere' >&2
	builder_run "cd /build/tree && env $distfiles LL_RELEASE=$LL_RELEASE LL_ARCH=$LL_ARCH LL_PORTS_BRANCH=$LL_PORTS_BRANCH \
		sh image/build-image.sh image --work /build/work $options" >&2
	say "builder: carrying the artifacts out"
	mkdir -p "$work/images"
	for file in images/linkladder.img images/linkladder.iso packages.tsv stages; do
		builder_run "[ ! -f /build/work/$file ] || xz -T0 -1 -c /build/work/$file" | xz -dc >"$work/$file" || true
		[ -s "$work/$file" ] || rm -f "$work/$file"
	done
	builder_stop
	[ -n "$only" ] || {
		only=pack
		kept=$work/stages.builder
		cp "$work/stages" "$kept"
		stage_pack_with "$kept"
	}
}

# pack is run here, with the builder's record of its stages.
stage_pack_with() {
	run_stage_record=$1
	cp "$run_stage_record" "$work/stages"
	run_stage pack stage_pack
	say "the artifacts are in $out"
}

fetch_in_vm() {
	builder_image
	builder_disk
	builder_seed
	# The network is needed here.
	kept=$offline offline=''
	builder_start
	builder_tree
	builder_run 'mkdir -p /build/fetch/distfiles && cat >/build/fetch/ports.tar.gz' <"$1/ports.tar.gz"
	# shellcheck disable=SC2016  # the builder expands it
	builder_run 'cd /build/tree && top=$PWD here=$PWD/image work=/build/work && . image/lib.sh && . image/stages.sh &&
		fetch_distfiles /build/fetch && pkg install -y poudriere' >&2
	builder_run 'tar -C /build/fetch/distfiles -cf - .' | tar -C "$1/distfiles" -xf -
	builder_stop
	# The builder with poudriere installed is what an offline build starts from.
	qemu-img convert -O qcow2 "$work/builder/disk.qcow2" "$1/builder.qcow2.new"
	mv "$1/builder.qcow2.new" "$1/builder.qcow2"
	rm -f "$work/builder/disk.qcow2" "$1/builder.qcow2.xz"
	offline=$kept
}
