"""One trial written down twice is found by its odd seconds; a shaper's equal ones are none."""

from __future__ import annotations

from linkladder.judge.copies import copies
from linkladder.model import (
    Direction,
    Document,
    Experiment,
    ExperimentResult,
    Interval,
    Leg,
    Outcome,
    Plan,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    TrialResult,
)

EVEN = 23913720  # 16515 segments: what a bucket of 200 Mb/s let through in most seconds of real trials
FIRST = [23998632, EVEN, 23848560, *[EVEN] * 10, 3543736]
SECOND = [23985560, EVEN, EVEN, EVEN, EVEN, 23881864, *[EVEN] * 7, 1557424]


def copied(*trials: list[int]) -> bool:
    made = tuple(trial(n, seconds) for n, seconds in enumerate(trials))
    p = Experiment("tcp", duration=14.0, repeats=len(made))
    rung = RungResult(RungName.DC_LINK, experiments=(ExperimentResult(p, made),))
    plan = Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=(p,)),))
    document = Document(RunInfo("r", "2026-11-22T10:00:00+00:00", plan, RunState.COMPLETE), (rung,))
    return bool(copies(rung, document))


def trial(number: int, seconds: list[int]) -> TrialResult:
    intervals = tuple(Interval(float(n), n + 1.0, size, Direction.FORWARD, True) for n, size in enumerate(seconds))
    total = sum(seconds) * 8 / len(seconds)
    outcome = Outcome(True, goodput_bps=total, by_direction={"forward": total}, intervals=intervals)
    return TrialResult(f"t{number}", number, (Leg(outcome),))


def test_seconds_that_a_shaper_makes_equal_are_no_copy() -> None:
    assert not copied(FIRST, SECOND)
    assert not copied([FIRST[0], EVEN, EVEN, EVEN], [FIRST[0], EVEN, EVEN, EVEN]), "short, and one odd value alone"


def test_the_same_odd_seconds_are_one_trial() -> None:
    assert copied(FIRST, FIRST)
    changed = [23000000 + 71 * n for n in range(14)]
    assert copied(changed, [*changed[:3], 1, *changed[4:9], 2, *changed[10:]]), "also where two were altered"
    assert copied([1, 5, 9, 9], [1, 5, 9, 9])
