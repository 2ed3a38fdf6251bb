"""Divides a trial's load among its legs, and counts all legs over the seconds that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkladder.model import sums
from linkladder.model.asked import Experiment
from linkladder.model.printed import Flow, Interval
from linkladder.model.results import Outcome
from linkladder.model.words import Company, Fault

CLOSE = 0.1  # seconds: legs that began so close together are counted as they are
EDGE = 0.05  # an interval may begin or end so much outside of what is counted


def share(exp: Experiment, paths: int) -> Experiment:
    """The load of one of so many paths: its part of a paced rate, and everything else as asked for."""
    return exp if exp.udp_rate_bps is None else replace(exp, udp_rate_bps=exp.udp_rate_bps / paths)


def parts(others: int) -> int:
    """How many parts of equal length a trial has in which so many other paths come and go, one in every second part."""
    return 2 * others + 1


def loads(exp: Experiment, paths: int) -> tuple[tuple[float | None, Experiment], ...]:
    """Each path's load; of a path that comes and goes also how many seconds after the start it comes, else None."""
    if exp.company is Company.VISITED:
        return ((None, exp), *_visits(exp, paths - 1))
    return ((None, share(exp, paths)),) * paths


def _visits(exp: Experiment, others: int) -> tuple[tuple[float, Experiment], ...]:
    part = exp.duration / parts(others)
    load = replace(exp, warmup=1.0, duration=part - 1.0, ping_under_load=False, client_port=None)
    return tuple((exp.warmup + part * (2 * n + 1), load) for n in range(others))


def counted_together(legs: Sequence[tuple[float, Outcome]], exp: Experiment) -> tuple[Outcome, ...]:
    """The legs' outcomes counted over the seconds that all share; each is given with the moment when it began."""
    moments = [began for began, _ in legs]
    if max(moments) - min(moments) < CLOSE:
        return tuple(outcome for _, outcome in legs)
    first = max(moments) + exp.warmup
    last = min(moments) + exp.warmup + exp.duration
    return tuple(_counted(outcome, first - began, last - began) for began, outcome in legs)


def _counted(outcome: Outcome, first: float, last: float) -> Outcome:
    """The outcome counted from `first` to `last`, in the leg's own seconds."""
    if not outcome.ok or not outcome.intervals:
        return outcome
    intervals = tuple(_marked(i, first, last) for i in outcome.intervals)
    if not any(i.counted for i in intervals):
        reason = "the legs of the trial did not run at the same time: they have no whole second in common"
        return replace(outcome, ok=False, fault=Fault.TOOL, reason=reason, goodput_bps=0.0, by_direction={})
    rates = {way: _rate([i for i in intervals if i.direction == way]) for way in outcome.by_direction}
    flows = tuple(_flow(flow, first, last) for flow in outcome.flows)
    made = replace(outcome, intervals=intervals, flows=flows, by_direction=rates, goodput_bps=sum(rates.values()))
    if outcome.transactions is None:
        return made
    seconds = [i for i in intervals if i.counted]
    done = sums.known([i.datagrams for i in seconds]) or 0
    return replace(made, transactions=replace(outcome.transactions, rate=done / sum(i.end - i.start for i in seconds)))


def _flow(flow: Flow, first: float, last: float) -> Flow:
    intervals = tuple(_marked(i, first, last) for i in flow.intervals)
    counted = [i for i in intervals if i.counted]
    return replace(flow, intervals=intervals, bytes=sum(i.bytes for i in counted), bps=_rate(intervals))


def _marked(one: Interval, first: float, last: float) -> Interval:
    return replace(one, counted=one.start >= first - EDGE and one.end <= last + EDGE)


def _rate(intervals: Sequence[Interval]) -> float:
    counted = [i for i in intervals if i.counted]
    span = sum(i.end - i.start for i in counted)
    return sum(i.bytes for i in counted) * 8 / span if span > 0 else 0.0
