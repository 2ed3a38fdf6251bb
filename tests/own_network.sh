#!/bin/sh
# own_network.sh COMMAND ... - with a loopback that nobody else uses, where the system lets us make one: a trial over
# loopback is held against the interface's counters, and refuses itself where somebody else's traffic is among them.
# It carries 2 Gb/s, where the system has token buckets: more is work for the cores alone, as nobody holds a rate to it.
# A second interface with an address is there because names resolve to IPv4 only where something besides loopback has it.
set -eu

if unshare --net true 2>/dev/null; then
	# shellcheck disable=SC2016  # the inner shell's words
	exec unshare --net sh -c '
		ip link set lo up
		tc qdisc add dev lo root tbf rate 2gbit burst 5mb latency 50ms 2>/dev/null || :
		ip link add own0 type veth peer name own1
		ip address add 192.0.2.1/32 dev own0
		ip link set own0 up
		ip link set own1 up
		exec "$@"' sh "$@"
fi
exec "$@"
