#!/bin/sh
# lab-vm.sh IMAGE | --down - two copies of a built image under QEMU, joined by a private network, consoles in tmux.
# The test adapters hang on tap devices with offloads, as large sends are lost between machines joined by sockets.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
work=$top/.work/lab-vm
# shellcheck source=image/lib.sh
. "$here/lib.sh"
space=linkladder-vm
session=linkladder-vm
: "${LL_VM_MEMORY:=1024}" "${LL_VM_CPUS:=2}" "${LL_VM_FIRMWARE:=efi}"

die() {
	printf 'build.sh lab --vm: %s\n' "$*" >&2
	exit 3
}

usage() {
	cat <<-'TEXT'
		./build.sh lab --vm IMAGE      IMAGE: .ova, .qcow2, .img or .img.xz; without one the newest in out/
		./build.sh lab --vm --down     remove every trace of it
		  --no-tmux                    start both and print how to reach their consoles
		  LL_VM_MEMORY=1024 LL_VM_CPUS=2 LL_VM_FIRMWARE=efi|bios set each machine
	TEXT
}

# A tmux server of its own, so that it works from inside another tmux too.
terminals() {
	env -u TMUX tmux -L "$session" "$@"
}

down() {
	needs_root
	terminals kill-server 2>/dev/null || true
	for name in alpha beta; do
		file=$work/$name.pid
		if [ -s "$file" ] && grep -q qemu "/proc/$(cat "$file")/comm" 2>/dev/null; then
			kill "$(cat "$file")" 2>/dev/null || true
		fi
		rm -f "$file"
	done
	ip netns delete "$space" 2>/dev/null || true
	rm -rf "$work"
}

needs() {
	for program in qemu-system-x86_64 qemu-img ip tmux socat; do
		command -v "$program" >/dev/null 2>&1 || die "$program is not installed; ./build.sh lab --vm installs what it needs"
	done
}

needs_root() {
	[ "$(id -u)" -eq 0 ] || die "this needs root for the network between the machines; ./build.sh lab --vm asks sudo"
}

# The one that was built last: by its name 0.9 would come after 0.10.
newest() {
	find "$top/out" -name '*.qcow2' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-
}

# A disk that qemu can read, whatever form the image came in.
base_disk() {
	case $1 in
	*.ova)
		tar -xf "$1" -C "$work"
		ls "$work"/*.vmdk
		;;
	*.img.xz)
		xz -dc "$1" >"$work/base.img"
		truncate -s 8G "$work/base.img"
		echo "$work/base.img"
		;;
	*) printf '%s\n' "$1" ;;
	esac
}

network() {
	ip netns add "$space"
	ip -n "$space" link set lo up
	for bridge in management test; do
		ip -n "$space" link add "$bridge" type bridge
		ip -n "$space" link set "$bridge" mtu 9000 up
	done
	for name in alpha beta; do
		for bridge in management test; do
			tap=$name-$(printf '%.1s' "$bridge")
			ip -n "$space" tuntap add dev "$tap" mode tap vnet_hdr
			ip -n "$space" link set "$tap" mtu 9000 master "$bridge" up
		done
	done
}

firmware() {
	[ "$LL_VM_FIRMWARE" = efi ] || return 0
	for file in /usr/share/ovmf/OVMF.fd /usr/share/OVMF/OVMF_CODE.fd; do
		if [ -f "$file" ]; then
			echo "-bios $file"
			return 0
		fi
	done
	die "there is no UEFI firmware (Debian: ovmf); LL_VM_FIRMWARE=bios does without"
}

# VMware's controller where the firmware has a driver for it: Debian's OVMF has none, SeaBIOS has.
controller() {
	if [ "$LL_VM_FIRMWARE" = efi ]; then
		echo '-device virtio-blk-pci,drive=d0,bootindex=1'
	else
		echo '-device pvscsi,id=scsi0 -device scsi-hd,drive=d0,bus=scsi0.0,bootindex=1'
	fi
}

# start NAME NUMBER
start() {
	disk=$work/$1.qcow2
	form=$(qemu-img info "$base" | sed -n 's/^file format: //p')
	qemu-img create -q -f qcow2 -F "$form" -b "$base" "$disk" 8G
	# shellcheck disable=SC2046  # several words each
	ip netns exec "$space" qemu-system-x86_64 -name "$1" -accel $(accelerator $((2 * LL_VM_CPUS))) $(firmware) -machine q35 \
		-smp "$LL_VM_CPUS" -m "$LL_VM_MEMORY" -display none -vga std \
		-drive "file=$disk,if=none,id=d0,format=qcow2" $(controller) \
		-netdev "tap,id=m,ifname=$1-m,script=no,downscript=no" -device "vmxnet3,netdev=m,mac=52:54:00:1a:0$2:00" \
		-netdev "tap,id=t,ifname=$1-t,script=no,downscript=no" -device "vmxnet3,netdev=t,mac=52:54:00:1a:0$2:01" \
		-chardev "socket,id=c,path=$work/$1.console,server=on,wait=off,logfile=$work/$1.log" -serial chardev:c \
		-pidfile "$work/$1.pid" -daemonize
}

console() {
	echo "exec socat -,raw,echo=0,escape=0x1d unix-connect:$work/$1.console"
}

image='' tmux=yes
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage && exit 0 ;;
	--down) down && exit 0 ;;
	--no-tmux) tmux=no ;;
	-*) die "there is no option $1; --help lists them" ;;
	*) image=$1 ;;
	esac
	shift
done

needs_root
needs
image=${image:-$(newest)}
[ -s "$image" ] || die "there is no image${image:+ at $image}; ./build.sh image makes one"
image=$(realpath "$image")

down
mkdir -p "$work"
base=$(base_disk "$image")
network
start alpha 1
start beta 2
if [ "$tmux" = no ]; then
	for name in alpha beta; do
		printf '%s: %s\n' "$name" "$(console "$name" | sed 's/^exec //')"
	done
	exit 0
fi
terminals new-session -d -s lab -x 161 -y 26 "$(console alpha)"
terminals set-option -g status-left-length 160 \; set-option -g status-right '' \; set-option -g window-status-current-format ''
terminals set-option -g status-left \
	'Ctrl-B arrow: other console   Ctrl-B d: leave   No DHCP here: System, Addresses: vmx1 static 10.77.0.1/24 and .2'
terminals split-window -h -t lab "$(console beta)"
echo "./build.sh lab --vm --down ends the machines"
terminals attach -t lab
