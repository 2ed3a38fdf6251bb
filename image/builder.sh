# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh
# On Linux: the same build inside a FreeBSD virtual machine.  The tree goes in and the artifacts come out by ssh.

builder_port=${LL_BUILDER_PORT:-8722}
room=$work/builder

# The image to start from: the one given, or the official one, whose digest is checked before it is unpacked.
builder_image() {
	mkdir -p "$room"
	[ -z "$builder" ] || return 0
	base=$room/${LL_BUILDER_NAME%.xz}
	if [ ! -s "$base" ]; then
		say "builder: getting $LL_BUILDER_NAME"
		download "$LL_BUILDER_URL" "$base.xz"
		check_builder "$base.xz"
		xz -dkc "$base.xz" >"$base.new"
		mv "$base.new" "$base"
	fi
}

# A layer over the image, so that it stays as it came; what is built in the layer is there for the next run.
builder_disk() {
	below=${builder:-$base}
	if [ ! -s "$room/disk.qcow2" ] || [ "$(cat "$room/disk.of" 2>/dev/null)" != "$below $(date -r "$below" +%s)" ]; then
		form=$(qemu-img info "$below" | sed -n 's/^file format: //p')
		rm -f "$room/disk.qcow2" "$room/known"
		qemu-img create -q -f qcow2 -F "$form" -b "$below" "$room/disk.qcow2" 60G
		printf '%s %s\n' "$below" "$(date -r "$below" +%s)" >"$room/disk.of"
	fi
}

# What the machine's first boot does (nuageinit reads it from a disk labelled cidata): let this build in by key.
builder_seed() {
	seed=$room/seed
	mkdir -p "$seed"
	[ -s "$room/key" ] || ssh-keygen -q -t ed25519 -N '' -C linkladder-build -f "$room/key"
	printf 'instance-id: linkladder-build\nlocal-hostname: builder\n' >"$seed/meta-data"
	cat >"$seed/user-data" <<-SEED
		#!/bin/sh
		mkdir -p -m 700 /root/.ssh
		echo '$(cat "$room/key.pub")' >/root/.ssh/authorized_keys
		# The official image updates itself at its first boot and starts anew then, under the build.
		mkdir -p /etc/rc.conf.d
		echo 'firstboot_pkg_upgrade_enable="NO"' >/etc/rc.conf.d/firstboot_pkg_upgrade
		rm -f /firstboot-reboot
		sysrc sshd_enable=YES
		sed -i '' -e '/^PermitRootLogin/d' /etc/ssh/sshd_config
		echo 'PermitRootLogin prohibit-password' >>/etc/ssh/sshd_config
		service sshd restart
	SEED
	# nuageinit mounts it for writing, so that the folder itself cannot be handed over.
	qemu-img convert -O qcow2 "json:{\"driver\":\"vvfat\",\"dir\":\"$seed\",\"label\":\"cidata\"}" "$room/seed.qcow2"
}

# In MB: a compiler's job wants one GB of it, and there are as many jobs as cores.
builder_memory() {
	cores=$(nproc)
	echo $((cores > 4 ? cores * 1024 : 4096))
}

builder_start() {
	firmware=''
	for file in /usr/share/ovmf/OVMF.fd /usr/share/OVMF/OVMF_CODE.fd; do
		[ -n "$firmware" ] || [ ! -f "$file" ] || firmware="-bios $file"
	done
	net="user,id=n0,hostfwd=tcp:127.0.0.1:$builder_port-:22"
	# The network is cut for an offline build: nothing but the forwarded port.
	[ -z "$offline" ] || net="$net,restrict=on"
	how=$(accelerator)
	case $how in
	tcg*) say "builder: there is no KVM here; emulation takes many times as long" ;;
	esac
	# Its own session: an interrupt of the build must not end the machine before what was built is on its disk.
	# shellcheck disable=SC2086  # several words each
	setsid qemu-system-x86_64 -accel $how $firmware -machine q35 -smp "$(nproc)" -m "${LL_BUILDER_MEMORY:-$(builder_memory)}" \
		-display none -serial "file:$room/console.log" -monitor none -pidfile "$room/pid" \
		-drive "file=$room/disk.qcow2,if=virtio,cache=unsafe" \
		-drive "file=$room/seed.qcow2,if=virtio" -netdev "$net" -device virtio-net-pci,netdev=n0 </dev/null &
	builder_pid=$!
	trap builder_drop EXIT
	trap 'exit 130' INT TERM HUP
	started=$(date +%s)
	told=0
	# The first boot is over when rc has taken its mark away.
	until builder_run 'test ! -e /firstboot' 2>/dev/null; do
		kill -0 "$builder_pid" 2>/dev/null || die "the builder ended; its console is $room/console.log"
		waited=$(($(date +%s) - started))
		[ "$waited" -lt "${LL_BUILDER_PATIENCE:-900}" ] || {
			tail -n 15 "$room/console.log" >&2
			die "the builder did not answer within $(duration "$waited"); its console is $room/console.log"
		}
		# sshd shuts out for a while whom it refuses too often, and until the key is in place it refuses.
		sleep 10
		[ $((waited / 60)) -le "$told" ] || {
			told=$((waited / 60))
			say "  $(duration "$waited")  $(tail -n 1 "$room/console.log" | tr -cd '[:print:]' | cut -c 1-80)"
		}
	done
	say "builder: answers after $(duration $(($(date +%s) - started)))"
}

builder_run() {
	ssh -q -i "$room/key" -p "$builder_port" -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=60 \
		-o ServerAliveCountMax=10 -o StrictHostKeyChecking=no -o "UserKnownHostsFile=$room/known" root@127.0.0.1 "$@"
}

whole_folder='find . -type f -exec cksum {} + | LC_ALL=C sort | cksum' # of the folder in which it runs

# carry_in FOLDER PLACE - a folder's content into the builder, in place of what was there; not again what is there already.
# The builder looks at what came: to it a connection that was cut is an end like any other.
carry_in() {
	mark=$(cd "$1" && sh -c "$whole_folder")
	[ "$(builder_run "cat '$2.mark' 2>/dev/null" || true)" != "$mark" ] || return 0
	tar -C "$1" -cf - . |
		builder_run "rm -rf '$2' '$2.mark' && mkdir -p '$2' && tar -xf - -C '$2' &&
			[ \"\$(cd '$2' && $whole_folder)\" = '$mark' ] && echo '$mark' >'$2.mark'" ||
		die "$1 did not come whole into the builder; build again"
}

# carry_file FILE - a packed tree into the builder's /build; the same of one file.
carry_file() {
	mark=$(cksum <"$1")
	there=/build/${1##*/}
	[ "$(builder_run "cat '$there.mark' 2>/dev/null" || true)" != "$mark" ] || return 0
	builder_run "rm -f '$there.mark' && cat >'$there.new' && [ \"\$(cksum <'$there.new')\" = '$mark' ] &&
		mv '$there.new' '$there' && echo '$mark' >'$there.mark'" <"$1" ||
		die "$1 did not come whole into the builder; build again"
}

builder_tree() {
	(cd "$top" && tar -cf - --exclude=__pycache__ LICENSE build.sh poudriere.conf image overlay ports tui/pyproject.toml tui/src) |
		builder_run 'rm -rf /build/tree && mkdir -p /build/tree && tar -xf - -C /build/tree'
}

# What was built so far is worth keeping when the build fails or is interrupted.
builder_drop() {
	timeout 30 ssh -q -i "$room/key" -p "$builder_port" -o BatchMode=yes -o StrictHostKeyChecking=no \
		-o "UserKnownHostsFile=$room/known" root@127.0.0.1 sync 2>/dev/null || true
	kill "$builder_pid" 2>/dev/null || true
	wait "$builder_pid" 2>/dev/null || true # it has the disk open until then
}

# builder_stop [COMMANDS] - with something to be done last.
builder_stop() {
	builder_run "${1:+$1;} sync; shutdown -p now" 2>/dev/null || true
	# An emulated machine may not be able to switch itself off.
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		kill -0 "$builder_pid" 2>/dev/null || break
		sleep 5
	done
	kill "$builder_pid" 2>/dev/null || true
	wait "$builder_pid" 2>/dev/null || true
	trap - EXIT INT TERM HUP
}

# The inputs that were given, in the builder; prints the options that name them there.
builder_inputs() {
	if [ -n "$sets" ]; then
		carry_in "$sets" /build/sets
		printf ' --sets /build/sets'
	fi
	if [ -z "$sets" ] && [ -n "$source" ]; then
		carry_file "$source"
		printf ' --source /build/%s' "${source##*/}"
	fi
	if [ -n "$packages" ]; then
		carry_in "$packages" /build/packages
		printf ' --packages /build/packages'
	fi
	if [ -d "$ports" ]; then
		carry_in "$ports" /build/ports
		printf ' --ports /build/ports'
	elif [ -n "$ports" ]; then
		carry_file "$ports"
		printf ' --ports /build/%s' "${ports##*/}"
	fi
	if [ -n "${LL_DISTFILES-}" ] && [ -d "$LL_DISTFILES" ]; then
		carry_in "$LL_DISTFILES" /build/distfiles
	fi
}

# Logs, marks and the record of what ran; then the disks, whose holes are not carried.
builder_results() {
	cp "$work/ran/image" "$room/image.before" 2>/dev/null || : >"$room/image.before"
	rm -rf "$work/log/ports"
	builder_run "cd /build/work && tar -cf - log ran done \$(ls packages.tsv packages.tsv.stand-ins packagesite tools 2>/dev/null)" |
		tar -C "$work" -xf - || say "builder: not all of its logs could be carried out"
	[ "$1" -eq 0 ] && [ -s "$work/ran/image" ] || return 0
	! cmp -s "$work/ran/image" "$room/image.before" || [ ! -s "$work/images/linkladder.img" ] || return 0
	rm -rf "$work/images" "$work/images.new"
	mkdir -p "$work/images.new"
	builder_run 'tar --format pax -C /build/work/images -cf - .' | tar -C "$work/images.new" -xf - 2>"$room/tar.log" || {
		cat "$room/tar.log" >&2
		die "the disks could not be carried out of the builder"
	}
	mv "$work/images.new" "$work/images"
}

# Whether every stage that the builder would run is done, and its disks are here.
builder_done() {
	for name in ${only:-jail kernel ports bulk image}; do
		[ "$name" != pack ] || continue
		[ -e "$work/done/$name" ] && [ "$(cat "$work/done/$name")" = "$(fingerprint "$name")" ] || return 1
	done
	[ -s "$work/images/linkladder.img" ]
}

build_in_vm() {
	if builder_done; then
		say "builder: not needed, its stages were done before"
	else
		build_there
	fi
	! wants pack || {
		run_stage pack stage_pack
		say "the artifacts are in $out"
	}
}

# What the builder itself lacks; an image made for offline builds has it already.
builder_poudriere() {
	! builder_run 'command -v poudriere >/dev/null' || return 0
	[ -z "$offline" ] || die "the builder image has no poudriere, and offline it cannot be installed"
	say "builder: installing poudriere"
	builder_run 'env ASSUME_ALWAYS_YES=yes pkg install -y poudriere' >&2
}

build_there() {
	builder_image
	builder_disk
	builder_seed
	say "builder: starting"
	builder_start
	builder_poudriere
	say "builder: carrying the tree and the inputs in"
	builder_tree
	builder_run 'mkdir -p /build/work && cat >/build/work/upgrade_signers' <"$work/upgrade_signers"
	builder_run 'cat >/build/work/origins' <"$work/origins"
	options=$(builder_inputs)
	for name in ${only:-jail kernel ports bulk image}; do
		[ "$name" = pack ] || options="$options --stage $name"
	done
	for name in $again; do
		options="$options --again $name"
	done
	# In the background, as only a wait is interrupted at once.
	builder_run "cd /build/tree && env LL_DISTFILES=/build/distfiles LL_RELEASE=$LL_RELEASE LL_ARCH=$LL_ARCH \
		LL_PORTS_BRANCH=$LL_PORTS_BRANCH LL_PORTS_COMMIT=$LL_PORTS_COMMIT LL_PORTS_SHA256=$LL_PORTS_SHA256 \
		LL_SOURCE_BRANCH=$LL_SOURCE_BRANCH LL_SOURCE_COMMIT=$LL_SOURCE_COMMIT LL_SOURCE_SHA256=$LL_SOURCE_SHA256 \
		sh image/build-image.sh image --inside --work /build/work $options" >&2 &
	status=0
	wait $! || status=$?
	say "builder: carrying the results out"
	builder_results "$status"
	[ "$status" -eq 0 ] || die "the build in the builder ended with $status; its logs are in $work/log"
	builder_stop
}

# fetch_in_vm DIR - ports fetch their distfiles themselves, and only on FreeBSD.
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
	builder_run 'set -eu; cd /build/tree; top=$PWD here=$PWD/image work=/build/work; . image/lib.sh; . image/stages.sh
		. image/fetch.sh; fetch_distfiles /build/fetch' >&2
	builder_poudriere
	builder_run 'tar -C /build/fetch/distfiles -cf - .' | tar -C "$1/distfiles" -xf -
	# Its next boot is a first one again, wherever that is: it takes the key of whoever builds there, and has none now.
	builder_stop 'rm -rf /build /root/.ssh /var/cache/nuageinit; touch /firstboot'
	# The builder with poudriere installed is what an offline build starts from.
	qemu-img convert -O qcow2 "$room/disk.qcow2" "$1/builder.qcow2.new"
	mv "$1/builder.qcow2.new" "$1/builder.qcow2"
	rm -f "$room/disk.qcow2"
	offline=$kept
}
