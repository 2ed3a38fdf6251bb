"""Two loads of one trial that are alike in all that is told are one; those that are alike in their bytes are not."""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.contradictions import contradiction
from linkladder.model import Direction, Experiment, Flow, Interval, Leg, Outcome, TrialResult

F = Direction.FORWARD
ODD = [23998632, 23913720, 23848560, 23881864, 23985560]


def load(path: int, rtt_ms: float | None) -> Leg:
    seconds = tuple(
        Interval(float(n), n + 1.0, size, F, True, 0, None if rtt_ms is None else rtt_ms + n / 10)
        for n, size in enumerate(ODD)
    )
    total, bps = sum(ODD), sum(ODD) * 8 / len(ODD)
    flow = Flow(0, F, f"10.0.{path}.1", 5301, f"10.0.{path}.2", 40000, total, bps, total, 5.0, intervals=seconds)
    plain = tuple(replace(one, rtt_ms=None) for one in seconds)
    outcome = Outcome(True, goodput_bps=bps, by_direction={"forward": bps}, flows=(flow,), intervals=plain)
    return Leg(outcome, path=path)


def said(*round_trips: float | None) -> str:
    legs = tuple(load(n, rtt) for n, rtt in enumerate(round_trips))
    trial = TrialResult("t", 0, legs, seconds=6.0)
    return contradiction(trial, Experiment("tcp", duration=5.0, warmup=0.0))


def test_equal_buckets_let_the_same_through_and_are_not_one_load() -> None:
    assert not said(4.0, 5.0)


def test_a_load_written_down_twice_is_one() -> None:
    assert "written down twice" in said(4.0, 4.0)
    assert "written down twice" in said(None, None), "of what nobody told nothing can be unlike"
