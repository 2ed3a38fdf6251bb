"""Checks whether what was measured is what was sold: address family, class, packet size, and the link itself.

Needs the addresses of the rung or its flows, what the trials asked for, segment sizes and the interfaces' facts. An
unknown fact is not held against the run; a known difference means that something else was measured.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
import statistics
from dataclasses import replace
from functools import lru_cache

from linkladder.judge import evidence
from linkladder.judge.ceilings import IP_HEADER, TCP_HEADER, TIMESTAMPS, OverBoth, ceiling, rate_sold, versions
from linkladder.judge.disorder import sent_again
from linkladder.judge.evidence import ways
from linkladder.judge.withheld import STARVED, withheld
from linkladder.model import (
    Contract,
    Direction,
    Document,
    End,
    Layer,
    Nic,
    Path,
    Protocol,
    Role,
    RungName,
    RungResult,
    SocketStat,
    TrialResult,
)
from linkladder.phrases import as_sold as say
from linkladder.phrases.outages import of_path
from linkladder.verdicts import Cause, Concern, ExperimentJudgement, Verdict

ALIKE = 0.0015  # share by which a rate may miss a layer's ceiling; the ceilings of two layers differ by more
TAGGED = re.compile(r"^vlan\d+$|(\.\d+)+$")  # names of interfaces that put a VLAN tag on
LOADS = (Protocol.TCP, Protocol.UDP)
BESIDE = 1.5  # times a trial's bytes, those sent again included; headers make less
SMALL = 1 << 20  # bytes of other traffic that are ignored
SMALLER = 0.98  # share of the segment size that the MTU allows
BELOW = (RungName.SAME_HOST, RungName.SAME_VLAN)  # rungs between the same two ends


def sold(rung: RungResult, chosen: dict[str, ExperimentJudgement], deal: Contract, document: Document) -> list[Concern]:
    """Concerns about a service class, a packet size or a delay other than the contract's."""
    counting = {j.experiment for j in chosen.values()}
    loads = [e for e in rung.experiments if e.parameters.protocol in LOADS]
    trials = [t for e in loads for t in e.trials if t.ok]
    found: list[Concern] = []
    asked = [e.parameters for e in loads if e.parameters.id in counting or not counting]
    classes = sorted({p.dscp for p in asked if p.dscp != deal.dscp})
    if classes:
        found.append(Concern(Cause.NOT_AS_SOLD, say.other_class(classes, deal.dscp), Verdict.CANNOT_JUDGE))
    found += _limits_of_another_class(rung, deal)
    if small := _segments(trials, deal):
        found.append(small)
    larger = {nic.mtu for _, nic in cards(rung, document) if nic.mtu > deal.mtu}
    mss_known = any(s.mss is not None for t in trials for end in t.ends if end.sockets for s in end.sockets.sockets)
    if (
        len(larger) == 1
        and len({end for end, nic in cards(rung, document) if nic.mtu > deal.mtu}) > 1
        and not mss_known
    ):
        found.append(Concern(Cause.NOT_AS_SOLD, say.maybe_larger(larger.pop(), deal.mtu), provisional=True))
    return [*found, *_delay(rung, deal, document)]


def _limits_of_another_class(rung: RungResult, deal: Contract) -> list[Concern]:
    """Concerns if paced UDP or idle pings, which the limits rest on, never ran in the class that was sold."""
    found = []
    for kind in (Protocol.UDP, Protocol.ECHO):
        ran = {e.parameters.dscp for e in rung.experiments if e.parameters.protocol is kind and e.trials}
        if ran and deal.dscp not in ran:
            said = say.limits_of_another_class(kind is Protocol.UDP, sorted(ran), deal.dscp)
            found.append(Concern(Cause.NOT_AS_SOLD, said, Verdict.CANNOT_JUDGE))
    return found


def _delay(rung: RungResult, deal: Contract, document: Document) -> list[Concern]:
    """Concerns about each path's delay against the contract's limit; of several series of pings the slowest counts."""
    limit = deal.delay_ms
    if limit is None:
        return []
    typical = {n: _typical(rung, n) for n in range(max(1, len(rung.paths)))}
    loads = [g for e in rung.experiments if e.parameters.protocol in LOADS for t in e.trials for g in t.legs]
    loaded = {g.path for g in loads if g.role is Role.LOAD}
    lacking = [n for n in typical if not typical[n] and n in loaded]
    if lacking or not any(typical.values()):
        which = of_path(rung.paths, lacking, Direction.FORWARD) if lacking and len(rung.paths) > 1 else ""
        return [
            Concern(Cause.DELAY, say.delay_unknown(limit, which), Verdict.INCOMPLETE),
            *_above(typical, rung, limit, document),
        ]
    return _above(typical, rung, limit, document)


def _above(typical: dict[int, list[float]], rung: RungResult, limit: float, document: Document) -> list[Concern]:
    found = []
    for number, middle in ((n, max(seen)) for n, seen in typical.items() if seen):
        if middle <= limit:
            continue
        verdict, said = Verdict.FAIL, say.delay_above(middle, limit)
        as_long = [
            (below.name, without)
            for below in document.rungs
            if below.name in BELOW and len(rung.paths) == len(below.paths) == 1
            if (without := max(_typical(below, 0), default=0.0)) > limit >= middle - without
        ]
        if as_long:
            verdict, said = Verdict.CANNOT_JUDGE, say.as_long_below(said, *as_long[0])
        elif weak := _starved(rung, number):
            verdict, said = Verdict.CANNOT_JUDGE, say.end_hardly_ran(said, weak)
        found.append(Concern(Cause.DELAY, said, verdict, figures={"rtt_ms": middle}, paths=(number,)))
    return found


def _typical(rung: RungResult, number: int) -> list[float]:
    """The median of each series of pings on that path, idle, that was answered at all."""
    echo = [e for e in rung.experiments if e.parameters.protocol is Protocol.ECHO]
    legs = [g for e in echo for t in e.trials for g in t.legs if g.role is Role.LOAD and g.path == number]
    series = [g.outcome.rtt for g in legs if g.outcome.ok and g.outcome.rtt is not None and g.outcome.rtt.received]
    middles = [r.p50_ms if r.p50_ms is not None else r.avg_ms for r in series]
    return [ms for ms in middles if ms is not None]


def _starved(rung: RungResult, number: int) -> str:
    """The end of that path that a quota or a hypervisor starved in most trials with load; '' if none.

    Trials with load are used because CPU is never withheld from an end that is idle except for pings.
    """
    loads = [e for e in rung.experiments if e.parameters.protocol in LOADS]
    shares: dict[str, list[float]] = {}
    for end in (end for e in loads for t in e.trials if t.ok for end in evidence.of_path(t, number).ends):
        shares.setdefault(end.name, []).append(withheld(end.cpu))
    return next((name for name, seen in shares.items() if statistics.median(seen) >= STARVED), "")


def elsewhere(rung: RungResult, deal: Contract, document: Document) -> list[Concern]:
    """Concerns if the flows did not run between the rung's own addresses, or these are not on two machines."""
    trials = [t for e in rung.experiments if e.parameters.protocol in LOADS for t in e.trials if t.ok]
    own = {a for p in rung.paths for a in (p.local, p.remote) if a}
    flows = {a for t in trials for f in t.flows for a in (f.local, f.remote) if a}
    flows |= {a for t in trials for s in _sockets(t) for a in (s.local, s.remote) if as_address(a)}
    used = own | flows
    known = [a for a in map(as_address, used) if a is not None]
    found = []
    looped = [a for a in known if a.is_loopback]
    if looped:
        found.append(Concern(Cause.ELSEWHERE, say.looped(looped[0], rung.name), Verdict.CANNOT_JUDGE))
    same = next((p.local for p in rung.paths if p.local and p.local == p.remote), "")
    if same and not looped:
        found.append(Concern(Cause.ELSEWHERE, say.one_address(same, rung.name), Verdict.CANNOT_JUDGE))
    home = next((p for p in rung.paths if p.remote in _addresses(document, p.origin or "near")), None)
    if home is not None and home.remote and not looped and not same:
        found.append(Concern(Cause.ELSEWHERE, say.own_address(home.remote, rung.name), Verdict.CANNOT_JUDGE))
    names = dict.fromkeys(name for p in rung.paths or (rung.path,) for name in (p.origin or "near", p.peer))
    machines = itertools.combinations([_macs(document, name) for name in names], 2)  # no two ends may be one machine
    alike = next((one for one, other in machines if one and one == other), None)
    if alike and not looped and not same:
        found.append(Concern(Cause.ELSEWHERE, say.same_cards(sorted(alike)[0], rung.name), Verdict.CANNOT_JUDGE))
    other = [a for a in known if a.version != deal.ip_version]
    if isinstance(deal, OverBoth):
        found.append(Concern(Cause.SEEN, say.both_ip_versions()))
    elif other:
        said = say.other_ip_version(other[0].version, deal.ip_version)
        found.append(Concern(Cause.NOT_AS_SOLD, said, Verdict.CANNOT_JUDGE))
    strange = sorted(flows - own)
    if len(own) > 1 and strange and not looped:
        found.append(Concern(Cause.ELSEWHERE, say.strange_address(strange[0]), Verdict.CANNOT_JUDGE))
    if trials and any(not p.local or not p.remote for p in rung.paths or (rung.path,)):
        found.append(Concern(Cause.ELSEWHERE, say.no_addresses(), provisional=True))
    inside = next((nic.name for _, nic in cards(rung, document) if nic.loopback), "")
    if inside and not looped:
        found.append(Concern(Cause.ELSEWHERE, say.inside_card(inside, rung.name), Verdict.CANNOT_JUDGE))
    return found


def _addresses(document: Document, name: str) -> set[str]:
    host = document.run.facts(name)
    return {address for nic in host.nics for address in nic.addresses} if host else set()


def _macs(document: Document, name: str) -> set[str]:
    host = document.run.facts(name)
    return {nic.mac for nic in host.nics if nic.mac.strip("0:") and not nic.loopback} if host else set()


@lru_cache(maxsize=4096)  # the same few words of commands are asked for again and again
def as_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address, without the card that it may name; None if it is none."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _sockets(t: TrialResult) -> tuple[SocketStat, ...]:
    return tuple(s for end in t.ends if end.sockets for s in end.sockets.sockets)


def _segments(trials: list[TrialResult], deal: Contract) -> Concern | None:
    """A concern if segments are smaller than the MTU allows, as the ceiling was counted for full-sized packets."""
    sizes = []
    for t in trials:
        senders = [s for end in t.ends if end.sockets for s in end.sockets.sockets]
        # a socket that only acknowledges never learns the path's MTU
        known = [s.mss for s in senders if s.mss is not None and (s.sent_bytes or 0) > 100 * s.mss]
        sizes += [max(known)] if known else []
    header = max(map(IP_HEADER.__getitem__, versions(deal)))
    room = deal.mtu - header - TCP_HEADER - (TIMESTAMPS if deal.timestamps else 0)
    if not sizes or min(sizes) >= SMALLER * room:
        return None
    said = say.small_segments(min(sizes), deal.mtu, room)
    return Concern(Cause.NOT_AS_SOLD, said, Verdict.CANNOT_JUDGE, figures={"mss": float(min(sizes))})


def own_cards(rung: RungResult, deal: Contract, document: Document) -> list[Concern]:
    """Concerns about the ends' own cards, before the link is blamed: too slow, with a small MTU, or in trouble."""
    on: dict[str, list[int]] = {}  # for each sentence, the paths that use the card
    unequal: dict[str, list[int]] = {}
    needed = rate_sold(deal)
    for number, path in enumerate(rung.paths):
        both = cards_of(path, document)
        said = []
        for end, nic in both:
            if nic.speed_bps is not None and 0 < nic.speed_bps < needed:
                said.append(say.slow_card(nic.name, end, nic.speed_bps, needed))
            if nic.half_duplex:
                said.append(say.half_duplex(nic.name, end))
            if nic.mtu and nic.mtu < deal.mtu:
                said.append(say.small_mtu(nic.name, end, nic.mtu, deal.mtu))
        for one in said:
            on.setdefault(one, []).append(number)
        mtus = {nic.mtu for _, nic in both if nic.mtu}
        if len(mtus) > 1 and not said:
            unequal.setdefault(say.unequal_mtus(mtus), []).append(number)
    found = [
        Concern(Cause.OWN_CARD, said, Verdict.CANNOT_JUDGE, excuses=True, paths=tuple(paths))
        for said, paths in on.items()
    ]
    found += [
        Concern(Cause.OWN_CARD, said, provisional=True, excuses=True, paths=tuple(paths))
        for said, paths in unequal.items()
    ]
    return [*found, *_tags(rung, deal, document), *_other_traffic(rung), *card_troubles(rung, document)]


def _tags(rung: RungResult, deal: Contract, document: Document) -> list[Concern]:
    """A concern if the frames do not have the VLAN tags of the contract, which the names of the cards tell.

    Needs both ends' cards. A virtual machine's card needs no tag, as the virtual switch may add it; on bare metal
    untagged frames were measured, unless the port of the switch adds the tag.
    """
    found = [(end, nic.name, tags(nic.name)) for end, nic in cards(rung, document) if not nic.loopback]
    if not found:
        return []
    end, name, most = max(found, key=lambda one: len(one[2]))
    if len(most) > deal.vlan_tags:
        return [Concern(Cause.NOT_AS_SOLD, say.tagged(name, end, len(most), deal.vlan_tags), provisional=True)]
    numbers = {".".join(own) for _, _, own in found if own and "" not in own}
    if rung.name is RungName.SAME_VLAN and len(numbers) > 1:
        return [Concern(Cause.NOT_AS_SOLD, say.other_vlans(numbers), provisional=True)]
    if most or not deal.vlan_tags or len({one[0] for one in found}) < 2:
        return []
    hosts = [document.run.facts(one[0]) for one in found]
    bare = all(host is not None and not host.virtual for host in hosts)
    return [Concern(Cause.NOT_AS_SOLD, say.untagged(deal.vlan_tags, bare), provisional=bare)]


def tags(card: str) -> tuple[str, ...]:
    """The VLAN numbers in an interface's name, the outer one first; "" for a tag without its number in the name."""
    tagged = TAGGED.search(card)
    if tagged is None:
        return ()
    return tuple(tagged[0].strip(".").split(".")) if tagged[0].startswith(".") else ("",)


def layer(chosen: dict[str, ExperimentJudgement], deal: Contract) -> list[Concern]:
    """A concern if a rate is just at the ceiling of another layer, which suggests that the carrier counts that layer.

    Needs a rate below its own ceiling by more than its spread explains.
    """
    best = ceiling(deal).bps
    for j in chosen.values():
        if j.spread is None or deal.rate_bps is None or j.spread.high > best * (1 - ALIKE):
            continue
        for other in Layer:
            there = ceiling(replace(deal, layer=other)).bps
            if other is not deal.layer and there < best and abs(j.spread.median / there - 1) < ALIKE:
                said = say.other_layer(j.spread.median, str(other), str(deal.layer))
                return [Concern(Cause.NOT_AS_SOLD, said)]
    return []


def _other_traffic(rung: RungResult) -> list[Concern]:
    """A concern if a sender's card sent far more than the trial did, what TCP sent again included: other traffic
    used it.
    """
    found, measured = [], 0
    for e in rung.experiments:
        for way in ways(e.parameters) if e.parameters.protocol is Protocol.TCP else ():
            for t in e.trials:
                moved = sum(f.total_bytes for f in t.flows if f.direction is way)
                back = sum(f.total_bytes for f in t.flows if f.direction is not way)
                sent = sum(end.carried.tx_bytes for end in t.senders(way))
                measured += t.ok and moved > 0
                again = sent_again(t.senders(way))
                if t.ok and moved and sent > BESIDE * (moved + again + 0.1 * back) + SMALL:
                    found.append(say.other_traffic([end.name for end in t.senders(way)], sent, moved))
    if not found or 2 * len(found) < measured:
        return []
    return [Concern(Cause.OWN_CARD, found[0], provisional=True, excuses=True)]


def cards(rung: RungResult, document: Document) -> list[tuple[str, Nic]]:
    """The interfaces of the rung's paths, each with its end's name."""
    return [card for path in rung.paths for card in cards_of(path, document)]


def cards_of(p: Path, document: Document) -> list[tuple[str, Nic]]:
    """The path's two interfaces, each with its end's name, or those that are known."""
    found = []
    for name, side in ((p.origin or "near", End.NEAR), (p.peer, End.FAR)):
        host = document.run.facts(name)
        nic = host.card(*p.side(side)) if host else None
        if nic is not None:
            found.append((name, nic))
    return found


def card_troubles(rung: RungResult, document: Document) -> list[Concern]:
    """Concerns about CRC and other errors, frames dropped at a full ring, and pause frames of the ends' cards."""
    sums: dict[tuple[str, str, str], int] = {}
    packets: dict[tuple[str, str], int] = {}
    paths: dict[tuple[str, str], set[int]] = {}
    for e in rung.experiments:
        for t in e.trials:
            for number, end, c in ((n, one.name, card) for n, one in enumerate(t.ends) for card in one.nics):
                paths.setdefault((end, c.name), set()).update(_paths_of(rung, document, t, number, c.name))
                packets[end, c.name] = packets.get((end, c.name), 0) + c.rx_packets + c.tx_packets
                for counter in say.TROUBLES:
                    if count := getattr(c, counter) or 0:
                        sums[end, c.name, counter] = sums.get((end, c.name, counter), 0) + count
    found = []
    for (end, name, counter), count in sums.items():
        share = count / max(1, packets[end, name])
        said = say.card_trouble(name, end, counter, count)
        figures = {"count": float(count), "share": share}
        many = share > 1e-3
        on = tuple(sorted(paths[end, name]))
        found.append(Concern(Cause.OWN_CARD, said, provisional=many, excuses=many, figures=figures, paths=on))
    return found


def _paths_of(rung: RungResult, document: Document, t: TrialResult, number: int, card: str) -> set[int]:
    """The paths of the trial that use this card of its end `number`; all at that end if none is known to."""
    at_it = {g.path for g in t.legs if number in (g.near, g.far) and 0 <= g.path < len(rung.paths)}
    known = {n: [nic.name for name, nic in cards_of(rung.paths[n], document) if t.ends[number].of(name)] for n in at_it}
    return {n for n in at_it if card in known[n]} or at_it
