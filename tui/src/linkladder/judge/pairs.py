"""Judges changes that were measured with and without in pairs: each differs, is the same, or cannot be told.

The two trials of a pair run one after the other, in the other order every second time (A B, B A, A B ...), so that a
drift of the machine or the path cancels out. What is judged is the logarithm of B/A of each pair: by a paired t
interval, and from eight pairs on also by the exact signed-rank test, without which an outlier might decide. The number
of pairs is fixed beforehand: to look after each pair and stop at the first difference would find one in a sixth of the
cases in which there is none.

Of all figures that are judged together, one is wrongly told to differ in at most 5 % of all experiments (Holm): the
surest one must be as sure as if each had an equal share of the error, and hands its share on to those that are left.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkladder.judge.stats import deviation, middle
from linkladder.judge.student import inside
from linkladder.judge.three_answers import more_pairs, three_answers
from linkladder.verdicts import LEAST_PAIRS, Answer

ERROR = 0.05  # the share of experiments in which anything may be told to differ that does not
BAND = 0.02  # changes within 2 % do not matter
MOST_LOG = 700.0  # the logarithm of about the largest ratio that a float can hold; no machine reaches it
RANKED_PAIRS = 8  # below this the signed-rank test can hardly reach 5 %


@dataclass(frozen=True)
class Pairs:
    """One figure in every pair of trials, in the order of the pairs, and how to judge it."""

    a: Sequence[float]
    b: Sequence[float]
    band: float = BAND  # changes within this share do not matter
    least: float = 0.0  # added to every figure, so that zero is one as well, and changes far below this hardly count
    weight: float = 1.0  # its part of the error that all figures share
    floor: float = 0.0  # the logarithm of the largest ratio that the unchanged setting may have to itself

    def __post_init__(self) -> None:
        if len(self.a) != len(self.b):
            raise ValueError(f"{len(self.a)} figures of A and {len(self.b)} of B make no pairs")

    @property
    def logs(self) -> list[float]:
        """The logarithm of B/A of each pair; [] if these are too few, or any figure is not above zero."""
        if len(self.a) < LEAST_PAIRS or min(*self.a, *self.b) + self.least <= 0:
            return []
        return [math.log((y + self.least) / (x + self.least)) for x, y in zip(self.a, self.b, strict=True)]

    @property
    def middles(self) -> tuple[float, float]:
        """What A and B come to: of a figure whose ratio is told such as anybody can divide, else the medians."""
        of = statistics.median if self.least else middle
        return of(self.a), of(self.b)


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
    more_pairs: int | None = None  # if undecided: how many more pairs would decide; None if too many


def judge_together(family: Sequence[Pairs], error: float = ERROR) -> tuple[PairAnswer, ...]:
    """An answer for each figure, such that any is wrongly told to differ in at most this share of all experiments."""
    shares = _holm([(_chance(one.logs), one.weight) for one in family], error)
    return tuple(_judge(one, 1 - share) for one, share in zip(family, shares, strict=True))


def judge_pairs(
    a: Sequence[float], b: Sequence[float], comparisons: int = 1, band: float = BAND, least: float = 0.0
) -> PairAnswer:
    """Compare B with A pair by pair; `comparisons` is how many answers share the error.

    Needs at least four pairs with every figure above zero; else it is undecided. "Differs" needs an interval that does
    not contain 'no change' and an estimate beyond the band; "same" needs an interval within the band.
    """
    return _judge(Pairs(a, b, band, least), 1 - ERROR / max(1, comparisons))


def _judge(one: Pairs, confidence: float) -> PairAnswer:
    logs, count, edge = one.logs, len(one.a), math.log1p(one.band)
    if not logs:
        missing = LEAST_PAIRS - count if count < LEAST_PAIRS else None
        return PairAnswer(Answer.UNDECIDED, count, confidence=confidence, more_pairs=missing)
    mean = statistics.fmean(logs)
    scatter = deviation(logs)
    answer, low, high = three_answers(mean, scatter, count, confidence, edge)
    rank_p = signed_rank(logs) if count >= RANKED_PAIRS else None
    ratio, least, most = (_ratio(log) for log in (mean, low, high))
    found = PairAnswer(answer, count, ratio, least, most, confidence, rank_p)
    if rank_p is not None and (rank_p <= ERROR) != (_chance(logs) <= ERROR):
        stray = _farthest(logs)
        others = [*logs[:stray], *logs[stray + 1 :]]
        without, _, _ = three_answers(statistics.fmean(others), deviation(others), len(others), confidence, edge)
        found = replace(found, outlier=stray + 1 if without != answer else None)
    if answer is Answer.DIFFERS and abs(mean) <= one.floor:
        return replace(found, answer=Answer.UNDECIDED)
    if answer is Answer.UNDECIDED or (answer is Answer.DIFFERS and rank_p is not None and rank_p > ERROR):
        more = more_pairs(mean, scatter, count, confidence, edge)
        return replace(found, answer=Answer.UNDECIDED, more_pairs=more)
    return found


def _holm(figures: Sequence[tuple[float, float]], error: float) -> list[float]:
    """The share of the error at which each figure is judged; `figures`: the chance of each if nothing differs, and
    its weight.
    """
    left = dict(enumerate(figures))
    shares = [error] * len(figures)
    while left:
        whole = sum(weight for _, weight in left.values())
        for n, (_, weight) in left.items():
            shares[n] = error * weight / whole
        surest = min(left, key=lambda n: left[n][0] / left[n][1])
        if left.pop(surest)[0] > shares[surest]:
            break
    return shares


def _chance(logs: Sequence[float]) -> float:
    """The chance of a mean at least this far from zero if nothing differs (t test, two-sided)."""
    if not logs or (mean := statistics.fmean(logs)) == 0:
        return 1.0
    error = deviation(logs) / math.sqrt(len(logs))
    return 1 - inside(abs(mean) / error, len(logs) - 1) if error else 0.0


def _ratio(log: float) -> float:
    return math.exp(max(-MOST_LOG, min(MOST_LOG, log)))


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
    # Of each sum of the positive ranks one digit: how many sign patterns have it. All patterns together are less than
    # the largest digit, so none carries over, and the rest after a division by that digit is the sum of all digits.
    width = len(moved) + 1
    ways, largest = 1, (1 << width) - 1
    for rank in doubled:
        ways += ways << (rank * width)
    extreme = min(positive, sum(doubled) - positive)
    tail = (ways & ((1 << (extreme + 1) * width) - 1)) % largest
    return min(1.0, tail / (1 << (len(moved) - 1)))


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Twice the rank of each of the sorted sizes, so that shared ranks stay whole numbers."""
    ranks: list[int] = []
    while len(ranks) < len(sizes):
        first = len(ranks)
        same = sum(1 for size in sizes[first:] if size == sizes[first])
        ranks += [2 * first + same + 1] * same
    return ranks
