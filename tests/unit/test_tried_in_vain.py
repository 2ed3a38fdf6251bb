"""A step of a staircase of which no trial counts: why, and what arrived all the same, in each direction by itself."""

from __future__ import annotations

from collections.abc import Mapping

import trials
from judge_documents import trial
from linkladder import plan as plans
from linkladder.judge.changes import changes
from linkladder.judge.staircase import staircase
from linkladder.model import Direction, ExperimentResult, Fault, RungName, RungResult, TrialResult
from staircases import PATHS

PLAN = """name = "p"
[[experiment]]
rungs = "same-vlan"
repeats = 4
direction = "duplex"
steps = [{settings = [{kind = "mtu", value = 9000}]}]
"""
DROPS = "no packet of 9000 bytes from 10.0.0.1 was answered by 10.0.0.2"
BOTH = {"forward": 287e6, "reverse": 286e6}


def one(n: int, rates: Mapping[str, float], **more: object) -> TrialResult:
    made = trials.changed(trial(sum(rates.values()), Direction.DUPLEX, n), flows=(), by_direction=dict(rates))
    return trials.changed(made, **more)


def measured(*jumbo: TrialResult) -> RungResult:
    plain, changed = plans.read_plan(PLAN).rungs[0].experiments
    base = ExperimentResult(plain, tuple(one(n, BOTH) for n in range(4)))
    return RungResult(RungName.SAME_VLAN, PATHS, (base, ExperimentResult(changed, jumbo)))


def test_what_happened_is_said_of_each_direction() -> None:
    """One of four trials gave figures, one way, and every trial was said to have failed or not to be borne out."""
    failed = [one(n, {}, ok=False, fault=Fault.PATH, reason=DROPS) for n in range(3)]
    half = one(3, {"forward": 120e6, "reverse": 0.0}, ok=False, fault=Fault.PATH, reason="nothing came back")
    result = measured(*failed, half)
    there, back, *_ = staircase(result, changes(result))
    why = f"With MTU 9000 none of 4 trials counts: 3 as {DROPS}, 1 as nothing came back"
    assert there.endswith(f"{why}; in 1 of them 120 Mb/s arrived all the same.")
    assert back.endswith(f"{why}.")


def test_one_reason_of_all_is_said_once() -> None:
    result = measured(*(one(n, {}, ok=False, fault=Fault.PATH, reason=f"{DROPS}.") for n in range(4)))
    for said in staircase(result, changes(result))[:2]:
        assert said.endswith(f"With MTU 9000 none of 4 trials counts: {DROPS}.")
    alone = measured(one(0, {}, ok=False, fault=Fault.PATH, reason=DROPS))
    assert f"With MTU 9000 the only trial does not count: {DROPS}." in staircase(alone, changes(alone))[0]


def test_why_figures_are_not_borne_out_is_said_beside_them() -> None:
    """Such a trial, which the judge takes for failed, gave figures both ways, and nobody learnt what is wrong."""
    failed = [one(n, {}, ok=False, fault=Fault.PATH, reason=DROPS) for n in range(3)]
    doubted = one(3, BOTH, ok=False, fault=Fault.TOOL, reason="repeat 4: the card counted 12 bytes.")
    result = measured(*failed, doubted)
    for said, rate in zip(staircase(result, changes(result)), ("287", "286"), strict=False):
        assert f"3 as {DROPS}, 1 as repeat 4: the card counted 12 bytes; in 1 of them {rate} Mb/s arrived" in said
