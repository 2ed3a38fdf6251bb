"""Claims that few or failed trials do not bear out: a step that won, and cores that are enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

import trials
from judge_documents import F, rung, tcp, trial
from linkladder import plan as plans
from linkladder.judge.ceilings import ceiling, duplex_share
from linkladder.judge.changes import changes
from linkladder.judge.sizing import sizing
from linkladder.judge.staircase import winner
from linkladder.model import Contract, Direction, Fault, RungName, RungResult
from staircases import PLAN, measured

SOLD = Contract(port_bps=10e9, rate_bps=1e9)


@pytest.mark.parametrize(("failed", "won"), [(2, True), (4, False)])
def test_an_arm_that_fails_in_half_of_its_trials_wins_no_step(failed: int, won: bool) -> None:
    plan = plans.read_plan(PLAN.replace("repeats = 4", "repeats = 8"))
    base, jumbo = plan.rungs[0].experiments
    whole = measured(plan, (base, jumbo), RungResult(RungName.SAME_VLAN))
    lost = tuple(trials.changed(t, ok=False) if n < failed else t for n, t in enumerate(whole.experiments[1].trials))
    broken = replace(whole, experiments=(whole.experiments[0], replace(whole.experiments[1], trials=lost)))
    assert winner(changes(broken), (base, jumbo)) == (jumbo if won else base)


def test_one_repeat_names_no_number_of_cores_that_is_enough() -> None:
    (said,) = sizing(rung(RungName.SAME_VLAN, tcp(F, (trial(2e9, F, 0),), 1, cores=1)), SOLD)
    assert "do not surely carry" in said


def test_cores_with_which_the_path_failed_are_not_enough() -> None:
    made = [trial(2e9, F, n) for n in range(4)]
    made[2:] = [trials.changed(t, ok=False, fault=Fault.PATH) for t in made[2:]]
    (said,) = sizing(rung(RungName.SAME_VLAN, tcp(F, tuple(made), 1, cores=1)), SOLD)
    assert "do not surely carry" in said


def test_cores_for_both_directions_at_once_need_no_more_than_both_can_carry() -> None:
    each = SOLD.pass_ratio * ceiling(SOLD).bps * (1 + duplex_share(SOLD)) / 2  # between the two bars
    way = Direction.DUPLEX
    made = tuple(
        trials.changed(trial(2 * each, way, n), flows=(), by_direction={"forward": each, "reverse": each})
        for n in range(4)
    )
    said = sizing(rung(RungName.SAME_VLAN, tcp(way, made, 1, cores=1)), SOLD)
    assert len(said) == 2 and all("1 core at each end carries" in one for one in said)
