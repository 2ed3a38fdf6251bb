"""The last words of a test run: figures are seen in every run, and a skipped test says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_what_was_tried_again_counts_once_and_is_named(tmp_path: Path) -> None:
    """The second result counts, be it good or bad."""
    case = '<testcase classname="lab" name="{}">{}</testcase>'
    bad, figure = "<failure/>", '<properties><property name="figure" value="{}"/></properties>'
    first = case.format("test_fast", bad + figure.format("2 s")) + case.format("test_right", bad)
    second = case.format("test_fast", figure.format("1 s")) + case.format("test_right", bad)
    for lane, cases in (("alone", first + case.format("test_else", "")), ("alone2", second)):
        (tmp_path / f"tests-{lane}.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    files = sorted(map(str, tmp_path.glob("*.xml")))
    summary = subprocess.run([sys.executable, str(TESTS / "summary.py"), *files], capture_output=True, text=True)
    assert summary.stdout.splitlines() == [
        "measured: 1 s", "tried a second time: test_fast", "tried a second time: test_right",
        "2 passed, 1 failed, 0 skipped",
    ]  # fmt: skip


FLAKY = """
import pathlib, pytest

@pytest.mark.{lane}
def test_once_slow():
    seen = pathlib.Path("seen-{lane}")
    first = not seen.exists()
    seen.touch()
    assert not first

@pytest.mark.{lane}
def test_fine():
    pass
"""


def test_what_fails_once_gets_a_second_try_and_what_is_broken_fails(tmp_path: Path) -> None:
    tools, tests = tmp_path / ".venv/bin", tmp_path / "tests"
    for folder in (tools, tests / "tui", tmp_path / "tui"):
        folder.mkdir(parents=True)
    for name in ("ruff", "mypy", "lint-imports", "shellcheck"):
        (tools / name).write_text("#!/bin/sh\n")
        (tools / name).chmod(0o755)
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "python").chmod(0o755)
    (tmp_path / "tui/pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['alone', 'lab', 'other']\n")
    (tests / "summary.py").write_text((TESTS / "summary.py").read_text())
    (tests / "tui/test_screen.py").write_text("def test_screen():\n    pass\n")
    for lane in ("alone", "lab", "other"):
        (tests / f"test_{lane}.py").write_text(FLAKY.format(lane=lane).replace("test_", f"test_{lane}_"))
    (tests / "test_broken.py").write_text("import pytest\n@pytest.mark.lab\ndef test_broken():\n    assert 1 == 2\n")
    run = ["sh", str(TESTS / "run.sh"), str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    tried = [line.split(": ")[1] for line in done.stdout.splitlines() if "tried a second time" in line]
    first = [f"test_{lane}_once_slow" for lane in ("alone", "lab", "other")]
    assert sorted(tried) == sorted(["test_broken", *first]), done.stdout + done.stderr
    assert "\n7 passed, 1 failed, 0 skipped\n" in done.stdout, done.stdout
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAILED: tests")
