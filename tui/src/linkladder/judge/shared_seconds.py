"""Compares the seconds of a trial's flows, loads and ends with each other: they are of one time, and make one sum.

Needs flows with seconds of their own, or several loads, or samples of the ends. A long trial's flows have some seconds
joined; what differs in their length is not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from linkladder.model import LONG, Experiment, Interval, Outcome, Role, TrialResult
from linkladder.model.several_legs import CLOSE
from linkladder.phrases import contradictions as say

APART = 1.0  # seconds by which what is counted of a flow may begin or end beside what is counted of its load
AGREE = 0.02  # share by which a second may differ from what its flows make of it
SMALL = 1 << 16  # bytes; of less in a second nothing is said
AROUND = 30.0  # seconds by which an end may have looked at itself before a trial's first second, or after its time


def of_shared_seconds(t: TrialResult, p: Experiment) -> Iterable[str]:
    """Sentences on seconds of another time than the trial's, or that do not make its sums."""
    for one in t.loads:
        yield from _of_flows(one, p.duration <= LONG)
    yield from _of_loads(t, p)
    for end in t.ends:
        moments = [s.t for s in end.samples]
        if any(later <= first for first, later in pairwise(moments)):
            yield say.samples_out_of_order(end.name)
        if moments and t.seconds > 0 and (moments[0] < -AROUND or moments[-1] > t.seconds + AROUND):
            yield say.samples_of_another_time(end.name, moments[0], moments[-1], t.seconds)


def _of_flows(one: Outcome, short: bool) -> Iterable[str]:
    made: dict[tuple[float, float, str], list[int]] = {}
    for f in one.flows:
        for i in f.intervals:
            made.setdefault((i.start, i.end, f.direction), []).append(i.bytes)
        whole = _counted([i for i in one.intervals if i.direction is f.direction])
        mine = _counted(f.intervals)
        if whole and mine and max(abs(a - b) for a, b in zip(whole, mine, strict=True)) > APART:
            yield say.flow_of_another_time(*mine, *whole)
    for i in one.intervals if short else ():
        parts = made.get((i.start, i.end, i.direction), [])
        every = len(parts) == sum(f.direction is i.direction for f in one.flows) > 0
        if every and max(i.bytes, sum(parts)) > SMALL and abs(sum(parts) - i.bytes) > AGREE * max(i.bytes, sum(parts)):
            yield say.second_differs(i.start, i.bytes, sum(parts))


def _counted(seconds: Sequence[Interval]) -> tuple[float, float] | None:
    """From when to when a load or a flow was counted."""
    counted = [i for i in seconds if i.counted]
    return (min(i.start for i in counted), max(i.end for i in counted)) if counted else None


def _of_loads(t: TrialResult, p: Experiment) -> Iterable[str]:
    """Loads that began apart must be counted in the seconds that they share, and in no others."""
    loads = [g for g in t.legs if g.role is Role.LOAD and g.outcome.ok]
    moments = [g.began for g in loads]
    if len(loads) < 2 or max(moments) - min(moments) < CLOSE:
        return
    for g in loads:
        span = _counted(g.outcome.intervals)
        if span and (g.began + span[0] < max(moments) + p.warmup - APART):
            yield say.counted_alone(g.began + span[0], max(moments) + p.warmup)
