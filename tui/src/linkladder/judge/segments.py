"""Compares what an end's system, its connections, its seconds and the tool tell of the TCP segments that it sent.

Needs the TCP counters of an end that sent a load, and beside them the bytes of its flows, or one more count of segments
sent again. What is not told is not compared, but the number of segments is told by each system that tells the others.
No rate hangs on them, but the loss does, and what is said to limit: no verdict is firm where they contradict.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkladder.model import (
    Direction,
    EndRecord,
    Experiment,
    Flow,
    Interval,
    Leg,
    Protocol,
    Role,
    RungResult,
    SocketStat,
    TrialResult,
)
from linkladder.phrases import contradictions as say
from linkladder.phrases.accounts import of_trial
from linkladder.verdicts import Cause, Concern

SMALL = 1 << 20  # bytes below which nothing is said
LARGEST = 1 << 18  # bytes that a system may count as one segment, as it leaves cutting them to the card
COUNTS_EACH = "ss"  # the source of connections whose system counts each segment, also those that a card cut
LESS = 0.25  # share of the segments that the bytes take; a count that lacks more is of another trial, or of nothing
MORE = 1.25  # times the other count, and
FEW = 100  # so many more: what other connections, and the last part of a second, may have sent again
LATE = 0.9  # share of the trial's time after which the last sample must have been taken


def segments(rung: RungResult) -> list[Concern]:
    """A concern about the first trial whose counts of segments contradict each other."""
    for e in rung.experiments:
        for t in e.trials:
            said = next(iter(of_segments(t, e.parameters)), "") if t.ok else ""
            if said:
                text = of_trial(e.parameters, t.repeat, said, rung.paths)
                return [Concern(Cause.CONTRADICTION, text, provisional=True)]
    return []


def of_segments(t: TrialResult, p: Experiment) -> Iterable[str]:
    """Sentences on what contradicts an end's TCP counters."""
    if p.protocol is not Protocol.TCP:
        return
    for number, end in enumerate(t.ends):
        flows, seconds = _sent_by(t, number)
        if end.tcp is None or sum(f.total_bytes for f in flows) < SMALL:
            continue
        yield from _how_many(end, flows)
        yield from _again(end, flows, seconds, t.seconds)


def _sent_by(t: TrialResult, number: int) -> tuple[list[Flow], list[Interval]]:
    """The flows that this end of the trial sent, and the seconds of their loads in that direction."""
    flows, seconds = [], []
    for leg in (g for g in t.legs if g.role in (Role.LOAD, Role.VISITOR)):
        flows += [f for f in leg.outcome.flows if _sender(leg, f.direction) == number]
        seconds += [i for i in leg.outcome.intervals if _sender(leg, i.direction) == number]
    return flows, seconds


def _sender(leg: Leg, way: Direction) -> int:
    return leg.far if way is Direction.REVERSE else leg.near


def _how_many(end: EndRecord, flows: list[Flow]) -> Iterable[str]:
    counted, moved = end.tcp.segments_sent if end.tcp else None, sum(f.total_bytes for f in flows)
    if counted is None:
        if end.tcp is not None and end.tcp.retransmits is not None:
            yield say.no_segments(end.name, moved)
        return
    sizes = [s.mss for s in _connections(end, flows) if s.mss]
    each = end.sockets is not None and end.sockets.source == COUNTS_EACH and bool(sizes)
    if counted * (max(sizes) if each else LARGEST) < LESS * moved:
        yield say.few_segments(end.name, counted, moved)


def _again(end: EndRecord, flows: list[Flow], seconds: list[Interval], took: float) -> Iterable[str]:
    system = end.tcp.retransmits if end.tcp else None
    if system is None:
        return
    by_tool = _by_tool(flows, seconds)
    looks = [s.retransmits for s in end.samples if s.retransmits is not None]
    others = [*by_tool, sum(s.retransmits or 0 for s in _connections(end, flows)), max(looks, default=0)]
    if max(others) > MORE * system + FEW:
        yield say.sent_again_by_others(end.name, system, max(others))
    late = bool(looks) and end.samples[-1].t >= LATE * took
    for other in (*by_tool, *([max(looks)] if late else [])):
        if system > MORE * other + FEW:
            yield say.sent_again_by_system(end.name, system, other)


def _by_tool(flows: list[Flow], seconds: list[Interval]) -> list[int]:
    """How many segments were sent again by the tool's word, in all of the trial; none if it does not tell of all."""
    of_flows = [i.retransmits for f in flows for i in f.intervals if i.retransmits is not None]
    of_loads = [i.retransmits for i in seconds if i.retransmits is not None]
    summed = [f.retransmits for f in flows]
    if None in summed or not summed:
        return []
    return [max(sum(of_flows), sum(of_loads), sum(n for n in summed if n is not None))]


def _connections(end: EndRecord, flows: list[Flow]) -> list[SocketStat]:
    ports = {(a, b) for f in flows for a, b in ((f.local_port, f.remote_port), (f.remote_port, f.local_port))}
    return [s for s in (end.sockets.sockets if end.sockets else ()) if (s.local_port, s.remote_port) in ports]
