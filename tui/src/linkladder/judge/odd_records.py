"""Finds records that no card, system or ping makes, and those of another machine or of probes that were not sent.

Each rule needs the figures that it compares, and says nothing where one of them is not told. None of them refutes a
rate, so that they take the firmness and decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from linkladder import phrases, tools
from linkladder.judge.as_sold import cards_of
from linkladder.judge.evidence import ways
from linkladder.judge.history import moment
from linkladder.judge.recount import name_of_side, path_of, versions_of
from linkladder.model import (
    Direction,
    Document,
    End,
    EndRecord,
    Experiment,
    Leg,
    Protocol,
    Role,
    RungName,
    RungResult,
    RunState,
    TrialResult,
)
from linkladder.phrases import impossible_records as say
from linkladder.phrases.accounts import of_trial
from linkladder.verdicts import Cause, Concern

Rule = Callable[[TrialResult, Experiment], Iterator[str]]
SMALL = 1 << 20  # bytes below which nothing is said
LEAST_PACKET = 28  # bytes; a card counts the headers of an address and a protocol at least
LEAST_SEGMENT = 536  # bytes of the smallest segments in use
MOST = 10  # times the segments that the bytes take, and
MORE = 2_000_000  # so many more: what other connections may have sent and received meanwhile
QUICKEST = 1e-3  # milliseconds; no ping is answered sooner, as it prints no shorter time
CARRIED = 4.0  # times a trial's bytes, which its connections cannot have carried
AFTER = 30.0  # seconds after a trial's time
ALIKE = 0.1  # share by which a machine's memory may be told otherwise
WAITING = 3.0  # times the transactions that are under way at once, as a busy end waits between two
FITS = 3.0  # times a congestion window for each round trip, which is more than a sender has under way
SECONDS = 3  # so many at least are looked at
LONG_WAY_MS = 5.0  # a round trip that no waiting inside an end makes up
BEGINNING = 1 << 16  # characters of a tool's output among which it names a version
CHOICES = ("incompressible", "zero_copy")  # keys that only some tools can fulfil


def odd_records(rung: RungResult, document: Document) -> list[Concern]:
    """The first concern of each kind."""
    found = [(Cause.CONTRADICTION, _first(rung, rule)) for rule in RULES]
    found += [(Cause.PATH_MTU, _first(rung, _not_probed)), (Cause.PATH_MTU, _larger_than_cards(rung, document))]
    found += [(Cause.ELSEWHERE, said) for said in (_same_card(rung, document), _other_memory(rung, document))]
    found += [(Cause.CONTRADICTION, said) for said in (_other_cores(rung, document), _of_run(document))]
    found += [(Cause.RAW_OUTPUT, _other_version(rung, document))]
    return [Concern(cause, said, provisional=True) for cause, said in found if said]


def _first(rung: RungResult, rule: Rule) -> str:
    for e in rung.experiments:
        for t in e.trials:
            if t.ok and (said := next(iter(rule(t, e.parameters)), "")):
                return of_trial(e.parameters, t.repeat, said, rung.paths)
    return ""


def _cards(t: TrialResult, p: Experiment) -> Iterator[str]:
    """Packets smaller than their headers, and bytes of a card that counts packets only the other way."""
    for end in t.ends:
        for card in end.nics:
            ways = (
                (card.rx_bytes, card.rx_packets, card.tx_packets),
                (card.tx_bytes, card.tx_packets, card.rx_packets),
            )
            for moved, packets, back in ways:
                if packets > MORE // MOST and moved < LEAST_PACKET * packets:
                    yield say.small_packets(end.name, card.name, moved, packets)
                if moved > SMALL and not packets and back:
                    yield say.no_packets(end.name, card.name, moved)


def _segments(t: TrialResult, p: Experiment) -> Iterator[str]:
    most = MOST * sum(f.total_bytes for f in t.flows) // LEAST_SEGMENT + MORE
    for end in t.ends:
        segments = [end.tcp.segments_sent, end.tcp.retransmits, end.tcp.out_of_order] if end.tcp else []
        too_many = max((n for n in segments if n is not None), default=0)
        if too_many > most:
            yield say.many_segments(end.name, too_many)


def _connections(t: TrialResult, p: Experiment) -> Iterator[str]:
    moved = sum(f.total_bytes for f in t.flows)
    for end in t.ends:
        if end.sockets is None or p.protocol is not Protocol.TCP:
            continue
        seen = max(sum(s.sent_bytes or 0 for s in end.sockets.sockets), _received(end))
        if moved and seen > CARRIED * moved + SMALL:
            yield say.connections_carried_more(end.name, seen, moved)
        if t.seconds > 0 and end.sockets.t > t.seconds + AFTER:
            yield say.connections_afterwards(end.name, end.sockets.t, t.seconds)


def _received(end: EndRecord) -> int:
    return sum(s.received_bytes or 0 for s in (end.sockets.sockets if end.sockets else ()))


def _times(t: TrialResult, p: Experiment) -> Iterator[str]:
    """Round trips shorter than any, or longer than the trial, and flows that took no time."""
    for leg in t.legs:
        seen = leg.outcome.rtt
        if seen is not None and seen.received and seen.p50_ms is not None and seen.p50_ms < QUICKEST:
            yield say.no_round_trip(seen.p50_ms)
        most = 1000 * max(t.seconds, p.warmup + p.duration)
        if leg.role is Role.LOAD and any((i.rtt_ms or 0.0) > most for i in leg.outcome.intervals):
            yield say.long_round_trip()
    if any(f.total_bytes > SMALL and f.seconds == 0 for f in t.flows):
        yield say.flow_without_time()


def _windows(t: TrialResult, p: Experiment) -> Iterator[str]:
    """Windows that in no counted second could have carried what is claimed, as each sends about one a round trip.

    A window is a look at one moment, and a round trip is a mean, which FreeBSD rounds up to its clock's tick, of 10 ms
    in many a guest: so that a single second says nothing, and nothing is said without the pings' shortest.
    """
    pings = [leg.outcome.rtt.min_ms or 0.0 for leg in t.legs if leg.role is Role.PING and leg.outcome.rtt]
    shortest = min(pings, default=0.0)
    if p.protocol is not Protocol.TCP or not shortest:
        return
    for one in t.loads:
        for way in ways(p):
            counted = [i for i in one.intervals if i.counted and i.direction is way]
            made = [8000 * i.cwnd / min(i.rtt_ms, shortest) for i in counted if i.cwnd and i.rtt_ms]
            yield from _beyond([i.bps for i in counted], made)
    if len(t.loads) != 1 or shortest < LONG_WAY_MS or p.direction is Direction.DUPLEX:
        return
    counted = [i for i in t.intervals if i.counted]
    looks = [w for w in t.sender(p.direction).windows if len(w.cwnd_bytes) == len(t.flows)]
    looks = [w for w in looks if counted and counted[0].start <= w.t <= counted[-1].end]
    yield from _beyond([i.bps for i in counted], [8000 * sum(w.cwnd_bytes) / shortest for w in looks])


def _beyond(carried: list[float], made: list[float]) -> Iterator[str]:
    """The smallest second is more than FITS times what the largest of as many windows makes."""
    if SECONDS <= len(carried) <= len(made) + 1 and min(carried) > FITS * max(made):
        yield say.windows_too_small(max(made), min(carried))


def _tool(t: TrialResult, p: Experiment) -> Iterator[str]:
    """A payload or a way to send that the tool does not know."""
    tool = tools.TOOLS.get(p.tool)
    for key in CHOICES if tool is not None else ():
        if getattr(p, key) and tool is not None and key not in tool.keys.get(p.protocol, frozenset()):
            yield say.tool_cannot(p.tool, key)


def _of_another_kind(t: TrialResult, p: Experiment) -> Iterator[str]:
    """Figures that a trial of its protocol does not have."""
    for one in t.loads:
        datagrams = one.lost is not None or one.offered_bps is not None or one.jitter_ms is not None
        if p.protocol is Protocol.TCP and datagrams:
            yield say.datagrams_of_tcp()
        if p.protocol is Protocol.UDP and any(f.retransmits is not None for f in one.flows):
            yield say.retransmits_of_udp()
        if p.protocol is Protocol.ECHO and one.path_mtu is not None:
            yield say.probes_of_pings()


def _answers(t: TrialResult, p: Experiment) -> Iterator[str]:
    """As many transactions are under way as there are sessions, each with one at a time."""
    seen = t.transactions
    if seen is None or not seen.mean_us or seen.rate <= 0:
        return
    under_way = seen.rate * seen.mean_us / 1e6
    if not 1 / WAITING < under_way / max(1, seen.sessions) < WAITING:
        yield say.transactions_under_way(under_way, seen.sessions)


def _not_probed(t: TrialResult, p: Experiment) -> Iterator[str]:
    """Sizes that were asked for and neither passed nor failed, and what a router said beside what passed."""
    for seen in (g.outcome.path_mtu for g in t.legs if g.role is Role.LOAD):
        if seen is None or not seen.passed:
            continue
        lacking = set(p.sizes) - set(seen.passed) - set(seen.failed)
        if p.protocol is Protocol.DF and lacking and max(lacking) > max(seen.passed):
            yield say.not_probed(max(lacking))
        if seen.reported_mtu is not None and seen.reported_mtu < max(seen.passed):
            yield say.reported_less(seen.reported_mtu, max(seen.passed))


def _larger_than_cards(rung: RungResult, document: Document) -> str:
    for e in rung.experiments:
        for leg in (g for t in e.trials if t.ok for g in t.legs if g.role is Role.LOAD and g.outcome.path_mtu):
            path = rung.paths[leg.path : leg.path + 1] if leg.path >= 0 else ()  # a damaged record may name none
            known = [nic.mtu for one in path for _, nic in cards_of(one, document) if nic.mtu]
            passed = max(leg.outcome.path_mtu.passed, default=0) if leg.outcome.path_mtu else 0
            if known and passed > min(known) and not e.parameters.settings:
                return say.larger_than_card(phrases.arm(e.parameters, paths=rung.paths), passed, min(known))
    return ""


def _same_card(rung: RungResult, document: Document) -> str:
    """A card of the same address of Ethernet at both ends of a path."""
    for path in rung.paths if rung.name is RungName.DC_LINK else ():
        both = [nic.mac for _, nic in cards_of(path, document) if nic.mac.strip("0:") and not nic.loopback]
        if len(both) == 2 and both[0] == both[1]:
            return say.same_card(both[0])
    return ""


def _other_memory(rung: RungResult, document: Document) -> str:
    for t in (t for e in rung.experiments for t in e.trials if t.ok):
        for end in t.ends:
            known = next((one.facts.memory for one in document.run.ends if end.of(one.name)), 0)
            had = end.memory.total if end.memory else known
            if known > 0 and abs(had - known) > ALIKE * max(had, known):
                return say.other_memory(end.name, had, known)
    return ""


def _other_cores(rung: RungResult, document: Document) -> str:
    """An end that told of another number of cores than its records have; a kernel of its own may use fewer of them."""
    if any(e.parameters.kernel for r in document.rungs for e in r.experiments):
        return ""
    for t in (t for e in rung.experiments for t in e.trials if t.ok):
        for end in t.ends:
            known = {one.facts.cores for one in document.run.ends if end.of(one.name)}
            had = {len(sample.cores) for sample in end.samples} | ({len(end.cpu.per_core)} if end.cpu else set())
            if known and (strange := had - known - {0}):
                return say.other_cores(end.name, min(strange), max(known))
    return ""


def _other_version(rung: RungResult, document: Document) -> str:
    """A tool's output that names another version of it than the end told of."""
    for e in rung.experiments:
        for t in (t for t in e.trials if t.ok and e.parameters.tool in tools.TOOLS):
            for leg in (g for g in t.legs if g.role is Role.LOAD):
                if said := _printed_version(leg, t, e.parameters.tool, rung, document):
                    return of_trial(e.parameters, t.repeat, said, rung.paths)
    return ""


def _printed_version(leg: Leg, t: TrialResult, tool: str, rung: RungResult, document: Document) -> str:
    both = versions_of(path_of(leg, rung), document)
    near, far = [end.found.get(tool, "") for end in both] if both else ("", "")
    for command in leg.commands:
        known = (near, far) if command.end == name_of_side(t, leg, End.NEAR) else (far, near)
        for printed, its in zip(tools.named(tool).versions_printed(command.output[:BEGINNING]), known, strict=True):
            if printed and its[:1].isdigit() and not f"{its}.".startswith(f"{printed}."):
                return say.other_version(tool, printed, its)
    return ""


def _of_run(document: Document) -> str:
    run = document.run
    if run.state is RunState.COMPLETE and not run.started and any(moment(t.started) for t in document.trials):
        return say.without_beginning()
    return say.left_off() if run.state is RunState.INCOMPLETE else ""


RULES: tuple[Rule, ...] = (_cards, _segments, _connections, _times, _windows, _tool, _of_another_kind, _answers)
