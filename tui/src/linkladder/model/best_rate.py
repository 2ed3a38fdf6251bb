"""Chooses the rate to show for a rung: TCP before UDP, one way before both; two directions are never added.

Of the best rates of the two directions it is the smaller one, as a link is held to what its worse way carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linkladder.model.asked import Experiment
from linkladder.model.results import TrialResult
from linkladder.model.words import Direction, Protocol

Ranked = tuple[int, float]  # weight, then b/s of one direction: the greater one is that direction's best
NONE: Ranked = (0, 0.0)
Ways = Mapping[str, Ranked]  # the best of each direction


def weight(experiment: Experiment) -> int:
    """Which rates are preferred: 2 for TCP one way, 1 for TCP both ways at once, 0 for everything else."""
    if experiment.protocol is not Protocol.TCP:
        return 0
    return 1 if experiment.direction is Direction.DUPLEX else 2


def one_way(result: TrialResult) -> float:
    """A trial's goodput; of both ways at once that of the worse direction."""
    return result.by_direction.get(worse_way(result.by_direction), result.goodput_bps)


def worse_way(by_direction: Mapping[str, float]) -> str:
    """The direction that carries less, which is what a link is held to; '' where none is known."""
    return min(by_direction, key=lambda way: by_direction[way], default="")


def of_ways(experiment: Experiment, result: TrialResult) -> Ways:
    """What a trial carried in each direction."""
    rates = result.by_direction or {experiment.direction.value: result.goodput_bps}
    return {way: (weight(experiment), bps) for way, bps in rates.items()}


def best_of_ways(found: Iterable[Ways]) -> Ways:
    """The best of each direction in several."""
    ranked: dict[str, Ranked] = {}
    for way, one in (pair for ways in found for pair in ways.items()):
        ranked[way] = best((ranked.get(way, NONE), one))
    return ranked


def shown(ways: Ways) -> float:
    """The rate to show: of the directions that have the preferred kind of rate, the worse one's; 0 without any."""
    preferred, _ = best(ways.values())
    rates = {way: bps for way, (kind, bps) in ways.items() if kind == preferred and bps > 0}
    return rates.get(worse_way(rates), 0.0)


def best(ranked: Iterable[Ranked]) -> Ranked:
    """The preferred one of those that carried anything, NONE without any."""
    return max((s for s in ranked if s[1] > 0), default=NONE)
