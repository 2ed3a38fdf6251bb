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
# Whatever this machine's habit: what Python compiled once is kept.  The tests start it some thousand times.
unset PYTHONDONTWRITEBYTECODE
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

instead=''
calmly=''
network=''
lanes=''

contracts() {
	(cd tui && "$bin/lint-imports" --no-cache)
}

# The package, and beside it the tests in one run, which knows each module once; then the conftests, which all have one
# name, each by itself.
types() {
	# shellcheck disable=SC2086  # words, or none
	(cd tui && $calmly "$bin/mypy" --no-error-summary src) &
	package=$!
	wrong=0
	# shellcheck disable=SC2046  # no file of ours has a space in its name
	test_types $(git ls-files -co --exclude-standard 'tests/*.py' ':!:tests/*/conftest.py') tests/vm/conftest.py || wrong=1
	for one in tests/*/conftest.py; do
		[ "$one" = tests/vm/conftest.py ] || test_types "$one" || wrong=1
	done
	wait "$package" || wrong=1
	return "$wrong"
}

test_types() {
	# shellcheck disable=SC2086  # words, or none
	$calmly "$bin/mypy" --no-error-summary --config-file tests/mypy.ini "$@"
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
	# shellcheck disable=SC2086  # words, or none
	$instead $calmly $network "$bin/python" -m pytest -c tui/pyproject.toml --rootdir . -q -o junit_family=xunit1 --junitxml=".work/tests-$lane.xml" \
		-o cache_dir="$top/.work/cache-$lane" "$@"
}

# beside LANE ... - the same, while others run; what it says is shown when all have ended.
beside() {
	(
		instead='exec' # so that whoever ends this ends pytest
		pytest "$@"
	) >".work/$1.txt" 2>&1 &
	lanes="$lanes $1=$!"
}

ended() {
	for lane in $lanes; do
		wait "${lane#*=}" || amiss "${lane%=*}"
	done
	for lane in $lanes; do
		cat ".work/${lane%=*}.txt"
	done
	lanes=''
}

# What is no test fails under its own name.
amiss() {
	case $1 in
	types) failed="$failed types" ;;
	*)
		good=1
		printf '   lane %s: FAILED\n' "$1"
		;;
	esac
}

# Everything, or what the arguments choose. No test gets a second try: what failed once is broken.
#
# Tests of work per core and of rates that nothing but the machine limits have it to themselves. Those of what limits, and
# of what rungs and several paths carry, go in seven lanes with nothing else beside them, as a busy machine loses datagrams
# of its own, and its ends wait for their cores: on a slow one three lanes go first, and then four. All others share it.
# Those with labs mostly wait for trials of a few seconds, whose rates lie far below what a core carries, so five lanes of
# them go side by side, each in namespaces of its own: several paths and tools; what goes wrong in a run; settings on loan;
# strangers and pairings; and all others, people above all. The real tools over loopback are measured beside them. Ten
# lanes need the cores, and wait now and then as well; they are nice to those that measure: units, in four parts by their
# first letter, screens, in three, forged documents, the image, and everything else; and the types are checked. Whoever
# measures over loopback has one of its own. Lanes that go side by side take about as long as each other.
limits='tests/lab/test_limiter.py tests/lab/test_cards.py'
losses='tests/lab/test_limiter_loss.py tests/lab/test_planted_draws.py tests/lab/test_limiter_late.py'
policers='tests/lab/test_limiter_policers.py tests/lab/test_neighbours.py'
unshaped='tests/lab/test_limiter_unshaped.py tests/lab/test_bundle_in_turn.py'
flows='tests/lab/test_bundle.py tests/lab/test_paths.py'
rungs=tests/lab/test_ladder.py
paths='tests/lab/test_generator.py tests/lab/test_control_card.py
	tests/lab/test_every_tool.py tests/lab/test_panes.py tests/lab/test_lab_command.py tests/lab/test_member_down.py
	tests/tui/test_cancel.py tests/tui/test_enter_only.py'
troubles='tests/lab/test_failures.py tests/lab/test_planted_change.py tests/lab/test_until_settled.py'
loans='tests/lab/test_leases.py tests/lab/test_loans_at_random.py tests/lab/test_loans_in_need.py'
strangers="tests/security tests/lab/test_pairing.py $(grep -l 'mark\.lab' tests/unit/*.py | tr '\n' ' ')" # read no others
tools=tests/unit/test_tools_real.py
forged=tests/judge/forged/test_forged.py

tests() {
	rm -rf .work/tests-*.xml .work/cache-*
	if [ $# -gt 0 ]; then
		pytest chosen "$@"
		return
	fi
	good=0
	few=:
	! "$bin/python" tests/slow.py || few=ended
	pytest alone tests/lab -m alone || good=1
	trap 'for lane in $lanes; do kill "${lane#*=}" 2>/dev/null; done' EXIT
	# shellcheck disable=SC2086  # lists of files
	beside losses $losses -m calm
	# shellcheck disable=SC2086
	beside policers $policers -m calm
	# shellcheck disable=SC2086
	beside unshaped $unshaped -m calm
	$few
	# shellcheck disable=SC2086
	beside flows $flows -m calm
	beside rungs $rungs -m calm
	# shellcheck disable=SC2046,SC2086
	beside sums tests/lab $(printf ' --ignore %s' $limits $losses $policers $unshaped $flows $rungs) -m calm
	# shellcheck disable=SC2086
	pytest limits $limits -m calm || good=1
	ended
	network=tests/own_network.sh
	beside tools $tools -m 'not lab'
	calmly='nice -n 8'
	types >.work/types.txt 2>&1 &
	lanes="$lanes types=$!"
	beside units-1 tests/unit --ignore $tools --ignore-glob 'tests/unit/test_[j-t]*' -m 'not lab'
	beside units-2 tests/unit --ignore $tools --ignore-glob 'tests/unit/test_[a-ilrsu-z]*' -m 'not lab'
	beside units-3 tests/unit --ignore $tools --ignore-glob 'tests/unit/test_[a-km-rt-z]*' -m 'not lab'
	beside units-4 tests/unit --ignore $tools --ignore-glob 'tests/unit/test_[a-qs-z]*' -m 'not lab'
	beside forged $forged -m 'not lab'
	beside image tests/image -m 'not lab'
	beside other tests --ignore $forged --ignore tests/unit --ignore tests/tui --ignore tests/image -m 'not lab'
	beside places tests/tui --ignore-glob 'tests/tui/test_[l-z]*' -m 'not lab'
	beside ladders tests/tui --ignore-glob 'tests/tui/test_[a-krsu-z]*' -m 'not lab'
	beside screens tests/tui --ignore-glob 'tests/tui/test_[a-qt]*' -m 'not lab'
	calmly=''
	network=''
	labs='lab and not alone and not calm'
	# shellcheck disable=SC2086  # lists of files
	beside paths $paths -m "$labs"
	# shellcheck disable=SC2086
	beside troubles $troubles -m "$labs"
	# shellcheck disable=SC2086
	beside loans $loans -m "$labs"
	# shellcheck disable=SC2086
	beside strangers $strangers -m "$labs"
	# shellcheck disable=SC2046,SC2086
	pytest people tests $(printf ' --ignore %s' $paths $troubles $loans $strangers tests/unit) -m "$labs" || good=1
	ended
	trap - EXIT
	return "$good"
}

step lint "$bin/ruff" check -q .
step format "$bin/ruff" format -q --check .
[ $# -eq 0 ] || step types types # else beside the tests
step contracts contracts
step shell shell_lint
step tests tests "$@"

"$bin/python" tests/summary.py .work/tests-*.xml || failed="$failed summary"
printf 'the screens that were seen are kept in %s\n' "$LINKLADDER_ARTIFACTS"
if [ -n "$failed" ]; then
	printf 'FAILED:%s\n' "$failed"
	exit 1
fi
printf 'all good\n'
