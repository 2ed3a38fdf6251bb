"""What the live screen shows of a comparison: each arm beside its baseline, and of a staircase what was kept."""

from __future__ import annotations

import pytest

import trials
from judge_documents import F, trial
from linkladder import events
from linkladder.model import Plan, RungName, Transactions
from linkladder.plan import read_plan
from linkladder.run.arms_so_far import compared
from linkladder.run.progress import Progress
from staircases import carried, climb

RUNG = RungName.SAME_VLAN


def begun(plan: Plan) -> Progress:
    progress = Progress()
    progress.apply(events.RunStarted("r", plan, 60.0, 8), 0.0)
    return progress


def measure(progress: Progress, name: str, rates: list[float]) -> None:
    for n, bps in enumerate(rates):
        progress.apply(events.TrialStarted(RUNG, name, n, n, 7.0), 0.0)
        progress.apply(events.TrialFinished(RUNG, name, trial(bps, F, n)), 7.0)


def now(progress: Progress, name: str) -> None:
    progress.apply(events.TrialStarted(RUNG, name, 0, 0, 7.0), 0.0)


def test_arms_stand_side_by_side_with_what_the_change_gains() -> None:
    plan, _ = climb()
    base, jumbo = [e for e in plan.rungs[0].experiments if e.step == 1]
    progress = begun(plan)
    now(progress, base.id)
    found = compared(progress)
    assert found and [(one.words, one.figure, one.runs) for one in found.arms] == [
        ("as it is", None, True),
        ("MTU 9000", None, False),
    ]
    measure(progress, base.id, [3.0e9, 3.2e9, 3.1e9])
    measure(progress, jumbo.id, [6.2e9, 6.2e9])
    now(progress, jumbo.id)
    found = compared(progress)
    assert found and [(one.figure, one.done, one.asked) for one in found.arms] == [(3.1e9, 3, 4), (6.2e9, 2, 4)]
    assert found.arms[1].ratio == pytest.approx(2.0) and found.arms[1].runs and found.arms[0].ratio is None


def test_a_staircase_tells_its_step_and_what_the_steps_before_have_kept() -> None:
    plan, _ = climb()
    progress = begun(plan)
    last = [e for e in plan.rungs[0].experiments if e.step == 3]
    for e in last[:2]:
        measure(progress, e.id, [carried(e)])
    now(progress, last[2].id)
    found = compared(progress)
    assert found and (found.step, found.steps) == (3, 3)
    assert found.kept == ("MTU 9000",), "no buffer won"
    assert [one.words for one in found.arms] == ["best so far", "2 streams instead of 1", "8 streams instead of 1"]


def test_the_steps_to_come_are_counted() -> None:
    plan = read_plan(
        'name = "p"\n[[experiment]]\nrungs = "same-vlan"\n'
        'steps = [{window = ["800k"]}, {streams = [2]}, {streams = [4]}]\n'
    )
    progress = begun(plan)
    now(progress, plan.rungs[0].experiments[0].id)
    found = compared(progress)
    assert found and (found.step, found.steps, found.kept) == (1, 3, ())


def test_a_failed_trial_counts_for_nothing() -> None:
    plan, _ = climb()
    base, jumbo = [e for e in plan.rungs[0].experiments if e.step == 1]
    progress = begun(plan)
    now(progress, jumbo.id)
    progress.apply(events.TrialFinished(RUNG, jumbo.id, trials.changed(trial(9e9, F), ok=False)), 7.0)
    now(progress, base.id)
    found = compared(progress)
    assert found and found.arms[1].figure is None and found.arms[1].done == 0


def test_transactions_are_compared_by_their_own_figure() -> None:
    plan = read_plan(
        'name = "p"\n[[experiment]]\nrungs = "same-vlan"\ntool = "netperf"\nprotocol = "rr"\nrepeats = 4\n'
        'baseline = {settings = []}\nsettings = [{kind = "tso", value = false}]\n'
    )
    first, second = plan.rungs[0].experiments
    progress = begun(plan)
    for e, rate in ((first, 5000.0), (second, 4000.0)):
        now(progress, e.id)
        seen = trials.changed(trial(1e6, F), transactions=Transactions(rate, 1))
        progress.apply(events.TrialFinished(RUNG, e.id, seen), 7.0)
    now(progress, first.id)
    found = compared(progress)
    assert found and {one.figure for one in found.arms} == {5000.0, 4000.0} and all(one.counts for one in found.arms)


def test_a_setting_that_is_compared_with_nothing_has_no_arms() -> None:
    plan = read_plan('name = "p"\n[[experiment]]\nrungs = "same-vlan"\nstreams = [1, 2]\n')
    progress = begun(plan)
    now(progress, plan.rungs[0].experiments[0].id)
    assert compared(progress) is None
