#!/bin/sh
# own_network.sh COMMAND ... - with a loopback that nobody else uses, where the system lets us make one: a trial over
# loopback is held against the interface's counters, and refuses itself where somebody else's traffic is among them.
set -eu

if unshare --net true 2>/dev/null; then
	# shellcheck disable=SC2016  # the inner shell's words
	exec unshare --net sh -c 'ip link set lo up && exec "$@"' sh "$@"
fi
exec "$@"
