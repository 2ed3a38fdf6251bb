"""Gives one of three answers from the mean and the deviation of logarithms of B/A: differs, same, or undecided.

How many more pairs would tell is found from what these pairs leave open. The true change and the true deviation are
drawn as the pairs at hand allow (Student's t and chi-squared, without any prior opinion), a new run of so many pairs is
drawn for each, and the least number is taken with which four out of five of these runs get an answer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache, lru_cache

from linkladder.judge.student import quantile
from linkladder.verdicts import MOST_MORE, Answer

CHANCE = 0.8  # of an answer, with as many pairs as are proposed
DRAWS = 500


def three_answers(
    mean: float, deviation: float, pairs: int, confidence: float, edge: float
) -> tuple[Answer, float, float]:
    """The answer, and the interval of the mean; `edge` is the logarithm of the least change that matters."""
    half = quantile(confidence, pairs - 1) * deviation / math.sqrt(pairs)
    low, high = mean - half, mean + half
    if (low > 0 or high < 0) and abs(mean) > edge:
        return Answer.DIFFERS, low, high
    return Answer.SAME if -edge <= low and high <= edge else Answer.UNDECIDED, low, high


@lru_cache(maxsize=4096)  # a run is judged again with every look at it
def more_pairs(mean: float, deviation: float, pairs: int, confidence: float, edge: float) -> int | None:
    """How many more pairs would tell in four of five cases; None if so many are not worth it."""
    if _chance(mean, deviation, pairs, pairs + MOST_MORE, confidence, edge) < CHANCE:
        return None
    few, enough = 0, MOST_MORE
    while enough - few > 1:
        middle = (few + enough) // 2
        enough_so = _chance(mean, deviation, pairs, pairs + middle, confidence, edge) >= CHANCE
        few, enough = (few, middle) if enough_so else (middle, enough)
    return enough


def _chance(mean: float, deviation: float, pairs: int, wanted: int, confidence: float, edge: float) -> float:
    """The share of new runs of `wanted` pairs that get an answer."""
    sure = quantile(confidence, wanted - 1) / math.sqrt(wanted) * deviation
    answers = 0
    for off, wide in _draws(pairs, wanted):
        size, half = abs(mean + off * deviation), sure * wide
        if (size > edge and size > half) or size + half <= edge:
            answers += 1
    return answers / DRAWS


@cache
def _draws(pairs: int, wanted: int) -> Sequence[tuple[float, float]]:
    """By how much the mean of a new run may be off the present one, and its deviation, both in present deviations."""
    dice = random.Random(f"{pairs} {wanted}")
    drawn = []
    for _ in range(DRAWS):
        true = math.sqrt((pairs - 1) / _chi_squared(dice, pairs - 1))
        off = dice.gauss(0, true * math.sqrt(1 / pairs + 1 / wanted))
        drawn.append((off, true * math.sqrt(_chi_squared(dice, wanted - 1) / (wanted - 1))))
    return tuple(drawn)


def _chi_squared(dice: random.Random, freedom: int) -> float:
    return dice.gammavariate(freedom / 2, 2)
