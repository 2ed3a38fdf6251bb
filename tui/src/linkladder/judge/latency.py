"""Grades the latency of a full link, by the round trips beside TCP in each direction.

Needs pings beside the load (`ping_under_load`) and idle ones. Of the two ends' pings beside the load the slower ones
count; the round trip that TCP itself saw comes from the sending end, which is the far end in reverse direction. All
repeats of the best setting are taken together.
"""

from __future__ import annotations

import itertools
import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from linkladder.model import Direction, End, Protocol, RungResult
from linkladder.verdicts import Bucket, ExperimentJudgement, Latency

# A grade is given if the 95th percentile under load rises by less than this over the idle median, in ms.
GRADES = ((5.0, "A+"), (30.0, "A"), (60.0, "B"), (200.0, "C"), (400.0, "D"))
WORST = "F"
LEAST = 10  # samples below which nothing is said
EDGES = tuple(step * 10.0**power for power in range(-2, 5) for step in (1, 2, 5))  # ms


class Times:
    """Sorted round trips in ms, each value with how often it was seen, as a long run has many with few values."""

    def __init__(self, seen: Iterable[float]) -> None:
        self.each = sorted(Counter(seen).items())
        self._until = list(itertools.accumulate(count for _, count in self.each))
        self.total = self._until[-1] if self._until else 0

    def _at(self, place: int) -> float:
        return self.each[bisect_right(self._until, place)][0]

    @property
    def median(self) -> float:
        return (self._at((self.total - 1) // 2) + self._at(self.total // 2)) / 2

    def quantile(self, share: float) -> float:
        """The value below which this share of the round trips lie, interpolated between neighbours."""
        place = share * (self.total - 1)
        low = int(place)
        first = self._at(low)
        return first + (self._at(min(low + 1, self.total - 1)) - first) * (place - low)


def latency(rung: RungResult, chosen: dict[str, ExperimentJudgement]) -> tuple[Latency, ...]:
    """One record for each direction whose best setting had pings beside it."""
    idle = [
        ms
        for e in rung.experiments
        if e.parameters.protocol is Protocol.ECHO
        for t in e.trials
        if t.ok and t.rtt is not None
        for ms in t.rtt.samples_ms
    ]
    found = (_one(rung, way, j, statistics.median(idle) if idle else None) for way, j in chosen.items())
    return tuple(one for one in found if one is not None)


def _one(rung: RungResult, way: str, j: ExperimentJudgement, idle: float | None) -> Latency | None:
    trials = [t for e in rung.experiments if e.parameters.id == j.experiment for t in e.trials if t.ok]
    of_ends = {by: [r.samples_ms for t in trials if (r := t.pinged_under_load(by))] for by in End}
    known = {by: times for by, series in of_ends.items() if (times := _times(series)).total >= LEAST}
    if not known:
        return None
    slower = max(known, key=lambda by: known[by].quantile(0.95))
    series, samples = of_ends[slower], known[slower]
    moves = (abs(b - a) for one in series for a, b in itertools.pairwise(one))
    several = any(len(one) > 1 for one in series)
    tcp = Times(
        i.rtt_ms for t in trials for i in t.intervals if i.counted and i.direction == way and i.rtt_ms is not None
    )
    p95 = samples.quantile(0.95)
    return Latency(
        direction=way,
        samples=samples.total,
        idle_ms=idle,
        median_ms=samples.median,
        p95_ms=p95,
        p99_ms=samples.quantile(0.99),
        jitter_ms=statistics.fmean(moves) if several else 0.0,
        tcp_ms=tcp.median if tcp.total else None,
        tcp_end=trials[0].sender(Direction(way)).name if tcp.total else "",
        grade=grade(p95 - idle) if idle is not None else "",
        histogram=_histogram(samples),
        pinged_by=str(slower),
    )


def _times(series: Iterable[Sequence[float]]) -> Times:
    return Times(ms for one in series for ms in one)


def grade(rise_ms: float) -> str:
    return next((name for most, name in GRADES if rise_ms < most), WORST)


def _histogram(times: Times) -> tuple[Bucket, ...]:
    """The buckets from the first with a sample to the last; values beyond the edges are in the outermost buckets."""
    counts = [0] * (len(EDGES) - 1)
    for ms, count in times.each:
        counts[max(0, min(len(counts), sum(edge <= ms for edge in EDGES)) - 1)] += count
    used = [n for n, count in enumerate(counts) if count]
    return tuple(Bucket(EDGES[n], EDGES[n + 1], counts[n]) for n in range(used[0], used[-1] + 1))
