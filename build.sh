#!/bin/sh
# The one entry: ./build.sh lab | test | bench | image | fetch | pin | help
set -eu

top=$(cd "$(dirname "$0")" && pwd)
venv=$top/.venv
: "${PYTHON:=python3}"

die() {
	printf 'build.sh: %s\n' "$*" >&2
	exit 3
}

say() {
	printf '%s\n' "$*" >&2
}

usage() {
	cat <<-'TEXT'
		./build.sh lab      two paired appliances on this machine, over real local links
		./build.sh test     every test that this machine can run
		./build.sh bench    what linkladder costs, against what is promised
		./build.sh image    the appliance: OVA, raw, qcow2 and installer ISO
		./build.sh fetch    all that an image needs, into one folder, for an offline build
		./build.sh pin      move the pins of FreeBSD's source and of the ports to their branches' newest commits
		./build.sh help     this text

		lab takes:  --headless [--plan P] [--rung R] [--json F] [--html F]   run a plan and exit
		            --keep                             leave the lab up afterwards
		            --down                             remove every trace of the lab
		            --single, --shell                  one console instead of two; a shell instead
		            --unpaired                         leave the pairing to you
		            --ends N [--shared R]              three to eight appliances; R: an uplink that they share
		            --dc-rate R --dc-delay MS --dc-loss PERCENT --dc-mtu N   the DC link
		            --vm [IMAGE] | --vm --down         two copies of a built image instead
		test takes:  pytest's arguments, to choose: ./build.sh test tests/unit -k pairing
		bench takes: --before REVISION, to have both side by side; --rounds N
		image takes: see ./build.sh image --help
	TEXT
}

# Run as root what needs it, saying so once.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		command -v sudo >/dev/null 2>&1 || die "this needs root; run it as root, or install sudo"
		sudo "$@"
	fi
}

have() {
	command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]
}

# install_missing command:package ... - Debian's packages for the commands that are not there.
install_missing() {
	missing=''
	for pair in "$@"; do
		have "${pair%%:*}" || missing="$missing ${pair#*:}"
	done
	[ -n "$missing" ] || return 0
	have apt-get || die "please install:$missing"
	say "installing with apt-get:$missing"
	[ "$(id -u)" -eq 0 ] || say "  (asking sudo for it)"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >"$log" 2>&1 || say "  package lists could not be refreshed; going on"
	# shellcheck disable=SC2086  # one word a package
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing >>"$log" 2>&1 || {
		tail -n 15 "$log" >&2
		die "the packages could not be installed; the log is $log"
	}
}

python_is_new() {
	"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# The virtual environment, made anew when the project's needs have changed; nothing comes into it but what is locked.
set_up_python() {
	want=$(cat "$top/tui/pyproject.toml" "$top/tui/locked.txt" | cksum)
	if [ -f "$venv/ready" ] && [ "$(cat "$venv/ready")" = "$want" ]; then
		return 0
	fi
	python_is_new || die "Python 3.11 or newer is needed; PYTHON=/path/to/python3 names one"
	"$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || install_missing no-venv-here:python3-venv
	say "making the Python environment in .venv"
	[ -x "$venv/bin/python" ] || "$PYTHON" -m venv "$venv" >"$log" 2>&1 || {
		tail -n 5 "$log" >&2
		die "the environment could not be made; install python3-venv"
	}
	{
		"$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$top/tui/locked.txt" &&
			"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --no-build-isolation \
				-e "$top/tui"
	} >>"$log" 2>&1 || {
		tail -n 15 "$log" >&2
		die "the Python packages could not be installed; the log is $log"
	}
	printf '%s' "$want" >"$venv/ready"
}

# netperf is in Debian's non-free: the one package is taken from there without touching the machine's sources.
set_up_netperf() {
	! have netperf || return 0
	[ ! -x "$work/netperf/usr/bin/netperf" ] || return 0
	have apt-get || return 0
	say "fetching netperf (Debian non-free) into .work/netperf; the machine's sources stay as they are"
	sh "$top/tests/lab/netperf.sh" "$work" >"$log" 2>&1 || {
		say "  netperf could not be had; its experiments will be reported as unavailable"
		rm -rf "$work/netperf"
	}
}

# The attacks on netserver are tried on a program that is built with the appliance's patch.
set_up_netperf_source() {
	[ ! -f "$work/netperf-source/configure.ac" ] || return 0
	have apt-get || return 0
	say "fetching the source of netperf into .work/netperf-source"
	sh "$top/tests/lab/netperf.sh" "$work" source >"$log" 2>&1 || {
		say "  it could not be had; tests of the patched netserver will be skipped"
		rm -rf "$work/netperf-source"
	}
}

lab_packages() {
	case $(uname -s) in
	Linux) install_missing ip:iproute2 iperf:iperf sshd:openssh-server ping:iputils-ping ss:iproute2 tc:iproute2 \
		nft:nftables tmux:tmux ethtool:ethtool ;;
	*) die "the lab needs Linux and its network namespaces" ;;
	esac
}

# Two copies of a built image: --down and --help need nothing installed.
lab_vm() {
	case " $* " in
	*' --help '* | *' -h '*) exec sh "$top/image/lab-vm.sh" --help ;;
	*' --down '*) ;;
	*) install_missing qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils ip:iproute2 tmux:tmux socat:socat ;;
	esac
	[ "$(id -u)" -ne 0 ] || exec sh "$top/image/lab-vm.sh" "$@"
	say "the network between the machines needs root: going on through sudo"
	exec sudo --preserve-env=TERM,LL_VM_MEMORY,LL_VM_CPUS,LL_VM_FIRMWARE sh "$top/image/lab-vm.sh" "$@"
}

lab() {
	if [ "${1-}" = --vm ]; then
		shift
		lab_vm "$@"
		return
	fi
	lab_packages
	set_up_python
	set_up_netperf
	LINKLADDER_TOP=$top
	export LINKLADDER_TOP
	if [ "$(id -u)" -eq 0 ]; then
		exec "$venv/bin/python" "$top/tests/lab/lab.py" "$@"
	fi
	say "namespaces need root: going on through sudo"
	exec sudo --preserve-env=LINKLADDER_TOP,TERM,NO_COLOR,COLORTERM "$venv/bin/python" "$top/tests/lab/lab.py" "$@"
}

check() {
	install_missing ip:iproute2 iperf:iperf iperf3:iperf3 sshd:openssh-server ping:iputils-ping tc:iproute2 nft:nftables \
		tmux:tmux ethtool:ethtool doas:opendoas qemu-img:qemu-utils chromium:chromium pdftotext:poppler-utils xorriso:xorriso \
		mkfs.ext4:e2fsprogs losetup:mount autoconf:autoconf automake:automake cc:gcc make:make
	set_up_python
	set_up_netperf
	set_up_netperf_source
	exec sh "$top/tests/run.sh" "$top" "$@"
}

bench() {
	lab_packages
	set_up_python
	set_up_netperf
	as_root sh "$top/tests/bench/run.sh" "$@"
}

work=$top/.work
mkdir -p "$work"
log=$work/set-up.log

case "${1-help} ${2-}" in
"test -h" | "test --help") set -- help ;;
esac
case ${1-help} in
lab) shift && lab "$@" ;;
test) shift && check "$@" ;;
bench) shift && bench "$@" ;;
image | fetch | pin) exec sh "$top/image/build-image.sh" "$@" ;;
help | -h | --help) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
