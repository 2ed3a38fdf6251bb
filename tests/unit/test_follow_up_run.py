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
    text = capsys.readouterr().out
    assert "[[experiment]]" in text and "localhost" in text
    assert cli.main(["run", "--follow-up", "last", "--dry-run"]) == 0
    assert "-P 2" in capsys.readouterr().out
    assert cli.main(["run", "--follow-up", "last", "--quiet"]) == 0
    after = Store(state.folder()).load("last")
    assert after.run.id == before.run.id and len(Store(state.folder()).runs()) == 1
    assert len(after.rungs[0].experiments) == 2
    first = after.rungs[0].experiments[0].trials
    assert first[0].started == before.rungs[0].experiments[0].trials[0].started
    assert any("follow-up" in n and "1 trials were added" in n for n in after.run.notes)


def test_an_incomplete_run_goes_on_first(capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(state.folder())
    run = store.begin(plans.read_plan(PLAN))
    store.finish(run, RunState.INCOMPLETE)
    assert cli.main(["run", "--follow-up", "last"]) == 2
    assert f"--resume {run} first" in capsys.readouterr().err


def test_a_run_that_asks_for_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--follow-up", "last"]) == 2
    assert "no such run" in capsys.readouterr().err
