"""Figures of one trial that cannot all be true: what one event left in several places of the document is compared.

Needs only the trial and what was asked of it.  What a place does not tell is not held against it here; whether enough
is told for a verdict is `accounts`' question.  Only what no run of linkladder writes is a contradiction, never what is
odd.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from linkladder import phrases, units
from linkladder.judge.ceilings import counted_seconds
from linkladder.judge.evidence import ways
from linkladder.model import CpuUse, Experiment, NicCounters, PathMtu, Protocol, Rtt, TrialResult

AGREE = 0.02  # of a sum of bytes
EDGE = 1.5  # seconds by which the counted part may be longer than asked
WHOLE = 0.9  # of the asked time that each flow must have run
LOST = 0.001  # of the datagrams
FULL = 110.0  # percent of a core; clocks of two kinds are compared, so that a little more than all can be read


def contradiction(t: TrialResult, p: Experiment) -> str:
    """The first of a throughput trial; '' where all can be true."""
    rules = (_ways(t, p), _seconds(t, p), _flows(t, p), _datagrams(t, p), _negative(t), _ends(t))
    return next((said for rule in rules for said in rule), "")


def _ways(t: TrialResult, p: Experiment) -> Iterable[str]:
    asked = {str(way) for way in ways(p)}
    told = t.by_direction
    if strange := sorted(set(told) - asked):
        yield f"it was measured {' and '.join(map(phrases.way, strange))}, which was not asked for"
    total = sum(told.values())
    if told and abs(total - t.goodput_bps) > AGREE * max(total, t.goodput_bps):
        yield f"its directions make {units.rate(total)} together, it claims {units.rate(t.goodput_bps)}"


def _seconds(t: TrialResult, p: Experiment) -> Iterable[str]:
    if t.seconds < 0:
        yield "it ended before it began"
    if any(i.start < -0.5 for i in t.intervals):
        yield "seconds of before its beginning are in it"
    counted = [i for i in t.intervals if i.counted]
    if not counted:
        return
    took = counted_seconds(t, p)
    if took > p.duration + EDGE:
        yield f"{took:.1f} s were counted where {p.duration:g} s were asked for"
    if min(i.start for i in counted) < p.warmup - 0.5:
        yield f"seconds of the warm-up of {p.warmup:g} s were counted"
    for way in ways(p):
        spans = sorted((i.start, i.end) for i in counted if i.direction is way)
        if any(later[0] < first[1] - 0.5 for first, later in itertools.pairwise(spans)):
            yield "its seconds overlap"


def _flows(t: TrialResult, p: Experiment) -> Iterable[str]:
    known = [f for f in t.flows if f.local_port or f.remote_port]
    seen = Counter((f.direction, f.local, f.local_port, f.remote, f.remote_port) for f in known)
    if any(count > 1 for count in seen.values()):
        yield "two of its flows are one, by addresses and ports"
    for f in t.flows:
        if len(t.flows) > 1 and not f.total_bytes and any(one.total_bytes for one in t.flows):
            yield "one of its flows carried nothing"
        if 0 < f.seconds < WHOLE * p.duration:
            yield f"one of its flows lasted {f.seconds:.1f} of {p.duration:g} s"


def _datagrams(t: TrialResult, p: Experiment) -> Iterable[str]:
    """Loss is told of the trial, of its flows and of its seconds; who keeps the pace cannot deliver more than that."""
    if p.protocol is not Protocol.UDP:
        return
    arrived = t.goodput_bps
    for what, offered in (("were asked for", p.udp_rate_bps), ("were sent", t.offered_bps)):
        if offered and arrived > 1.05 * offered:
            yield f"{units.rate(arrived)} arrived where {units.rate(offered)} {what}"
    if not t.datagrams or t.lost is None:
        return
    share = t.lost / t.datagrams
    for parts in (t.flows, [i for i in t.intervals if i.counted]):
        lost = sum(one.lost or 0 for one in parts)
        sent = sum(one.datagrams or 0 for one in parts)
        if sent and lost > 20 and lost / sent > share + max(LOST, 0.2 * share):
            yield f"{share:.2%} of its datagrams are said to be lost, its parts say {lost / sent:.2%}"


def _negative(t: TrialResult) -> Iterable[str]:
    """Counters only grow: one that went backwards was reset or wrapped in mid-trial, and its difference is no count."""
    for end in t.ends:
        for card in end.nics:
            if said := _backwards(card):
                yield f"{said} of {card.name or 'the card'} of the {end.name} end went backwards"
        told = end.tcp
        if told is not None and any(
            v is not None and v < 0 for v in (told.segments_sent, told.retransmits, told.out_of_order)
        ):
            yield f"the TCP counters of the {end.name} end went backwards"


def _backwards(card: NicCounters) -> str:
    counts = {
        "bytes": (card.rx_bytes, card.tx_bytes),
        "packets": (card.rx_packets, card.tx_packets),
        "errors": (card.rx_errors, card.tx_errors, card.crc_errors or 0),
        "drops": (card.rx_drops, card.tx_drops),
    }
    return next((f"the {what}" for what, values in counts.items() if min(values) < 0), "")


def _ends(t: TrialResult) -> Iterable[str]:
    for end in t.ends:
        if end.cpu is not None and (busy := _no_share(end.cpu)) is not None:
            yield f"a core of the {end.name} end is said to be {busy:.0f} % busy"


def _no_share(cpu: CpuUse) -> float | None:
    shares = (cpu.busiest, cpu.percent, *cpu.per_core, 100 * (cpu.starved or 0.0))
    return next((v for v in shares if not -1 <= v <= FULL), None)


def of_pings(r: Rtt) -> str:
    """What a series of pings cannot be."""
    if not 0 <= r.received <= r.sent:
        return f"{r.received} of {r.sent} pings were answered"
    if any(v is not None and v < 0 for v in (r.min_ms, r.avg_ms, r.max_ms, r.p50_ms, r.p95_ms, *r.samples_ms)):
        return "a round trip is shorter than nothing"
    return ""


def of_probes(found: PathMtu) -> str:
    """What DF probes cannot be."""
    if set(found.passed) & set(found.failed):
        return "a size of packets both passed and failed"
    if found.passed and found.mtu is not None and found.mtu != max(found.passed):
        return f"packets of {found.mtu} are said to pass where {max(found.passed)} is the largest that did"
    return ""
