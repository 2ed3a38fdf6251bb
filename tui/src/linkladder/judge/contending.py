"""Finds the cells of a matrix that may still be clearly better than its best one, so that only those are repeated."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from linkladder.judge.stats import variance

CLOSE = 0.015  # what a cell may be better than the best one without being sought; with noise it is 2 % at most
UNKNOWN = 0.05  # scatter between repeats, as a share of the rate, that is assumed at least while few cells have two
LEAST = 0.005  # the smallest scatter that is assumed, as a few repeats may be alike by chance
FEW = 3  # repeats beyond each cell's first that tell the scatter
SURE = 2.5  # standard errors that the difference of two cells may be off


def contenders(cells: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """The best cell so far and those that may be better by more than `CLOSE`, the better first.

    All cells together tell the scatter. Cells without figures are left out.
    """
    means = {name: statistics.fmean(values) for name, values in cells.items() if values and min(values) > 0}
    if not means:
        return ()
    scatter = _scatter([cells[name] for name in means])
    best, *others = sorted(means, key=lambda name: -means[name])

    def may_be_better(name: str) -> bool:
        off = SURE * scatter * math.sqrt(1 / len(cells[name]) + 1 / len(cells[best]))
        return means[name] >= means[best] * (1 + CLOSE - off)

    return (best, *filter(may_be_better, others))


def _scatter(cells: Sequence[Sequence[float]]) -> float:
    """The scatter of single repeats, pooled over the cells, as a share of their mean."""
    several = [values for values in cells if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    squares = sum((len(v) - 1) * variance(v) / statistics.fmean(v) ** 2 for v in several)
    return max(UNKNOWN if freedom < FEW else LEAST, math.sqrt(squares / max(1, freedom)))
