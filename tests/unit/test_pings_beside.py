"""Pings lost beside a load: told where the load went on, and left to the outage where it did not."""

from __future__ import annotations

import pytest

from linkladder.judge.pinged import pinged
from linkladder.model import (
    Direction,
    Experiment,
    ExperimentResult,
    Interval,
    Leg,
    Outcome,
    Role,
    Rtt,
    RungName,
    RungResult,
    TrialResult,
)


def measured(dead: int, lost: int) -> RungResult:
    """A trial of twenty seconds, so many of them without anything; 100 pings, so many of them without an answer."""
    p = Experiment("e", duration=20.0, warmup=0.0, ping_under_load=True)
    seconds = tuple(
        Interval(float(n), n + 1.0, 0 if 5 <= n < 5 + dead else 12_000_000, Direction.FORWARD, True) for n in range(20)
    )
    load = Leg(Outcome(True, goodput_bps=9e7, by_direction={"forward": 9e7}, intervals=seconds))
    ping = Leg(Outcome(True, rtt=Rtt(100, 100 - lost, 1.0, 1.1, 1.2)), Role.PING)
    return RungResult(RungName.DC_LINK, experiments=(ExperimentResult(p, (TrialResult("t", 0, (load, ping)),)),))


@pytest.mark.parametrize(("dead", "lost", "told"), [(0, 30, True), (4, 20, False), (4, 60, True), (0, 4, False)])
def test_pings_of_an_outage_are_its_own(dead: int, lost: int, told: bool) -> None:
    assert bool(pinged(measured(dead, lost))) is told
