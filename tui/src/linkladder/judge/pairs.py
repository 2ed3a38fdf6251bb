"""Judges one change that was measured with and without it in pairs: differs, is the same, or cannot be told.

The two trials of a pair run one after the other, in the other order every second time (A B, B A, A B ...), so that a
drift of the machine or the path cancels out. What is judged is the logarithm of B/A of each pair: by a paired t
interval, and from eight pairs on also by the exact signed-rank test. The number of pairs is fixed beforehand: to look
after each pair and stop at the first difference would find one in a sixth of the cases in which there is none.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from linkladder.judge.student import quantile
from linkladder.verdicts import Answer

BAND = 0.02  # changes within 2 % do not matter
MOST_LOG = 700.0  # the logarithm of about the largest ratio that a float can hold; no machine reaches it
LEAST_PAIRS = 4
RANKED_PAIRS = 8  # below this the signed-rank test can hardly reach 5 %


@dataclass(frozen=True)
class PairAnswer:
    """What the pairs of one figure show about B compared with A; ratios are B/A, so 1.05 is 5 % more."""

    answer: Answer
    pairs: int
    ratio: float | None = None
    low: float | None = None  # of the interval at `confidence`
    high: float | None = None
    confidence: float = 0.95
    rank_p: float | None = None  # two-sided, exact; from eight pairs on
    outlier: int | None = None  # if the tests disagree: the most extreme pair, counted from 1, if it decides the answer
    more_pairs: int | None = None  # if undecided: about how many more pairs would decide


def judge_pairs(a: Sequence[float], b: Sequence[float], comparisons: int = 1, band: float = BAND) -> PairAnswer:
    """Compare B with A pair by pair; `comparisons` is how many answers are given from one experiment.

    Needs at least four pairs with every figure above zero; else it is undecided. "Differs" needs an interval that does
    not contain 'no change' and an estimate beyond the band; "same" needs an interval within the band.
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} figures of A and {len(b)} of B make no pairs")
    confidence = 1 - 0.05 / max(1, comparisons)
    if len(a) < LEAST_PAIRS:
        return PairAnswer(Answer.UNDECIDED, len(a), confidence=confidence, more_pairs=LEAST_PAIRS - len(a))
    if min(*a, *b) <= 0:
        return PairAnswer(Answer.UNDECIDED, len(a), confidence=confidence)
    logs = [math.log(y / x) for x, y in zip(a, b, strict=True)]
    edge = math.log1p(band)
    answer, low, high = _answer(logs, confidence, edge)
    p = signed_rank(logs) if len(logs) >= RANKED_PAIRS else None
    more = _more_pairs(len(logs), statistics.stdev(logs), edge) if answer == Answer.UNDECIDED else None
    outlier = None
    if p is not None and (low > 0 or high < 0) != (p < 1 - confidence):
        stray = _farthest(logs)
        if _answer([*logs[:stray], *logs[stray + 1 :]], confidence, edge)[0] != answer:
            outlier = stray + 1
    ratio, least, most = (_ratio(log) for log in (statistics.fmean(logs), low, high))
    return PairAnswer(answer, len(logs), ratio, least, most, confidence, p, outlier, more)


def _answer(logs: Sequence[float], confidence: float, edge: float) -> tuple[Answer, float, float]:
    """What these logarithms show by the t interval, and the interval."""
    mean = statistics.fmean(logs)
    half = quantile(confidence, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = mean - half, mean + half
    if (low > 0 or high < 0) and abs(mean) > edge:
        return Answer.DIFFERS, low, high
    return Answer.SAME if -edge <= low and high <= edge else Answer.UNDECIDED, low, high


def _ratio(log: float) -> float:
    return math.exp(max(-MOST_LOG, min(MOST_LOG, log)))


def _more_pairs(have: int, deviation: float, edge: float) -> int:
    """How many more pairs would make the interval about as narrow as the band."""
    return max(1, math.ceil((2 * deviation / edge) ** 2) + 2 - have)


def _farthest(logs: Sequence[float]) -> int:
    middle = statistics.median(logs)
    return max(range(len(logs)), key=lambda i: abs(logs[i] - middle))


def signed_rank(values: Sequence[float]) -> float:
    """The two-sided p of Wilcoxon's signed-rank test, exact for the ranks at hand; ties share their mean rank."""
    moved = sorted((v for v in values if v != 0), key=abs)
    if not moved:
        return 1.0
    doubled = _doubled_ranks([abs(v) for v in moved])
    positive = sum(rank for rank, v in zip(doubled, moved, strict=True) if v > 0)
    ways = {0: 1}  # sum of the positive ranks -> how many sign patterns have it
    for rank in doubled:
        after = dict(ways)
        for total, count in ways.items():
            after[total + rank] = after.get(total + rank, 0) + count
        ways = after
    extreme = min(positive, sum(doubled) - positive)
    tail = sum(count for total, count in ways.items() if total <= extreme)
    return min(1.0, tail / (1 << (len(moved) - 1)))


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Twice the rank of each of the sorted sizes, so that shared ranks stay whole numbers."""
    ranks: list[int] = []
    while len(ranks) < len(sizes):
        first = len(ranks)
        same = sum(1 for size in sizes[first:] if size == sizes[first])
        ranks += [2 * first + same + 1] * same
    return ranks
