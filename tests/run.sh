#!/bin/sh
# run.sh TOP [pytest arguments] - lint, types, contracts and tests; then a summary that names what was skipped and why.
set -u
top=$1
shift
bin=$top/.venv/bin
cd "$top" || exit 3
# What the tests keep to be looked at: screens as text, pictures.  A whole run starts with none.
if [ -z "${LINKLADDER_ARTIFACTS-}" ]; then
	LINKLADDER_ARTIFACTS=$top/.work/artifacts
	[ $# -gt 0 ] || rm -rf "$LINKLADDER_ARTIFACTS"
fi
export LINKLADDER_ARTIFACTS
mkdir -p .work "$LINKLADDER_ARTIFACTS"
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

# The tests in one run, which knows each module once; then the conftests, which all have one name, each by itself.
types() {
	(cd tui && "$bin/mypy" --no-error-summary src) || return 1
	# shellcheck disable=SC2046  # no file of ours has a space in its name
	test_types $(git ls-files -co --exclude-standard 'tests/*.py' ':!:tests/*/conftest.py') tests/vm/conftest.py || return 1
	for one in tests/*/conftest.py; do
		[ "$one" = tests/vm/conftest.py ] || test_types "$one" || return 1
	done
}

test_types() {
	"$bin/mypy" --no-error-summary --config-file tests/mypy.ini "$@"
}

shell_files() {
	git ls-files -z | xargs -0 awk 'FNR == 1 && /^#! ?\/(usr\/)?bin\/(env )?sh/ { print FILENAME }'
}

shell_lint() {
	# shellcheck disable=SC2046  # no file of ours has a space in its name
	"$bin/shellcheck" -x -P SCRIPTDIR -P . -s sh $(shell_files)
}

# pytest LANE ... - one run of pytest, with its own report and its own memory of what failed.
pytest() {
	lane=$1
	shift
	"$bin/python" -m pytest -c tui/pyproject.toml --rootdir . -q -o junit_family=xunit1 --junitxml=".work/tests-$lane.xml" \
		-o cache_dir="$top/.work/cache-$lane" "$@"
}

# Everything, or what the arguments choose. No test gets a second try: what failed once is broken. The tests that measure have the machine to themselves; those that mostly wait
# for a lab then share it with those of the screens, which mostly wait too, and with all others; the flows of the screens
# go with these, so that all three take about as long.
tests() {
	rm -rf .work/tests-*.xml .work/cache-*
	if [ $# -gt 0 ]; then
		pytest chosen "$@"
		return
	fi
	good=0
	pytest alone -m alone || good=1
	pytest screens tests/tui --ignore-glob 'tests/tui/test_f*' -m 'not alone and not lab' >.work/screens.txt 2>&1 &
	screens=$!
	pytest other --ignore-glob 'tests/tui/test_[!f]*' -m 'not alone and not lab' >.work/other.txt 2>&1 &
	other=$!
	trap 'kill "$screens" "$other" 2>/dev/null' EXIT
	pytest lab -m 'lab and not alone' || good=1
	wait "$screens" || good=1
	wait "$other" || good=1
	trap - EXIT
	cat .work/screens.txt .work/other.txt
	return "$good"
}

step lint "$bin/ruff" check -q .
step format "$bin/ruff" format -q --check .
step types types
step contracts contracts
step shell shell_lint
step tests tests "$@"

"$bin/python" tests/summary.py .work/tests-*.xml
printf 'the screens that were seen are kept in %s\n' "$LINKLADDER_ARTIFACTS"
if [ -n "$failed" ]; then
	printf 'FAILED:%s\n' "$failed"
	exit 1
fi
printf 'all good\n'
