"""Computes medians, Student's t intervals and differences of means; standard library only."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from linkladder.judge.student import quantile
from linkladder.verdicts import Spread

# Two-sided 95 % quantiles of Student's t for 1..30 degrees of freedom; above, the normal one plus a correction.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def t95(freedom: float) -> float:
    """The two-sided 95 % quantile; fractional degrees are rounded down, which widens the interval."""
    if freedom < 1:
        return math.inf
    if freedom <= len(_T95):
        return _T95[math.floor(freedom) - 1]
    return 1.960 + 2.5 / freedom  # 2.040 at 31, never below the true value there


def variance(values: Sequence[float]) -> float:
    """Of at least two values, exactly 0 if all are equal; `statistics` takes ten times as long, as it has fractions."""
    above = [value - values[0] for value in values]
    mean = math.fsum(above) / len(above)
    return math.fsum((one - mean) * (one - mean) for one in above) / (len(above) - 1)


def deviation(values: Sequence[float]) -> float:
    return math.sqrt(variance(values))


def variation(values: Sequence[float], least: int = 2) -> float | None:
    """The deviation as a share of the mean; None below so many values, and where the mean is not above zero."""
    if len(values) < least or (mean := statistics.fmean(values)) <= 0:
        return None
    return deviation(values) / mean


def middle(values: Sequence[float]) -> float:
    """Their geometric mean, the ratio of which is the mean ratio of pairs; the median where one is not above zero."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if min(values) > 0 else statistics.median(values)


def half_width(values: Sequence[float], confidence: float = 0.95) -> float | None:
    """Half of the t interval of the mean; None below two values."""
    if len(values) < 2:
        return None
    t = t95(len(values) - 1) if confidence == 0.95 else quantile(confidence, len(values) - 1)
    return t * deviation(values) / math.sqrt(len(values))


def effective(values: Sequence[float]) -> float:
    """How many independent values these successive values are worth, by the correlation of each with the next."""
    count, mean = len(values), statistics.fmean(values)
    total = sum((v - mean) ** 2 for v in values)
    if count < 3 or total == 0:
        return float(count)
    near = sum((a - mean) * (b - mean) for a, b in itertools.pairwise(values)) / total
    near = min(0.95, max(0.0, near + (1 + 3 * near) / count))  # a short series understates it (Kendall 1954)
    return max(2.0, count * (1 - near) / (1 + near))


def half_width_of_neighbours(values: Sequence[float]) -> float | None:
    """Half of the t interval of the mean of a trial's seconds, which are not independent; None below two values."""
    if len(values) < 2:
        return None
    worth = effective(values)
    return t95(worth - 1) * deviation(values) / math.sqrt(worth)


def spread(values: Sequence[float], basis: str = "repeats", confidence: float = 0.95) -> Spread:
    """Median, range, mean, t interval and coefficient of variation of at least one value."""
    mean = statistics.fmean(values)
    half = half_width(values, confidence) or 0.0
    return Spread(
        count=len(values),
        median=statistics.median(values),
        minimum=min(values),
        maximum=max(values),
        mean=mean,
        low=max(0.0, mean - half),
        high=mean + half,
        cv=variation(values),
        basis=basis if len(values) > 1 else "none",
    )


def difference(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> tuple[float, float | None]:
    """The mean of b less that of a, and half its interval (Welch); None for that if either has only one value."""
    change = statistics.fmean(b) - statistics.fmean(a)
    if len(a) < 2 or len(b) < 2:
        return change, None
    va, vb = variance(a) / len(a), variance(b) / len(b)
    if va + vb == 0:
        return change, 0.0
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return change, quantile(confidence, max(1, math.floor(freedom))) * math.sqrt(va + vb)
