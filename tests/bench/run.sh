#!/bin/sh
# run.sh [--before REVISION] [--rounds N] [NAME ...] - what linkladder costs, each figure with what is promised of it;
# with --before, those of an earlier revision beside them, measured in turn. Needs root. whole_ladder takes up to an hour
# and runs only if it is named.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
case ${1-} in
-h | --help) exec "$top/.venv/bin/python" "$here/bench.py" --help ;;
--before)
	revision=$(git -C "$top" rev-parse --short "$2^{commit}")
	shift 2
	tree=$top/.work/bench-$revision
	[ -d "$tree" ] || git -C "$top" worktree add --quiet --detach "$tree" "$revision"
	if [ ! -f "$tree/.venv/ready" ]; then
		printf 'setting up %s in %s\n' "$revision" "$tree" >&2
		"$top/.venv/bin/python" -m venv "$tree/.venv"
		"$tree/.venv/bin/python" -m pip install -q --disable-pip-version-check -e "$tree/tui[dev]"
		: >"$tree/.venv/ready"
	fi
	set -- --before "$tree" "$@"
	;;
esac
exec "$top/.venv/bin/python" "$here/bench.py" "$@"
