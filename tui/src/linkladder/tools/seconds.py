"""Adds flows up second by second, and computes rates over the counted seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linkladder.model import Direction, Experiment, Flow, Interval

SHARED = 0.98  # share of the counted time that flows starting a moment apart still have in common
RECOVERS = 1.0  # seconds to add on either side: an end checks itself once a second, and TCP waits before it goes on
EDGE = 0.02  # tolerance in seconds: times have two decimals, and a clock is read a little late


def counted(exp: Experiment, start: float, end: float, lateness: float = EDGE) -> bool:
    """Whether an interval counts: it lies after the warm-up and ends in time, or at most `lateness` seconds late."""
    return (
        start >= exp.warmup - EDGE
        and start < exp.warmup + exp.duration - EDGE
        and (end <= exp.warmup + exp.duration + lateness)
    )


def closed_late(exp: Experiment, summed: Iterable[Interval]) -> float:
    """How long after the planned end a busy end closed the last second, if that is too late to count it; else 0."""
    planned = exp.warmup + exp.duration
    late = (i.end - planned for i in summed if not i.counted and exp.warmup - EDGE <= i.start < planned - EDGE)
    return max((by for by in late if by > EDGE), default=0.0)


def together(flows: Iterable[Sequence[Interval]], way: Direction) -> list[Interval]:
    """The sum over all flows for each second; a second counts if it counts in every flow."""
    seconds: dict[int, list[Interval]] = {}
    for one in flows:
        for interval in one:
            seconds.setdefault(round(interval.start), []).append(interval)
    summed = []
    for _, parts in sorted(seconds.items()):
        rtts = [p.rtt_ms for p in parts if p.rtt_ms is not None]
        lost, datagrams, jitter = losses_of(parts)
        summed.append(
            Interval(
                min(p.start for p in parts),
                max(p.end for p in parts),
                sum(p.bytes for p in parts),
                way,
                all(p.counted for p in parts),
                known_sum(p.retransmits for p in parts),
                sum(rtts) / len(rtts) if rtts else None,
                known_sum(p.cwnd for p in parts),
                lost,
                datagrams,
                jitter,
            )
        )
    return summed


def within(still: Iterable[tuple[float, float]], since: float, until: float) -> float:
    """How many seconds of a span an end stood still, with the time that traffic takes to stop and to go on."""
    covered, reached = 0.0, since
    for begin, end in sorted(still):
        begin, end = max(begin - RECOVERS, reached), min(end + RECOVERS, until)
        if end > begin:
            covered, reached = covered + end - begin, end
    return covered


def all_within(still: Sequence[tuple[float, float]], since: float, until: float) -> bool:
    """Whether an end stood still for a span but for less than a second of it."""
    return bool(still) and until - since - within(still, since, until) < 1.0


def rate(intervals: Sequence[Interval]) -> float:
    """The rate in bits per second over the counted intervals."""
    covered = span(intervals)
    return sum(i.bytes for i in intervals if i.counted) * 8 / covered if covered > 0 else 0.0


def of_the_same_time(flow: Flow, summed: Sequence[Interval]) -> Flow:
    """The flow with its rate over the time of all flows, if a busy receiver counted it for a shorter time."""
    own, whole = span(flow.intervals), span(summed)
    return replace(flow, bps=flow.bytes * 8 / whole) if 0 < own < SHARED * whole else flow


def span(intervals: Sequence[Interval]) -> float:
    """Seconds from the start of the first counted interval to the end of the last one."""
    good = [i for i in intervals if i.counted]
    return max((i.end for i in good), default=0.0) - min((i.start for i in good), default=0.0)


def losses(flows: Sequence[Flow]) -> tuple[int | None, int | None, float | None]:
    """Lost datagrams, all datagrams and the mean jitter in ms over all flows, in the counted window."""
    jitters = [f.jitter_ms for f in flows if f.jitter_ms is not None]
    return (
        known_sum(f.lost for f in flows),
        known_sum(f.datagrams for f in flows),
        sum(jitters) / len(jitters) if jitters else None,
    )


def losses_of(parts: Sequence[Interval]) -> tuple[int | None, int | None, float | None]:
    jitters = [p.jitter_ms for p in parts if p.jitter_ms is not None and (p.datagrams or 0) > 0]
    return (
        known_sum(p.lost for p in parts),
        known_sum(p.datagrams for p in parts),
        sum(jitters) / len(jitters) if jitters else None,
    )


def known_sum(values: Iterable[int | None]) -> int | None:
    """The sum of the known values; None if there are none."""
    known = [v for v in values if v is not None]
    return sum(known) if known else None
