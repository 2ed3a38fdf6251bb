#!/bin/sh
# netperf.sh WORK [source] - Debian's netperf package (non-free) unpacked into WORK/netperf, or the source that the
# appliance's port builds (2.7.1 of 2021, in Debian 13) into WORK/netperf-source; with package lists of its own.
set -eu
work=$1 what=${2-program}
lists=$work/apt-$what
mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
# shellcheck disable=SC1091  # the machine's own
. /etc/os-release
# The mirror and its keys are the machine's own; only the component is ours.
mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
[ -n "$mirror" ] || mirror=$(sed -n 's/^deb  *\(\[[^]]*\]  *\)*\(http[^ ]*\).*/\2/p' /etc/apt/sources.list \
	/etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1)
[ -n "$mirror" ] || {
	echo "this machine names no Debian mirror" >&2
	exit 1
}
apt_here() {
	apt-get -q -o Dir::Etc::sourcelist="$lists/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$lists/lists" -o Dir::Cache="$lists/cache" -o APT::Sandbox::User=root "$@"
}
program() {
	printf 'deb %s %s non-free\n' "$mirror" "$VERSION_CODENAME" >"$lists/sources.list"
	apt_here update
	cd "$lists"
	apt_here download netperf
	mkdir -p "$work/netperf"
	dpkg-deb -x netperf_*.deb "$work/netperf"
	"$work/netperf/usr/bin/netperf" -V
}
source_tree() {
	printf 'deb-src %s trixie main\n' "$mirror" >"$lists/sources.list"
	apt_here update
	cd "$lists"
	apt_here source --download-only --tar-only netperf
	mkdir -p "$work/netperf-source"
	tar -xf netperf_*.orig.tar.* -C "$work/netperf-source" --strip-components=1
}
case $what in
source) source_tree ;;
*) program ;;
esac
