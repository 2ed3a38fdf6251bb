"""Reads what the hosts' own counters say of a trial, and checks whether they agree with what the tools claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, TypeVar

from linkladder import host, tools
from linkladder.engine.route import Route, Side
from linkladder.engine.thinning import Samples
from linkladder.model import (
    CpuUse,
    Direction,
    EndRecord,
    Experiment,
    Fault,
    HeldUp,
    HostSample,
    MemoryUse,
    NicCounters,
    Outcome,
    Protocol,
    QueueCounters,
    SocketsSeen,
    TcpCounters,
    WindowSeen,
    sums,
)
from linkladder.wire import CountersReply

Written = Callable[[], Mapping[Direction, int]]  # what a leg's senders say they wrote each way: it takes time to read
Record = TypeVar("Record", TcpCounters, NicCounters)
TOLERANCE = 0.05  # how far counters and tool may differ
LARGEST = 1514  # bytes of a usual segment, which may arrive twice
STILL = 2.0  # seconds between two samples of an end; a longer gap means that it stood still
MOST_QUEUES = 512  # that are kept of an end
MOST_STILL = 200  # such times of a trial
SMALL = 1 << 20  # bytes of other traffic that are too few to count as a disturbance


@dataclass
class Watched:
    """One end while a trial runs: its counters before and after, its seconds, its connections."""

    name: str
    samples: Samples = field(default_factory=Samples)
    sockets: SocketsSeen | None = None
    windows: list[WindowSeen] = field(default_factory=list)
    before: dict[str, CountersReply] = field(default_factory=dict)  # by the address of each path there
    after: dict[str, CountersReply] = field(default_factory=dict)
    without_link: set[str] = field(default_factory=set)  # cards that have none, seen where the ends could not meet
    held_up: list[HeldUp] = field(default_factory=list)
    looked: float = math.inf  # when it told of itself the last time, or agreed to

    def look(self, sample: HostSample) -> HostSample:
        """Take in this second's sample; if the samples before it are missing, note that the end stood still.

        Returns it with what a bundle of routes carried counted as its address's card's, as in the trial's counters.
        """
        gap = sample.t - self.looked
        if gap > STILL:
            self.held_up.append(HeldUp(round(self.looked, 3), round(gap, 3)))
            if len(self.held_up) > MOST_STILL:
                self.held_up.remove(min(self.held_up, key=lambda one: one.seconds))
        self.looked = sample.t
        if bundles := self._counted_by_members():
            seen = {nic.name: nic for nic in sample.nics}
            summed = {
                name: replace(sums.of_nics([seen[one] for one in members]), name=name)
                for name, members in bundles.items()
                if all(one in seen for one in (name, *members))
            }
            sample = replace(sample, nics=tuple(summed.get(nic.name, nic) for nic in sample.nics))
        self.samples.append(sample)
        return sample

    def count_from(self, later: float) -> None:
        """Have its times count from so many seconds later on, when the trial begins; drop standstills over by then."""
        self.looked -= later
        self.samples[:] = [replace(one, t=round(one.t - later, 3)) for one in self.samples]
        self.windows = [replace(one, t=round(one.t - later, 3)) for one in self.windows]
        moved = [replace(one, at=round(one.at - later, 3)) for one in self.held_up]
        self.held_up = [one for one in moved if one.at + one.seconds > 0]

    def _counted_by_members(self) -> dict[str, list[str]]:
        """The cards whose counters are the sum of their bundle's members, with these."""
        found = {}
        for seen in self.before.values():
            total = sums.of_nics(seen.members) if seen.members else None
            if total and seen.nic and (total.rx_bytes, total.tx_bytes) == (seen.nic.rx_bytes, seen.nic.tx_bytes):
                found[seen.nic.name] = [one.name for one in seen.members]
        return found

    def count(self, address: str, seen: CountersReply) -> None:
        """Take the counters: called once before the trial and once after it."""
        (self.after if address in self.before else self.before)[address] = seen

    @property
    def cards(self) -> tuple[str, ...]:
        """The cards that the trial's paths use there, with the members of bundles."""
        seen = (one for counted in self.before.values() for one in (counted.nic, *counted.members) if one)
        return tuple(dict.fromkeys(one.name for one in seen))

    def card(self, address: str) -> str:
        """The name of the card with that address; '' if it has not been counted yet."""
        seen = self.before.get(address)
        return seen.nic.name if seen and seen.nic else ""

    def nic(self, address: str) -> NicCounters | None:
        """What the card of that address counted in the trial."""
        first, last = self.before.get(address), self.after.get(address)
        if not first or not last or not first.nic or not last.nic:
            return None
        made = _difference(NicCounters(last.nic.name), first.nic, last.nic)
        if made.name in self.without_link and not made.carrier_lost:
            return replace(made, carrier_lost=1)  # it lost its link before the trial and never got it back
        return made

    def stood_still(self, until: float = -math.inf) -> list[HeldUp]:
        """The times in which this end stood still, without those in which a later sample shows that it ran.

        `until`: when the trial was over; an end that has not told of itself since its last sample stood still so long.
        """
        seen = [sample.t for sample in self.samples]
        last = [HeldUp(self.looked, until - self.looked)] if until - self.looked > STILL else []
        return [one for one in (*self.held_up, *last) if not any(one.holds(t) for t in seen)]

    @property
    def retransmits(self) -> int:
        """Segments that this end sent again during the trial, as far as it reports them."""
        first, last = next(iter(self.before.values()), None), next(iter(self.after.values()), None)
        counts = (first.tcp.retransmits, last.tcp.retransmits) if first and last else (None, None)
        return max(0, (counts[1] or 0) - (counts[0] or 0)) if None not in counts else 0

    def members(self, address: str) -> tuple[NicCounters, ...]:
        """What each card of the bundle with that address counted in the trial."""
        first, last = self.before.get(address), self.after.get(address)
        known = {one.name: one for one in first.members} if first else {}
        now = last.members if last else ()
        return tuple(_difference(NicCounters(m.name), known[m.name], m) for m in now if m.name in known)

    def record(self, exp: Experiment, carried_bps: float, clock_offset: float, since: float = 0.0) -> EndRecord:
        """The trial as this end saw it; `carried_bps` is the goodput of the legs that end here, `since` when on the
        samples' clock the tool's first second began: many take their time to be ready."""
        first, last = next(iter(self.before.values())), next(iter(self.after.values()))
        tcp = _with_sockets(_difference(TcpCounters(), first.tcp, last.tcp), self.sockets)
        nics = {nic.name: nic for address in self.before if (nic := self.nic(address))}
        cpu, memory = self._use(exp, carried_bps or None, first, last, since)
        away = round(clock_offset * 1000, 3)
        cards, windows, samples = tuple(nics.values()), tuple(self.windows), tuple(self.samples)
        members = tuple(one for address in self.before for one in self.members(address))
        made = EndRecord(self.name, cpu, memory, tcp, cards, self.sockets, windows, samples, away, members=members)
        known = first.udp_dropped is not None and last.udp_dropped is not None
        dropped = max(0, (last.udp_dropped or 0) - (first.udp_dropped or 0)) if known else None
        received, sent = self._queues(lambda one: one.queues), self._queues(lambda one: one.sending_queues)
        made = replace(made, queues=received, sending_queues=sent)
        return replace(made, held_up=tuple(self.held_up), udp_dropped=dropped)

    def _queues(self, side: Callable[[CountersReply], tuple[QueueCounters, ...]]) -> tuple[QueueCounters, ...]:
        """What passed by each queue of that side in the trial; one that is new, or was set back, tells nothing, and
        neither does a card that counted nothing for any: some drivers have the counters and do not use them.
        """
        began = {(one.card, one.number): one for seen in self.before.values() for one in side(seen)}
        ended = {(one.card, one.number): one for seen in self.after.values() for one in side(seen)}
        made = [_passed(began[key], one) for key, one in ended.items() if key in began][:MOST_QUEUES]
        counts = {one.card for one in made if one.packets or one.interrupts}
        return tuple(one for one in made if one.card in counts and min(one.packets or 0, one.interrupts or 0) >= 0)

    def _use(
        self, exp: Experiment, carried: float | None, first: CountersReply, last: CountersReply, since: float
    ) -> tuple[CpuUse | None, MemoryUse | None]:
        if not self.samples:
            return None, None
        starved = None
        if first.starved is not None and last.starved is not None:
            span = (exp.warmup + exp.duration) * max(1, len(self.samples[0].cores))
            starved = min(1.0, max(0.0, (last.starved - first.starved) / span))
        first_counted = since + exp.warmup
        until = first_counted + exp.duration
        return host.summarise(self.samples, last.memory_total, first_counted, until, carried, starved)


def counted_from(made: EndRecord, since: float) -> EndRecord:
    """With its times in the tool's seconds, the first of which began at `since`: the judge compares the two."""

    def moved(t: float) -> float:
        return round(t - since, 3)

    return replace(
        made,
        samples=tuple(replace(one, t=moved(one.t)) for one in made.samples),
        windows=tuple(replace(one, t=moved(one.t)) for one in made.windows),
        held_up=tuple(replace(one, at=moved(one.at)) for one in made.held_up),
        away=tuple(replace(one, since=moved(one.since), until=moved(one.until)) for one in made.away),
    )


def _with_sockets(tcp: TcpCounters, seen: SocketsSeen | None) -> TcpCounters:
    """Add each connection's zero-window count, because FreeBSD reports it nowhere else."""
    stalls = [s.zero_window for s in seen.sockets if s.zero_window is not None] if seen else []
    return replace(tcp, zero_window_sent=sum(stalls)) if stalls and tcp.zero_window_sent is None else tcp


def _difference(blank: Record, first: Record, last: Record) -> Record:
    changed: dict[str, Any] = {}
    for f in fields(blank):
        a, b = getattr(first, f.name), getattr(last, f.name)
        if isinstance(a, int) and isinstance(b, int):
            changed[f.name] = b - a
    return replace(blank, **changed)


def _passed(first: QueueCounters, last: QueueCounters) -> QueueCounters:
    def more(before: int | None, after: int | None) -> int | None:
        return None if before is None or after is None else after - before

    return replace(last, packets=more(first.packets, last.packets), interrupts=more(first.interrupts, last.interrupts))


@dataclass
class Card:
    """A card of an end, what it counted, and what all legs over it claim to have moved."""

    words: str  # where it is
    counted: NicCounters
    sent: int = 0
    received: int = 0
    feeders: dict[tuple[int, str], NicCounters] = field(default_factory=dict)  # the cards whose packets come here
    unread: list[Callable[[], int]] = field(default_factory=list)  # of each leg, what was written and never read
    again: dict[int, int] = field(default_factory=dict)  # segments that the ends which feed it have sent once more


def accounted(
    outcomes: Sequence[Outcome],
    routes: Sequence[Route],
    watched: Mapping[int, Watched],
    exp: Experiment,
    written: Sequence[Written] = (),
) -> tuple[Outcome, ...]:
    """Fail every leg whose bytes the cards did not count, or that shared its cards with other traffic.

    `written`: for each leg, what its senders wrote; asked only where a card counted more than was read.
    """
    if not tools.named(exp.tool).accountable(exp):
        return tuple(outcomes)
    cards: dict[tuple[int, str], Card] = {}
    for number, (outcome, route) in enumerate(zip(outcomes, routes, strict=True)):
        _claim(cards, outcome, route, watched, written[number] if written else dict)
    return tuple(
        replace(outcome, ok=False, fault=Fault.TOOL, reason=reason)
        if outcome.ok and (reason := _unaccounted(route, watched, cards, exp))
        else outcome
        for outcome, route in zip(outcomes, routes, strict=True)
    )


def _claim(
    cards: dict[tuple[int, str], Card], outcome: Outcome, route: Route, watched: Mapping[int, Watched], written: Written
) -> None:
    """Add the bytes that a leg says it moved to each card that it used."""
    moved = {way: sum(f.total_bytes for f in outcome.flows if f.direction == way) for way in Direction}
    there, back = moved[Direction.FORWARD], moved[Direction.REVERSE]
    sides = (
        (route.near, there, back, route.far, Direction.REVERSE),
        (route.far, back, there, route.near, Direction.FORWARD),
    )
    for side, sent, received, other, arriving in sides:
        nic, fed = _nic(side, route, watched), _nic(other, route, watched)
        if nic is None:
            continue
        card = cards.setdefault((side.end, nic.name), Card(f"{nic.name} at the {side.name} end", nic))
        card.sent, card.received = card.sent + sent, card.received + received
        card.unread.append(partial(_unread, written, arriving, received))
        if fed is not None and other.end != side.end:
            card.feeders[other.end, fed.name] = fed
            card.again[other.end] = watched[other.end].retransmits


def _unread(written: Written, way: Direction, read: int) -> int:
    """What arrived after the receiver had stopped reading, at most: what was written beyond what it read."""
    return max(0, written().get(way, 0) - read)


def _nic(side: Side, route: Route, watched: Mapping[int, Watched]) -> NicCounters | None:
    """The card at an address; on the localhost rung one card is both sides'."""
    return watched[side.end].nic(route.near.address if route.local else side.address)


def _unaccounted(
    route: Route, watched: Mapping[int, Watched], cards: dict[tuple[int, str], Card], exp: Experiment
) -> str:
    """Why the cards' counters do not confirm a leg; '' if they do."""
    for side in route.sides:
        nic = _nic(side, route, watched)
        if nic is None:
            return f"the interface counters of {side.address} could not be read"
        card = cards[side.end, nic.name]
        for word, claimed, counted in (("sent", card.sent, nic.tx_bytes), ("received", card.received, nic.rx_bytes)):
            said = f"{card.words} {word} {counted} bytes while the test moved {claimed}: "
            if claimed > SMALL and counted < claimed * (1 - TOLERANCE):
                return f"{said}the traffic takes another interface"
        if card.received > SMALL and nic.rx_bytes > _most_received(card, exp) * (1 + TOLERANCE):
            unread = sum(one() for one in card.unread) if exp.protocol is Protocol.TCP else 0
            if nic.rx_bytes > _most_received(card, exp, unread) * (1 + TOLERANCE):
                said = f"{card.words} received {nic.rx_bytes} bytes while the test moved {card.received}: "
                return f"{said}other traffic shares the interface"
    return ""


def _most_received(card: Card, exp: Experiment, unread: int = 0) -> float:
    """The most that a card may have counted of what the legs over it moved, and of what was sent again."""
    fed = sum(feeder.tx_bytes for feeder in card.feeders.values())
    again = LARGEST * sum(card.again.values()) if exp.protocol is Protocol.TCP else 0
    return _most(exp, card.received + unread, card.sent, fed) + again


def _most(exp: Experiment, data: int, opposite: int, fed: int) -> float:
    """The most a card should count for so much payload: headers of the smallest usual segments, and ACKs.

    `fed` is what the cards at the other sides put out, which is the most that can arrive.
    """
    if exp.protocol == Protocol.UDP:  # packets lost at the socket have still come in through the interface
        size = exp.write_size or tools.default_datagram(4)
        return max(fed, data * (size + 62) / size)
    return data * 1514 / 1448 + opposite * 0.06
