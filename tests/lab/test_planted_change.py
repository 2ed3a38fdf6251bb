"""A change with a planted effect, measured in pairs between two real ends: found with the right sign, and put back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mischief
from linkladder import judge
from linkladder.model import Role
from linkladder.verdicts import Answer, Measured
from test_leases import LoanWorld, nothing_is_left
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]


PINGED = """
[[experiment]]
rungs = ["{rung}"]
tool = "ping"
count = 20
repeats = 4
settings = {{kind = "tso", value = "off", ends = "both"}}
baseline = true
control = true
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoanWorld]:
    with Lab("llx").paired() as lab:
        yield LoanWorld(lab, tmp_path_factory.mktemp("changes"))


@pytest.mark.alone  # work per core is what it measures, so nothing else may have the cores
def test_large_sends_that_are_taken_away_cost_cores_and_are_given_back(world: LoanWorld) -> None:
    more = 'settings = {kind = "tso", value = "off", ends = "both"}\nbaseline = true\n'
    run = mischief.Run(world, mischief.plan_text(world, duration=2, repeats=4, more=more))
    assert run.wait() == 0, run.said
    nothing_is_left(world)
    document = run.document()
    rung = next(r for r in document.rungs if len(r.experiments) == 2)
    (change,) = next(j for j in judge.judge_document(document).rungs if j.rung == rung.name).changes
    assert (change.pairs, change.void) == (4, 0)
    for trial in (t for e in rung.experiments for t in e.trials):
        (before,) = (leg for leg in trial.legs if leg.role is Role.DISCARDED)
        assert before.outcome.ok and [c.role for c in before.commands] == ["discarded server", "discarded client"]
        assert len(trial.loads) == 1 and trial.goodput_bps == trial.loads[0].goodput_bps
    per_core = next(f for f in change.figures if f.measured is Measured.PER_CORE)
    assert per_core.answer is Answer.DIFFERS
    assert per_core.ratio is not None and per_core.ratio < 0.8


def test_the_idle_round_trip_is_compared_and_so_is_what_was_sent_again(world: LoanWorld) -> None:
    """On these cards large sends change neither; the loads and the pings are arms of their own."""
    pinged = PINGED.format(rung=world.rung)
    more = 'settings = {kind = "tso", value = "off", ends = "both"}\nbaseline = true\n'
    run = mischief.Run(world, mischief.plan_text(world, duration=2, repeats=4, more=more) + pinged)
    assert run.wait(240) == 0, run.said  # twenty trials
    nothing_is_left(world)
    document = run.document()
    judged = next(j for j in judge.judge_document(document).rungs if j.changes)
    loaded, idle, noise = judged.changes
    assert {change.pairs for change in judged.changes} == {4}
    (trip,) = idle.figures
    assert trip.measured is Measured.IDLE_RTT and trip.floor is not None and trip.floor > 1
    assert [f.measured for f in noise.figures] == [Measured.IDLE_RTT]
    assert Measured.RESENT in {f.measured for f in loaded.figures}
    assert any("Noise floor: the same again" in said for said in judged.judgement.findings)


def test_what_the_machines_have_already_is_left_out_and_told_of(world: LoanWorld) -> None:
    more = 'settings = {kind = "mtu", value = 1500}\nbaseline = true\n'
    run = mischief.Run(world, mischief.plan_text(world, duration=2, repeats=4, more=more))
    assert run.wait() == 0, run.said
    document = run.document()
    assert not [t for r in document.rungs for e in r.experiments for t in e.trials]
    said = " ".join(document.run.notes)
    assert "mtu of sh0 at alpha is 1500 already" in said
    assert "nothing is left to compare it with" in said


def test_where_no_adapter_tells_its_cores_the_tool_is_pinned_nowhere_and_that_is_said(world: LoanWorld) -> None:
    """A pair of virtual cards has no queue of its own: whoever sends does its work."""
    more = 'affinity = ["beside", "away"]\nbaseline = {affinity = "free"}\n'
    run = mischief.Run(world, mischief.plan_text(world, duration=2, repeats=4, more=more))
    assert run.wait() == 0, run.said
    document = run.document()
    assert not [t for r in document.rungs for e in r.experiments for t in e.trials]
    assert "sh0 of alpha does not tell which cores serve its queues" in " ".join(document.run.notes)
