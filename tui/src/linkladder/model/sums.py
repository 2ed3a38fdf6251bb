"""Adds up what the legs of a trial measured; a single leg's figures stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from linkladder.model.hosts import NicCounters
from linkladder.model.printed import Interval, PathMtu, Rtt, Transactions
from linkladder.model.words import Direction

Number = TypeVar("Number", int, float)


def of_rates(legs: Sequence[dict[str, float]]) -> dict[str, float]:
    if len(legs) == 1:
        return legs[0]
    return {way: sum(leg.get(way, 0.0) for leg in legs) for way in dict.fromkeys(way for leg in legs for way in leg)}


def of_intervals(legs: Sequence[tuple[float, tuple[Interval, ...]]]) -> tuple[Interval, ...]:
    """The seconds of each direction, summed over legs that are given with when they began after the first."""
    if len(legs) == 1:
        return legs[0][1]
    seconds: dict[tuple[Direction, int], list[Interval]] = {}
    for began, intervals in legs:
        for one in intervals:
            seconds.setdefault((one.direction, round(one.start + began)), []).append(one)
    return tuple(of_second(parts) for _, parts in sorted(seconds.items(), key=lambda item: item[0]))


def of_second(parts: Sequence[Interval]) -> Interval:
    """The sum of one second of several legs; it is counted if it is counted for all of them."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return Interval(
        start=first.start,
        end=_end(parts),
        bytes=sum(one.bytes for one in parts),
        direction=first.direction,
        counted=all(one.counted for one in parts),
        retransmits=known([one.retransmits for one in parts]),
        rtt_ms=max((one.rtt_ms for one in parts if one.rtt_ms is not None), default=None),
        cwnd=known([one.cwnd for one in parts]),
        lost=known([one.lost for one in parts]),
        datagrams=known([one.datagrams for one in parts]),
        jitter_ms=max((one.jitter_ms for one in parts if one.jitter_ms is not None), default=None),
    )


def _end(parts: Sequence[Interval]) -> float:
    """The end with which all bytes make the sum of the legs' rates, as their last parts of a second are unlike long."""
    first = parts[0]
    rates = [one.bytes / (one.end - one.start) for one in parts if one.end > one.start]
    if sum(rates) <= 0 or all(one.end == first.end for one in parts):
        return first.end
    return first.start + sum(one.bytes for one in parts) / sum(rates)


def of_span(parts: Sequence[Interval]) -> Interval:
    """Successive seconds of one flow as one interval: counts are added, round trip, window and jitter averaged."""

    def mean(values: list[float | None]) -> float | None:
        found = [v for v in values if v is not None]
        return round(sum(found) / len(found), 3) if found else None

    cwnd = mean([one.cwnd for one in parts])
    return replace(
        parts[0],
        end=parts[-1].end,
        bytes=sum(one.bytes for one in parts),
        counted=all(one.counted for one in parts),
        retransmits=known([one.retransmits for one in parts]),
        rtt_ms=mean([one.rtt_ms for one in parts]),
        cwnd=None if cwnd is None else round(cwnd),
        lost=known([one.lost for one in parts]),
        datagrams=known([one.datagrams for one in parts]),
        jitter_ms=mean([one.jitter_ms for one in parts]),
    )


def of_nics(nics: Sequence[NicCounters]) -> NicCounters:
    if len(nics) == 1:
        return nics[0]
    added: dict[str, Any] = {}
    for counter in fields(NicCounters)[1:]:  # all but the name
        total = known([getattr(nic, counter.name) for nic in nics])
        added[counter.name] = counter.default if total is None else total
    return NicCounters(", ".join(nic.name for nic in nics), **added)


def of_transactions(legs: Sequence[Transactions | None]) -> Transactions | None:
    """Transactions of all legs: rates are added, means weighted by them, and of other latencies the worst is taken."""
    present = [one for one in legs if one is not None]
    if len(present) < 2:
        return present[0] if present else None
    rate = sum(one.rate for one in present)
    means = [one.mean_us for one in present if one.mean_us is not None]
    weighted = sum((one.mean_us or 0.0) * one.rate for one in present)
    mean = weighted / rate if len(means) == len(present) and rate else None

    def worst(values: list[float | None]) -> float | None:
        return max((v for v in values if v is not None), default=None)

    return replace(
        present[0],
        rate=rate,
        sessions=sum(one.sessions for one in present),
        mean_us=mean,
        p50_us=worst([one.p50_us for one in present]),
        p90_us=worst([one.p90_us for one in present]),
        p99_us=worst([one.p99_us for one in present]),
        min_us=min((one.min_us for one in present if one.min_us is not None), default=None),
        max_us=worst([one.max_us for one in present]),
    )


def slowest(series: Sequence[Rtt | None]) -> Rtt | None:
    """The series of pings with the longest typical round trip; one without an answer is the worst."""
    present = [one for one in series if one is not None]
    return max(present, key=lambda one: float("inf") if one.p50_ms is None else one.p50_ms) if present else None


def smallest(probes: Sequence[PathMtu | None]) -> PathMtu | None:
    present = [one for one in probes if one is not None]
    return min(present, key=lambda one: one.mtu or 0) if present else None


def known(values: Sequence[Number | None]) -> Number | None:
    """The sum of the values that are known; None if none is."""
    present = [value for value in values if value is not None]
    return sum(present) if present else None
