"""The last words of a test run: figures are seen in every run, and a skipped test says why."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MEASURED = """
import pytest

def test_measures(record_property):
    record_property("figure", "first frame after 0.70 s")

@pytest.mark.skip(reason="no such machine")
def test_elsewhere():
    pass
"""


def test_figures_and_reasons_are_in_the_summary(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(MEASURED)
    words = (TESTS / "run.sh").read_text().split("-m pytest -c tui/pyproject.toml --rootdir . -q ", 1)[1]
    family = words.split(" --junitxml", 1)[0].split()
    run = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *family, "--junitxml=out.xml"]
    made = subprocess.run([*run, "--rootdir", ".", "-c", "/dev/null"], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    summary = subprocess.run(
        [sys.executable, str(TESTS / "summary.py"), str(tmp_path / "out.xml")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert summary.stdout.splitlines() == [
        "measured: first frame after 0.70 s", "skipped 1: no such machine", "1 passed, 0 failed, 1 skipped",
    ]  # fmt: skip


@pytest.mark.parametrize("report", ["<testsuites/>", None])
def test_a_run_of_no_test_is_not_good(tmp_path: Path, report: str | None) -> None:
    """Whether pytest chose none, or wrote no report at all."""
    made = tmp_path / "out.xml"
    if report is not None:
        made.write_text(report)
    summary = subprocess.run([sys.executable, str(TESTS / "summary.py"), str(made)], capture_output=True, text=True)
    assert (summary.returncode, summary.stderr) == (1, "no test ran: what pytest said is above\n")


PYTHON = """#!/bin/sh
case "$*" in
*pytest*)
	report=${{*##*--junitxml=}}
	report=${{report%% *}}
	echo "${{report##*/tests-}}" >>asked
	echo '<testsuites><testcase/></testsuites>' >"$report"
	case $report in *{fails}*) exit 1 ;; esac
	;;
*) exec {python} "$@" ;;
esac
"""
LANES = [
    "alone", "flows", "forged", "image", "ladders", "limits", "loans", "losses", "other", "paths", "people", "places",
    "policers", "rungs", "screens", "strangers", "sums", "tools", "troubles", "units-1", "units-2", "units-3",
    "units-4", "unshaped",
]  # fmt: skip


@pytest.mark.parametrize("fails", [*LANES, "types"])
def test_a_lane_that_fails_fails_the_run_and_gets_no_second_try(tmp_path: Path, fails: str) -> None:
    """Every program is a stand-in that finds nothing wrong, but for one run of pytest, or for mypy."""
    tools = tmp_path / ".venv/bin"
    for folder in (tools, tmp_path / "tests", tmp_path / "tui"):
        folder.mkdir(parents=True)
    for name in ("ruff", "mypy", "lint-imports", "shellcheck", "python"):
        body = PYTHON.format(fails=fails, python=sys.executable) if name == "python" else "#!/bin/sh\n"
        if (name, fails) == ("mypy", "types"):
            body += "echo 'one.py:1: error: no such word'; exit 1\n"
        (tools / name).write_text(body)
        (tools / name).chmod(0o755)
    for name in ("summary.py", "own_network.sh"):
        shutil.copy(TESTS / name, tmp_path / "tests")
    run = ["sh", str(TESTS / "run.sh"), str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert sorted((tmp_path / "asked").read_text().split()) == [f"{lane}.xml" for lane in LANES], done.stderr
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, f"FAILED: {'types' if fails == 'types' else 'tests'}")
    assert ("one.py:1: error: no such word" in done.stdout.splitlines()) is (fails == "types")
