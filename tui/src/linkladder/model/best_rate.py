"""Chooses the rate to show for a rung: TCP before UDP, one way before both; two directions are never added."""

from __future__ import annotations

from collections.abc import Iterable

from linkladder.model.asked import Experiment
from linkladder.model.results import TrialResult
from linkladder.model.words import Direction, Protocol

Ranked = tuple[int, float]  # weight, then b/s of one direction: the greater one is shown
NONE: Ranked = (0, 0.0)


def weight(experiment: Experiment) -> int:
    """Which rates are preferred: 2 for TCP one way, 1 for TCP both ways at once, 0 for everything else."""
    if experiment.protocol is not Protocol.TCP:
        return 0
    return 1 if experiment.direction is Direction.DUPLEX else 2


def one_way(result: TrialResult) -> float:
    """A trial's goodput; of both ways at once that of the better direction."""
    return max(result.by_direction.values(), default=result.goodput_bps)


def best(ranked: Iterable[Ranked]) -> Ranked:
    """The preferred one of those that carried anything, NONE without any."""
    return max((s for s in ranked if s[1] > 0), default=NONE)
