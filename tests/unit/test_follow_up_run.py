"""A run takes up what its verdict asks for: the same run grows, nothing is measured twice, and it is judged again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from linkladder import cli, state
from linkladder import plan as plans
from linkladder.model import RunState
from linkladder.store import Store

PLAN = """name = "weak"
[contract]
port = "10T"
[[experiment]]
rungs = ["localhost"]
duration = 3
warmup = 0
"""


@pytest.mark.skipif(not shutil.which("iperf"), reason="no iperf here")
def test_the_same_run_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "weak.toml"
    file.write_text(PLAN)
    assert cli.main(["run", "--plan", str(file), "--quiet"]) == 0
    before = Store(state.folder()).load("last")
    assert [e.parameters.streams for e in before.rungs[0].experiments] == [1]
    assert cli.main(["plan", "follow-up", "last"]) == 0
    asked = capsys.readouterr().out.count("[[experiment]]")  # how many, what limits this machine decides
    assert asked >= 1
    assert cli.main(["run", "--follow-up", "last", "--dry-run"]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if "-follow-up-" in line]
    assert len(shown) == asked and all("tcp" in line for line in shown)
    went = cli.main(["run", "--follow-up", "last", "--quiet"])
    after = Store(state.folder()).load("last")
    assert went == 0, [t.reason for e in after.rungs[0].experiments for t in e.trials]
    assert after.run.id == before.run.id and len(Store(state.folder()).runs()) == 1
    settings = [(e.parameters.streams, e.parameters.window) for e in after.rungs[0].experiments]
    assert len(set(settings)) == 1 + asked, "each follow-up is another setting than what was measured"
    first = after.rungs[0].experiments[0].trials
    assert first[0].started == before.rungs[0].experiments[0].trials[0].started
    were = "1 trial was" if asked == 1 else f"{asked} trials were"
    assert any(f"follow-up: {were} added" in n for n in after.run.notes)


def test_an_incomplete_run_goes_on_first(capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(state.folder())
    run = store.begin(plans.read_plan(PLAN))
    store.finish(run, RunState.INCOMPLETE)
    assert cli.main(["run", "--follow-up", "last"]) == 2
    assert f"--resume {run} first" in capsys.readouterr().err


def test_a_run_that_asks_for_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--follow-up", "last"]) == 2
    assert "no such run" in capsys.readouterr().err
