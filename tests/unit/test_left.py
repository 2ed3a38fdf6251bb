"""The time a run is said to take is that of what is left to measure, when it is taken up again."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import trials
from linkladder import cli, state
from linkladder import events as ev
from linkladder import plan as plans
from linkladder.commands import measuring
from linkladder.commands.run_lines import Lines
from linkladder.model import RungName, RungResult, RunState
from linkladder.store import Store

PLAN = """name = "three"
[[experiment]]
rungs = ["localhost"]
streams = [1, 2, 3]
duration = 1
warmup = 0
"""


def two_of_three() -> str:
    """A run that ended after two of its three trials."""
    store = Store(state.folder())
    plan = plans.with_link(plans.read_plan(PLAN), plans.Link())
    run = store.begin(plan)
    for exp in plan.rungs[0].experiments[:2]:
        store.keep_trial(run, RungName.LOCALHOST, exp.id, trials.trial(f"t-{exp.id}", 0, True, goodput_bps=1e9))
    store.finish(run, RunState.INCOMPLETE)
    store.close()
    return run


@pytest.mark.skipif(not shutil.which("iperf"), reason="no iperf here")
def test_the_command_line_tells_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    run = two_of_three()
    assert cli.main(["run", "--resume", "last"]) == 0
    said = capsys.readouterr().err
    assert f"run {run}: plan three, 3 trials, 2 measured already, about 2 s for the rest" in said, said
    assert "localhost: 3 trials, 2 measured already, about 2 s for the rest" in said, said
    assert len(re.findall(r"^  tcp-", said, re.M)) == 1, "only the third was measured"


def test_the_live_line_counts_what_is_left_down(capsys: pytest.CaptureFixture[str]) -> None:
    """Skipped, repeated, and measured before: nothing of it is counted twice."""
    plan = plans.read_plan(PLAN + PLAN.split("\n", 1)[1].replace("localhost", "same-host"))
    ids = [e.id for e in plan.rungs[0].experiments]
    shown = Lines(quiet=False, terminal=True)
    shown.show(ev.RunStarted("r", plan, 100.0, 6, 2, 30.0), 0.0)
    shown.show(ev.RungStarted(RungName.LOCALHOST, 50.0, 3, 0, 2, 30.0), 0.0)
    shown.show(ev.TrialStarted(RungName.LOCALHOST, ids[2], 0, 2, 20.0), 0.0)
    assert "1 min 10 s left in all" in capsys.readouterr().err
    for _ in range(2):  # once more, because the operator wished so
        shown.show(ev.TrialFinished(RungName.LOCALHOST, ids[2], trials.trial("t", 0, True, goodput_bps=1e9)), 0.0)
    shown.show(ev.RungFinished(RungName.LOCALHOST, RungResult(RungName.LOCALHOST)), 0.0)
    shown.show(ev.RungStarted(RungName.SAME_HOST, 50.0, 3, 1), 0.0)
    shown.show(ev.TrialStarted(RungName.SAME_HOST, ids[0], 0, 3, 20.0), 0.0)
    assert "50 s left in all" in capsys.readouterr().err
    shown.show(ev.RungFinished(RungName.SAME_HOST, RungResult(RungName.SAME_HOST)), 0.0)  # skipped
    assert shown.progress.whole_left() == 0


@pytest.mark.skipif(not shutil.which("iperf"), reason="no iperf here")
def test_what_is_left_out_is_no_longer_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """Such as the cores that this machine does not have: neither in what is left to do nor as done."""
    text = PLAN.replace("streams = [1, 2, 3]", "cores = [1, 128]\nrepeats = 2")
    plan = plans.with_link(plans.read_plan(text), plans.Link())
    store = Store(state.folder())
    run = store.begin(plan)
    store.finish(run, RunState.INCOMPLETE)
    store.close()
    assert cli.main(["run", "--resume", run]) == 0
    said = capsys.readouterr().err
    assert "localhost: 2 trials, about 4 s" in said, "known from the first"
    assert "-128c-forward: left out: " in said and "trials left out" not in said, said
    assert len(re.findall(r"^  tcp-", said, re.M)) == 2


def test_a_rung_of_which_trials_are_left_out_ends_with_the_others() -> None:
    plan = plans.read_plan(PLAN)
    shown = Lines(quiet=True, terminal=False)
    shown.show(ev.RunStarted("r", plan, 100.0, 6, 1, 20.0), 0.0)
    shown.show(ev.RungStarted(RungName.LOCALHOST, 60.0, 3, 0, 1, 20.0), 0.0)
    shown.show(ev.LeftOut(RungName.LOCALHOST, 1, 20.0), 0.0)
    run, rung = shown.progress, shown.progress.rung(RungName.LOCALHOST)
    assert (run.trials, run.whole_left(), rung.trials, rung.seconds - rung.spent) == (5, 60.0, 2, 20.0)
    shown.show(ev.RungFinished(RungName.LOCALHOST, RungResult(RungName.LOCALHOST)), 0.0)
    assert (run.done, run.whole_left()) == (2, 40.0)


def test_the_dry_run_of_the_rest_says_what_is_measured_already(capsys: pytest.CaptureFixture[str]) -> None:
    run = two_of_three()
    assert cli.main(["run", "--resume", "last", "--dry-run"]) == 0
    assert f"of all this 2 trials of run {run} will not be measured again" in capsys.readouterr().out


def test_a_run_that_ended_early_says_how_it_goes_on(own_state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Store(own_state).begin(plans.read_plan(PLAN))
    assert measuring._result(ev.RunFinished(run, RunState.INCOMPLETE, 0, "it was cancelled"), quiet=True) == 3
    said = capsys.readouterr().err
    assert said == (
        f"linkladder: run {run} is incomplete: it was cancelled\n  do:  linkladder run --resume {run} goes on with it\n"
    )
