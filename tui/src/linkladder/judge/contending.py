"""Which cells of a matrix may still be its best: short looks at all of them, then repeats where it is close."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

UNKNOWN = 0.05  # scatter between repeats, as a share of the rate, while no cell has two
LEAST = 0.01  # less is not believed of a few repeats
SURE = 2.0  # standard errors by which a cell must stay behind to be left


def contenders(cells: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """Those that may be the best, by the scatter that all cells show together; a cell without figures is none."""
    means = {name: statistics.fmean(values) for name, values in cells.items() if values and min(values) > 0}
    if not means:
        return frozenset()
    scatter = _scatter([cells[name] for name in means])
    best = max(means, key=lambda name: means[name])

    def reach(name: str, side: float) -> float:
        return means[name] * (1 + side * SURE * scatter / math.sqrt(len(cells[name])))

    return frozenset(name for name in means if name == best or reach(name, 1) >= reach(best, -1))


def _scatter(cells: Sequence[Sequence[float]]) -> float:
    """Of single repeats, pooled over the cells, as a share of their mean."""
    several = [values for values in cells if len(values) > 1]
    if not several:
        return UNKNOWN
    freedom = sum(len(values) - 1 for values in several)
    squares = sum((len(v) - 1) * statistics.variance(v) / statistics.fmean(v) ** 2 for v in several)
    return max(LEAST, math.sqrt(squares / freedom))
