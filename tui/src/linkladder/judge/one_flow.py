"""Tells whether the rate of a single flow is the way's own, so that it may be taken for the rate of a bundle's member.

Needs what held the flow: a queue or the ceiling of the way. A window, a busy end and lost packets hold each flow by
itself, so that many flows get many times as much over a single link too.
"""

from __future__ import annotations

from linkladder.judge.evidence import gather
from linkladder.judge.limiters import holds_each_flow, limiter_of
from linkladder.model import Contract, Direction, Experiment, RungName, RungResult, TrialResult
from linkladder.verdicts import LimiterKind


def held_by(trial: TrialResult, p: Experiment, deal: Contract, rung: RungResult, way: Direction) -> LimiterKind | None:
    """What held the flow, or may have; None: the way itself."""
    bounded = rung.name is RungName.DC_LINK
    seen = gather(trial, p, deal, way, rung, bounded)
    measured = None not in (seen.sender_busy, seen.receiver_busy, seen.loaded_ms or seen.idle_ms)
    return holds_each_flow(limiter_of(seen, bounded), measured)
