"""Holds one trial's figures against its seconds, the clock, the cards' counters, its commands and its tools' output.

Needs the seconds or the flows' bytes of a throughput trial, and the counters of a card at either end. If one of these
is missing, the figure is only a claim; if they disagree, one of them is wrong. Neither can give a PASS.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.as_commanded import as_commanded, pings_as_commanded, ran_elsewhere
from linkladder.judge.as_sold import cards
from linkladder.judge.by_second import of_seconds
from linkladder.judge.ceilings import counted_seconds, datagram, measurement_error
from linkladder.judge.contradictions import (
    contradiction,
    of_another_kind,
    of_connections,
    of_pings,
    of_probes,
    of_transactions,
)
from linkladder.judge.disorder import sent_again
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.recount import EXACT, of_leg, recount, refuted
from linkladder.judge.recount_answers import of_another_path, recount_answers
from linkladder.judge.shared_seconds import of_shared_seconds
from linkladder.model import (
    Company,
    Contract,
    Direction,
    Document,
    End,
    EndRecord,
    Experiment,
    Fault,
    NicCounters,
    Outcome,
    Protocol,
    Role,
    RungName,
    RungResult,
    TrialResult,
)
from linkladder.phrases import accounts as say
from linkladder.verdicts import Cause

AGREE = 0.02  # share of a result by which its flows may differ from it, besides the measuring error
WHOLE = 0.9  # share of the asked time that must have been counted
MOST = 0.45  # the same where a busy end closed a second too late, and it is left out
LONGEST = 2.0  # seconds: what lasts longer is no second closed late
SHARED = 1.5  # times a trial's bytes, those sent again included; headers never make a card count so much
COUNTED = 0.95  # share of a trial's bytes that the cards must have seen
ONE_BY_ONE = 0.99  # the same for paced UDP, where a card counts every datagram with its headers
TOO_MANY = 2.0  # times the packets that the cards received; sockets cannot have refused more datagrams than that
CLOCK = 1.0  # seconds that tool and wall clock may differ in a trial
SMALL = 1 << 20  # bytes below which a card's other traffic says nothing
LOADS = (Protocol.TCP, Protocol.UDP)

Said = tuple[Cause, str]


def doubt(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Said | None:
    """Why the trial's figures are doubtful, with the cause; None if nothing speaks against them."""
    return _refuted(t, p, rung, document) or (_contradicted(t, p, rung, document) if t.ok else None)


def _refuted(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Said | None:
    words = refuted(t, p, rung, document) if p.protocol in LOADS and t.fault is not Fault.TOOL else ""
    return (Cause.RAW_OUTPUT, words) if words else None


def _contradicted(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Said | None:
    each = [g.outcome for g in t.legs if g.role in (Role.LOAD, Role.PING)]
    answers = (
        *(of_pings(one.rtt) for one in each if one.rtt is not None),
        of_another_kind(t, p),
        *(of_probes(one.path_mtu) for one in each if one.path_mtu is not None),
        of_transactions(t, p),
    )
    if impossible := next(filter(None, answers), ""):
        return Cause.CONTRADICTION, impossible
    if words := of_another_path(t, p, rung) or recount_answers(t, p, rung, document):
        return Cause.RAW_OUTPUT, words
    if p.protocol not in (Protocol.TCP, Protocol.UDP):
        return pings_as_commanded(t, p, rung, document)
    known = {End.FAR, *(end.name for end in document.run.ends), *(n for q in rung.paths for n in (q.origin, q.peer))}
    if document.run.ends and (stranger := next((end.name for end in t.ends if end.name not in known), "")):
        return Cause.CONTRADICTION, say.unknown_end(stranger)
    if said := _evidence(t) or _seconds(t, p, rung) or _of_legs(t, p, rung) or _flows(t, p, rung) or _clock(t):
        return said
    if said := _datagrams(t, p, document.run.plan.contract):
        return said
    against = (contradiction(t, p, rung.paths), *of_seconds(t, p), *of_shared_seconds(t, p))
    if words := next(filter(None, against), ""):
        return Cause.CONTRADICTION, words
    if other := as_commanded(t, p, rung, document):
        return other
    if otherwise := recount(t, p, rung, document):
        return Cause.RAW_OUTPUT, otherwise
    if other := _counters(t, p, rung, document):
        return other
    if words := _misplaced(t, rung) or next(iter(of_connections(t, p)), ""):
        return Cause.CONTRADICTION, words
    words = ran_elsewhere(t, p, rung, document)
    return (Cause.RAW_OUTPUT, words) if words else None


def _misplaced(t: TrialResult, rung: RungResult) -> str:
    """What is wrong if a load's end records are not those of the ends that its path names; '' if they are."""
    for leg in t.legs:
        if leg.role is not Role.LOAD or not 0 <= leg.path < len(rung.paths):
            continue
        path = rung.paths[leg.path]
        sides = ((leg.near, path.origin or End.NEAR, path.remote), (leg.far, path.peer, path.local))
        for number, name, across in sides:
            if not 0 <= number < len(t.ends):
                return say.no_such_end(number)
            if name and not t.ends[number].of(name):
                return say.other_end(t.ends[number].name, name)
            seen = t.ends[number].sockets
            if across and path.local != path.remote and any(s.local == across for s in (seen.sockets if seen else ())):
                return say.sockets_of_other_end(t.ends[number].name, across)
    return ""


def _evidence(t: TrialResult) -> Said | None:
    if not t.intervals and not any(f.total_bytes or f.bytes for f in t.flows):
        return Cause.UNACCOUNTED, say.bare_figure()
    return None


def _seconds(t: TrialResult, p: Experiment, rung: RungResult) -> Said | None:
    """What is wrong if the counted seconds are missing or do not make the rate."""
    if not t.intervals:
        return None
    counted = [i for i in t.intervals if i.counted]
    if not counted:
        return Cause.CONTRADICTION, say.counted_too_short(0, p.duration)
    for way in ways(p):
        said = direction_bps(t, p, way)
        seconds = counted_seconds(t, p, way)
        if seconds < _least(t, p, way):
            return Cause.CONTRADICTION, say.counted_too_short(seconds, p.duration)
        shown = 8 * sum(i.bytes for i in counted if i.direction is way) / seconds
        if abs(said - shown) > EXACT * max(said, shown):
            return Cause.CONTRADICTION, say.seconds_make(said, shown, p, way, rung.paths)
    return None


def _least(t: TrialResult, p: Experiment, way: Direction) -> float:
    """How many seconds must have been counted: a busy end closes a second late, and what then reaches over the end of
    the warm-up or of the trial is left out.
    """
    first, last = p.warmup, p.warmup + p.duration
    over = (i for i in t.intervals if i.direction is way and not i.counted and i.end - i.start < LONGEST)
    excused = sum(
        min(i.end, last) - max(i.start, first) for i in over if i.start < first < i.end or i.start < last < i.end
    )
    return max(MOST * p.duration, WHOLE * p.duration - excused)


def _of_legs(t: TrialResult, p: Experiment, rung: RungResult) -> Said | None:
    """What is wrong if a load of several has another rate than its own seconds make; all together may hide that."""
    for leg in (leg for leg in t.legs if leg.role is Role.LOAD) if len(t.loads) > 1 else ():
        one = replace(t, legs=(leg,))
        counted = [i for i in one.intervals if i.counted]
        for way in ways(p) if counted else ():
            said = direction_bps(one, p, way)
            shown = 8 * sum(i.bytes for i in counted if i.direction is way) / max(0.1, counted_seconds(one, p, way))
            if abs(said - shown) > EXACT * max(said, shown):
                return Cause.CONTRADICTION, say.seconds_make(said, shown, of_leg(p, leg), way, rung.paths)
    return None


def _flows(t: TrialResult, p: Experiment, rung: RungResult) -> Said | None:
    """What is wrong if the flows are not as many as were asked for or do not make the rate together."""
    for way in ways(p):
        mine = [f for f in t.flows if f.direction is way]
        said = direction_bps(t, p, way)
        asked = p.streams * max(1, len(t.loads))  # on each of its paths
        if mine and len(mine) != asked:
            return Cause.CONTRADICTION, say.other_flows(len(mine), asked, p, way, rung.paths)
        made = sum(f.bps for f in mine)
        if mine and made <= 0 < said:
            return Cause.CONTRADICTION, say.flows_make(said, made, p, way, rung.paths)
        if made > 0 and said > made * (1 + 2 * AGREE + measurement_error(t, p)):
            return Cause.CONTRADICTION, say.flows_make(said, made, p, way, rung.paths)
        if len(t.loads) == 1 and made > said * (1 + 2 * AGREE + measurement_error(t, p)):
            return Cause.CONTRADICTION, say.flows_make(said, made, p, way, rung.paths)
        moved = sum(f.total_bytes for f in mine)
        if moved and said * p.duration / 8 > moved * (1 + 2 * AGREE):
            return Cause.CONTRADICTION, say.flows_moved(moved, said)
    return None


def _clock(t: TrialResult) -> Said | None:
    if t.seconds <= 0:
        return None
    loads = [(leg.began, leg.outcome) for leg in t.legs if leg.role is Role.LOAD]
    longest = max((began + _lasted(one) for began, one in loads), default=0.0)
    if longest > t.seconds + CLOCK:
        return Cause.CONTRADICTION, say.lasts_longer(longest, t.seconds)
    return None


def _lasted(one: Outcome) -> float:
    return max((*(i.end for i in one.intervals), *(f.seconds for f in one.flows)), default=0.0)


def _datagrams(t: TrialResult, p: Experiment, deal: Contract) -> Said | None:
    """What is wrong if the datagrams that were not lost do not make the rate."""
    if p.protocol is not Protocol.UDP or not t.datagrams or t.lost is None:
        return None
    arrived = (t.datagrams - t.lost) * datagram(p, deal) * 8 / max(0.1, counted_seconds(t, p))
    said = max(t.by_direction.values(), default=t.goodput_bps)
    if said > arrived * (1 + 0.05) or arrived > said * (1 + 0.25):
        return Cause.CONTRADICTION, say.datagrams_make(said, arrived)
    return None


def _counters(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Said | None:
    """What is wrong if the cards did not count the trial's bytes at both ends, or counted far more than those."""
    if not any(end.nics for end in t.ends):
        return Cause.UNACCOUNTED, say.no_counters()
    if rung.name is RungName.LOCALHOST:
        return None  # one machine: its loopback counts both ways at once, and nothing can leave by a wrong card
    for end in t.receivers(p.direction) if p.protocol is Protocol.UDP and t.lost else ():
        if (end.udp_dropped or 0) > TOO_MANY * end.carried.rx_packets > 0:
            return Cause.CONTRADICTION, say.more_dropped(end.name, end.udp_dropped or 0, end.carried.rx_packets)
    visitors = [g.outcome for g in t.legs if g.role is Role.VISITOR and p.company is Company.VISITED]
    visited = sum(f.total_bytes for one in visitors for f in one.flows)
    for way in ways(p):
        flows = sum(f.total_bytes for f in t.flows if f.direction is way)
        seconds = sum(i.bytes for i in t.intervals if i.direction is way)  # with those of the warm-up
        moved = flows or max(seconds, direction_bps(t, p, way) * counted_seconds(t, p, way) / 8)
        if moved < SMALL:
            continue
        back = sum(f.total_bytes for f in t.flows if f.direction is not way)
        most = SHARED * (moved + visited + sent_again(t.senders(way)) + 0.1 * back) + SMALL
        for inwards, ends in ((False, t.senders(way)), (True, t.receivers(way))):
            for end in ends:
                if strange := _of_other_cards(end, rung, document):
                    return Cause.UNACCOUNTED, strange
                if not end.nics:
                    return Cause.UNACCOUNTED, say.end_without_counters(end.name)
            counted = [card for end in ends for card in _of_path(end, rung, document)]
            saw = sum(card.rx_bytes if inwards else card.tx_bytes for card in counted)
            more = inwards and p.protocol is Protocol.TCP and saw > most
            least = ONE_BY_ONE if p.protocol is Protocol.UDP else COUNTED
            if saw < least * moved or more:
                named = [card.name for card in counted if card.name]
                whose = [end.name for end in ends]
                return Cause.UNACCOUNTED, say.counters_differ(named, whose, inwards, saw, moved)
    return None


def _of_other_cards(end: EndRecord, rung: RungResult, document: Document) -> str:
    """What is wrong if an end has counters only of cards without the rung's addresses; '' otherwise."""
    counted = {card.name for card in end.nics if card.name}
    known = _known_cards(end, rung, document)
    if not counted or not known or counted & known:
        return ""
    return say.other_cards(end.name, sorted(counted)[0], sorted(known)[0])


def _of_path(end: EndRecord, rung: RungResult, document: Document) -> tuple[NicCounters, ...]:
    """The counters of those cards of an end that have the rung's addresses, as other cards did not carry the load."""
    known = _known_cards(end, rung, document)
    return tuple(card for card in end.nics if not known or not card.name or card.name in known)


def _known_cards(end: EndRecord, rung: RungResult, document: Document) -> set[str]:
    """The names of the end's cards with the rung's addresses; empty if settings on loan may have made other cards."""
    if any(e.parameters.settings for e in rung.experiments):
        return set()
    return {nic.name for name, nic in cards(rung, document) if end.of(name)}
