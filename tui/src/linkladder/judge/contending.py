"""Finds the cells of a matrix that may still be its best, so that after a first round only those are repeated."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

UNKNOWN = 0.05  # scatter between repeats that is assumed while no cell has two, as a share of the rate
LEAST = 0.01  # the smallest scatter that is assumed, as a few repeats may be alike by chance
SURE = 2.0  # standard errors that a cell's mean may be off in either direction


def contenders(cells: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """The cells that may be the best, by the scatter of all cells together; cells without figures are left out."""
    means = {name: statistics.fmean(values) for name, values in cells.items() if values and min(values) > 0}
    if not means:
        return frozenset()
    scatter = _scatter([cells[name] for name in means])
    best = max(means, key=lambda name: means[name])

    def reach(name: str, side: float) -> float:
        return means[name] * (1 + side * SURE * scatter / math.sqrt(len(cells[name])))

    return frozenset(name for name in means if name == best or reach(name, 1) >= reach(best, -1))


def _scatter(cells: Sequence[Sequence[float]]) -> float:
    """The scatter of single repeats, pooled over the cells, as a share of their mean."""
    several = [values for values in cells if len(values) > 1]
    if not several:
        return UNKNOWN
    freedom = sum(len(values) - 1 for values in several)
    squares = sum((len(v) - 1) * statistics.variance(v) / statistics.fmean(v) ** 2 for v in several)
    return max(LEAST, math.sqrt(squares / freedom))
