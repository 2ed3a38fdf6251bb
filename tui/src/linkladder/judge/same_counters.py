"""Finds what an end recorded of a trial, or its pings, in another trial of the run: neither is ever the same in two.

Needs counts, or a series, in which chance has room. Where a load decides how much is counted, as the packets of paced
UDP or the segments of TCP, equal counts are a sign only if the two trials' loads differ by more than such counts do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from linkladder import phrases
from linkladder.model import (
    Document,
    EndRecord,
    Experiment,
    Flow,
    Protocol,
    Role,
    RungName,
    RungResult,
    SocketStat,
    TrialResult,
)
from linkladder.phrases import accounts as say
from linkladder.verdicts import Cause

MANY = 1000  # packets; as many or more are the same in four counts only where the load is
ROUND = 1000  # no card's counts are all multiples of this; where they are, somebody made them up to be round
SAMPLES = 3  # so many at least are compared
DIFFERENT = 6  # values that a series must have at least, as an idle machine's cores or pings are all alike
EXACT = 1e-4  # percent; the share of a core that its clock told has digits beyond this
BY_CHANCE = 1e-9  # probability of two series of round trips that are equal in each
LEAST = 100  # segments; a smaller count of TCP's is often the same
SEGMENTS = 45  # by which a system's segments may differ for the same payload: those of other connections
LARGEST_SEGMENT = 8948  # bytes, of jumbo frames
LAST_DATAGRAMS = 12  # a stream's, beyond those that its receiver numbered: its last one is sent ten times at most
CARRIED = 0.9  # share of the datagrams that a card took at least if it was the load's
FOLLOW = 1.5  # times the segments that a payload takes; acknowledgements are fewer
SMALL = 1 << 20  # bytes below which a connection's counts say nothing

Trial = tuple[str, int]
Ports = frozenset[tuple[str, int]]  # the two addresses and ports of a connection


@dataclass(frozen=True, eq=False)
class _Place:
    """Where in the run a trial stands; most are never put into words."""

    rung: RungResult
    setting: Experiment
    repeat: int

    def words(self) -> str:
        return phrases.trial(self.setting, self.repeat, paths=self.rung.paths)

    def seen_from(self, rung: RungName) -> str:
        return say.named(self.words(), self.rung.name, rung)


class _Sign(NamedTuple):
    """What of a record no other trial has, unless their loads moved amounts that differ by no more than `within`."""

    what: Hashable
    said: str
    moved: int = 0
    within: int = -1


def same_counters(document: Document) -> dict[RungName, dict[Trial, tuple[Cause, str]]]:
    """Trials of each rung with a record of an end, or pings, of another trial of the run, met before it."""
    found: dict[RungName, dict[Trial, tuple[Cause, str]]] = {}
    had: dict[Hashable, tuple[_Place, int]] = {}
    carried = _carried(document)
    for r in document.rungs:
        for e in r.experiments:
            for t in e.trials:
                here, mine = _Place(r, e.parameters, t.repeat), found.setdefault(r.name, {})
                name = e.parameters.id, t.repeat
                if t.ok and (words := _of_other_flows(t, here, carried)):
                    mine.setdefault(name, (Cause.COPIED, words))
                for sign in _signs(t, e.parameters.protocol) if t.ok else ():
                    first, moved = had.setdefault(sign.what, (here, sign.moved))
                    if first is not here and abs(moved - sign.moved) > sign.within:
                        said = say.recorded_twice(here.words(), sign.said, first.seen_from(r.name))
                        mine.setdefault(name, (Cause.COPIED, said))
    return found


def _signs(t: TrialResult, protocol: Protocol) -> Iterator[_Sign]:
    for leg in t.legs:
        trips = leg.outcome.rtt.samples_ms if leg.outcome.rtt is not None else ()
        if leg.role in (Role.LOAD, Role.PING) and _by_chance(trips) < BY_CHANCE:
            yield _Sign(("pings", trips), say.round_trips(leg.pinged_by))
    for end in t.ends if protocol in (Protocol.TCP, Protocol.UDP) else ():
        yield from _of_cards(end, t, protocol)
        yield from _of_cores(end)
    if protocol is Protocol.TCP:
        yield from _of_connections(t)
        yield from _of_segments(t)


def _of_cards(end: EndRecord, t: TrialResult, protocol: Protocol) -> Iterator[_Sign]:
    """A quiet path repeats a load to the packet: of TCP the payload, of UDP the datagrams must be other ones."""
    for card in end.nics:
        counts = card.rx_bytes, card.tx_bytes, card.rx_packets, card.tx_packets
        what, said = ("card", end.name, card.name, counts), say.counted_by(end.name)
        if not any(count % ROUND for count in counts):
            continue
        if protocol is Protocol.TCP and min(card.rx_packets, card.tx_packets) >= MANY:
            yield _Sign(what, said, _moved(t), SEGMENTS * _largest(t))
        sent = sum(i.datagrams or 0 for i in t.intervals)
        took = max(card.rx_packets, card.tx_packets) >= CARRIED * sent >= MANY  # an idle card counts alike each time
        if protocol is Protocol.UDP and took and len(t.loads) == 1 and t.lost is not None:
            yield _Sign(what, said, sent, LAST_DATAGRAMS * max(1, len(t.flows)) + 2 * t.lost)


def _of_cores(end: EndRecord) -> Iterator[_Sign]:
    said = say.counted_by(end.name)
    if end.cpu is not None and sum(_exact(share) for share in end.cpu.per_core) > 1:
        yield _Sign(("mean", end.name, end.cpu.per_core), said)
    if len(end.samples) < SAMPLES:
        return
    first, last = end.samples[0].nics, end.samples[-1].nics
    if first and last and any(one.rx_packets + one.tx_packets for one in last):
        yield _Sign(("samples", end.name, first, last), said)
    busy = tuple(core.busy for sample in end.samples for core in sample.cores)
    if len({share for share in busy if _exact(share)}) >= DIFFERENT:
        yield _Sign(("cores", end.name, busy), said)


def _exact(share: float) -> bool:
    """Whether it has digits that no one writes, and no two trials have alike."""
    return abs(share - round(share, 1)) > EXACT


def _by_chance(series: Sequence[float]) -> float:
    """How probable it is that such a series is drawn twice, by its own values or its own steps, whichever is more."""
    if len(set(series)) < DIFFERENT:
        return 1.0
    steps = [round(after - before, 4) for before, after in pairwise(series)]
    return max(_drawn_twice(series), _drawn_twice(steps))


def _drawn_twice(values: Sequence[float]) -> float:
    alike = sum(times * times for times in Counter(values).values()) / max(1, len(values)) ** 2
    return alike ** len(values)


def _of_connections(t: TrialResult) -> Iterator[_Sign]:
    """Of windows, only where one of them fell: the moment of a loss is chance, growth without any is not."""
    for end in t.ends:
        seen = end.sockets.sockets if end.sockets else ()
        full = [s for s in seen if s.rtt_ms is not None and (s.sent_bytes or 0) + (s.received_bytes or 0) >= SMALL]
        counts = tuple((s.sent_bytes, s.received_bytes, s.rtt_ms) for s in full)
        if full:
            yield _Sign(("connections", end.name, end.sockets), say.connections_of(end.name))
        if len(full) > 1:
            yield _Sign(("connections", end.name, counts), say.connections_of(end.name))
        sizes = [sum(look.cwnd_bytes) for look in end.windows]
        if len(set(sizes)) >= DIFFERENT and any(after < before for before, after in pairwise(sizes)):
            yield _Sign(("windows", end.name, end.windows), say.windows_of(end.name))


def _of_segments(t: TrialResult) -> Iterator[_Sign]:
    """Each end's TCP counters, and those of all ends.

    Needs counts that follow from the payload, or more of them than are the same by chance.
    """
    moved, largest = _moved(t), _largest(t)
    alone = sum(leg.role is not Role.PING for leg in t.legs) == 1  # else not all of the payload is each end's
    for ends in (t.ends, *((end,) for end in t.ends if alone)):
        counters = tuple((end.name, end.tcp) for end in ends if end.tcp is not None)
        counts = [n for _, one in counters for n in vars(one).values() if n is not None and n >= LEAST]
        large = len(counts) if any(n % ROUND for n in counts) else 0
        follow = FOLLOW * largest * sum(one.segments_sent or 0 for _, one in counters) >= moved
        if large >= 4 or (large >= 2 and follow):
            said = say.segments_of(counters[0][0] if len(ends) == 1 else "")
            yield _Sign(("tcp", counters), said, moved, SEGMENTS * largest)


def _moved(t: TrialResult) -> int:
    """Bytes of payload."""
    return sum(flow.total_bytes for flow in _flows(t))


def _largest(t: TrialResult) -> int:
    """Bytes of a segment."""
    sizes = [s.mss for end in t.ends for s in (end.sockets.sockets if end.sockets else ()) if s.mss]
    return max(sizes, default=LARGEST_SEGMENT)


def _carried(document: Document) -> dict[Ports, _Place]:
    """The first trial that had a flow between these ports."""
    found: dict[Ports, _Place] = {}
    for r in document.rungs:
        for e in r.experiments:
            for t in e.trials:
                for flow in _flows(t):
                    if flow.local_port and flow.remote_port:
                        found.setdefault(_ports(flow), _Place(r, e.parameters, t.repeat))
    return found


def _of_other_flows(t: TrialResult, here: _Place, carried: dict[Ports, _Place]) -> str:
    """What is wrong if an end's connections are none of the trial's own flows, and one is another trial's."""
    own = {_ports(flow) for flow in _flows(t)}
    for end in t.ends if own else ():
        seen = [_ports(s) for s in (end.sockets.sockets if end.sockets else ())]
        other = next((carried[one] for one in seen if one in carried), None)
        if other is not None and not own & set(seen) and (name := other.seen_from(here.rung.name)) != here.words():
            return say.recorded_twice(here.words(), say.connections_of(end.name), name)
    return ""


def _flows(t: TrialResult) -> Iterator[Flow]:
    """Those of visitors too."""
    return (flow for leg in t.legs for flow in leg.outcome.flows)


def _ports(one: Flow | SocketStat) -> Ports:
    return frozenset(((one.local, one.local_port), (one.remote, one.remote_port)))
