#!/bin/sh
# netperf.sh WORK - Debian's netperf package (non-free) unpacked into WORK/netperf, with package lists of its own.
set -eu
work=$1
lists=$work/apt
mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$work/netperf"
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
printf 'deb %s %s non-free\n' "$mirror" "$VERSION_CODENAME" >"$lists/sources.list"
apt_here() {
	apt-get -q -o Dir::Etc::sourcelist="$lists/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$lists/lists" -o Dir::Cache="$lists/cache" -o APT::Sandbox::User=root "$@"
}
apt_here update
cd "$lists"
apt_here download netperf
dpkg-deb -x netperf_*.deb "$work/netperf"
"$work/netperf/usr/bin/netperf" -V
