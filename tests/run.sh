#!/bin/sh
# run.sh TOP [pytest arguments] - lint, types, contracts and tests; then a summary that names what was skipped and why.
set -u
top=$1
shift
bin=$top/.venv/bin
cd "$top" || exit 3
mkdir -p .work
failed=''

step() {
	name=$1
	shift
	started=$(date +%s)
	printf '== %s\n' "$name"
	if "$@"; then
		printf '   %s: good, %s s\n' "$name" "$(($(date +%s) - started))"
	else
		printf '   %s: FAILED\n' "$name"
		failed="$failed $name"
	fi
}

contracts() {
	(cd tui && "$bin/lint-imports" --no-cache)
}

types() {
	(cd tui && "$bin/mypy" --no-error-summary src)
}

shell_files() {
	git ls-files -z | xargs -0 grep -lE '^#! ?/(usr/)?bin/(env )?sh' --
}

shell_lint() {
	# shellcheck disable=SC2046  # no file of ours has a space in its name
	"$bin/shellcheck" -x -P SCRIPTDIR -P . -s sh $(shell_files)
}

tests() {
	"$bin/python" -m pytest -c tui/pyproject.toml --rootdir . -q --junitxml=.work/tests.xml "$@"
}

step lint "$bin/ruff" check -q .
step format "$bin/ruff" format -q --check .
step types types
step contracts contracts
step shell shell_lint
step tests tests "$@"

"$bin/python" tests/summary.py .work/tests.xml
if [ -n "$failed" ]; then
	printf 'FAILED:%s\n' "$failed"
	exit 1
fi
printf 'all good\n'
