"""Computes quantiles of Student's t for any confidence; standard library only."""

from __future__ import annotations

import math
from functools import cache


def inside(t: float, freedom: int) -> float:
    """The probability that Student's t lies within ±t; exact for whole degrees of freedom."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    if freedom % 2:
        term, total = cosine, cosine if freedom > 1 else 0.0
        for k in range(3, freedom - 1, 2):
            term *= cosine * cosine * (k - 1) / k
            total += term
        return 2 / math.pi * (angle + sine * total)
    term = total = 1.0
    for k in range(2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return sine * total


@cache
def quantile(confidence: float, freedom: int) -> float:
    """The t such that the share `confidence` of all values lies within ±t."""
    low, high = 0.0, 1.0
    while inside(high, freedom) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle, freedom) < confidence else (low, middle)
    return high
