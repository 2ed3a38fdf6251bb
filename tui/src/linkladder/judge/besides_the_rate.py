"""Finds what a rate alone does not show: unanswered pings, repeated segments, starved flows, long queues.

A rule whose data is missing says nothing, except that a limit of the contract is reported if no jitter was measured, or
if pings were sent in vain and nothing else shows the loss.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from dataclasses import replace

from linkladder import tools
from linkladder.judge.contradictions import contradiction
from linkladder.judge.evidence import direction_bps, of_path, ways
from linkladder.judge.outages import by_chance
from linkladder.judge.recount import whole
from linkladder.judge.udp import above_contract, saturated
from linkladder.model import (
    Command,
    Contract,
    Direction,
    End,
    ExperimentResult,
    Fault,
    Leg,
    Protocol,
    Role,
    Rtt,
    RungResult,
    TrialResult,
)
from linkladder.phrases import besides_the_rate as say
from linkladder.verdicts import Cause, Concern, Verdict

FEW = 0.01  # probability of so many lost pings, on a link that keeps its limit, below which they count
AGAIN = 0.005  # share of the segments that were sent again
STARVED_FLOW = 0.5  # share of the median flow's rate
BLOAT_MS = 100.0
LESS = 0.8  # share of what fewer streams carry
TWICE = 2.0  # times the other end's round trip; with less than that apart, both saw the same
LONG_OUTPUT = 1 << 20  # characters of one ping's output that are not read again
FEW_ANSWERS = 2  # with another TTL; a single one may have come by chance over another way
OUT_OF_ORDER = 0.01  # share of the segments


def besides_the_rate(rung: RungResult, deal: Contract) -> list[Concern]:
    """Findings, with a verdict where the contract sets a limit on what was found."""
    tcp = [e for e in rung.experiments if e.parameters.protocol is Protocol.TCP]
    return [
        *_jitter(rung, deal),
        *(c for e in tcp for c in _again(e, rung)),
        *(c for e in tcp for c in _flows(e, rung)),
        *_bloat(rung, tcp),
        *_streams(tcp, rung),
        *_one_way_only(tcp),
    ]


def _jitter(rung: RungResult, deal: Contract) -> list[Concern]:
    """Concerns about the jitter of paced UDP in each direction; an end that gets little CPU may itself cause it."""
    limit = deal.jitter_ms
    if limit is None:
        return []
    udp = [e for e in rung.experiments if e.parameters.protocol is Protocol.UDP]
    within = [e for e in udp if not above_contract(e.parameters, deal)]  # above the contracted rate queues are normal
    trials = [(t, e.parameters) for e in within for t in e.trials if t.ok and t.jitter_ms is not None]
    loads = (e.parameters for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP))
    asked = dict.fromkeys(way for p in loads for way in ways(p))
    paths = range(max(1, len(rung.paths)))
    known = {
        (leg.path, way)
        for t, p in trials
        for leg in t.legs
        if leg.role is Role.LOAD and leg.outcome.jitter_ms is not None
        for way in ways(p)
    }
    lacking = [way for way in asked if any((n, way) not in known for n in paths)]
    unknown = [say.jitter_unknown(limit, way, rung.paths) for way in lacking] if known else [say.jitter_unknown(limit)]
    found = [Concern(Cause.JITTER, said, Verdict.INCOMPLETE) for said in unknown]
    above = [
        (leg.outcome.jitter_ms, saturated([of_its_ends(t, leg)]), leg.path)
        for t, p in trials
        if not contradiction(t, p)  # a trial that contradicts itself is reported elsewhere
        for leg in t.legs
        if leg.role is Role.LOAD and leg.outcome.jitter_ms is not None and leg.outcome.jitter_ms > limit
    ]
    worst: dict[int, tuple[float, str, int]] = {}  # of each path
    for one in sorted(above, key=lambda one: (bool(one[1]), -one[0])):
        worst.setdefault(one[2], one)
    for ms, weak, path in worst.values():
        said = say.jitter_above(ms, limit, weak)
        verdict = Verdict.CANNOT_JUDGE if weak else Verdict.FAIL
        found.append(Concern(Cause.JITTER, said, verdict, figures={"jitter_ms": ms}, paths=(path,)))
    return found


def pings(rung: RungResult, deal: Contract) -> list[Concern]:
    """Concerns about unanswered pings: on each idle path against the contract's loss limit, under load as a finding."""
    idle: dict[int, list[Rtt]] = {}
    why: dict[int, str] = {}  # of a path whose pings the tool or an end failed
    series = [(e.parameters, t) for e in rung.experiments if e.parameters.protocol is Protocol.ECHO for t in e.trials]
    for p, leg in ((p, g) for p, t in series for g in t.legs if g.role is Role.LOAD):
        if leg.outcome.rtt or leg.outcome.fault is Fault.PATH:
            idle.setdefault(leg.path, []).append(leg.outcome.rtt or Rtt(p.count, 0))
        else:
            why.setdefault(leg.path, leg.outcome.reason)
    found = []
    if any(t.fault is Fault.PATH and t.rtt and t.rtt.received == t.rtt.sent > 0 for _, t in series):
        found.append(Concern(Cause.CONTRADICTION, say.failed_and_answered(), provisional=True))
    for path, known in idle.items():
        unplugged = any(of_path(t, path).carriers_lost for _, t in series)
        if any(r.received for r in known):
            found += [replace(c, paths=(path,)) for c in _unanswered(known, deal, len(idle), unplugged)]
        elif any(r.sent for r in known):
            in_vain = _in_vain(sum(r.sent for r in known), rung, path, deal, unplugged)
            found.append(replace(in_vain, paths=(path,)))
    unknown = [why[path] for path in why if path not in idle and not datagrams_tell(rung, deal, path)]
    if unknown:
        said = say.pings_failed(unknown[0], deal.loss_percent)
        found.append(Concern(Cause.PING_LOSS, said, Verdict.INCOMPLETE))
    return [*found, *_lost_beside(rung)]


def _lost_beside(rung: RungResult) -> Iterator[Concern]:
    """Findings about pings of either end that were lost beside loads, whichever path they were on."""
    legs = [g for e in rung.experiments for t in e.trials if t.ok for g in t.legs if g.role is Role.PING]
    for by in End:
        under = [g.outcome.rtt for g in legs if g.pinged_by is by and g.outcome.rtt is not None]
        sent, got = sum(r.sent for r in under), sum(r.received for r in under)
        if 0 < got < 0.98 * sent:  # of none at all tells `beside_loads`
            figures = {"pings_lost": float(sent - got), "pings_sent": float(sent)}
            yield Concern(Cause.PING_LOSS, say.pings_beside_lost(sent - got, sent, by), figures=figures)


def beside_loads(rung: RungResult, deal: Contract) -> list[Concern]:
    """Concerns, of a PASS alone, about pings beside a load that one end lost or waited for, and not the other.

    Where one end's all went unanswered, or took far longer than the other's at the same time, no PASS is firm.
    """
    return [*_all_lost(rung), *_far_apart(rung, deal)]


def _beside(e: ExperimentResult) -> Iterator[Leg]:
    for t in e.trials:
        if t.ok:
            yield from (g for g in t.legs if g.role is Role.PING)


def _all_lost(rung: RungResult) -> Iterator[Concern]:
    """Concerns about ends none of whose pings beside a load was answered, where pings are answered otherwise."""
    every = [leg for e in rung.experiments for t in e.trials for leg in t.legs]
    answered = {leg.path for leg in every if leg.outcome.rtt is not None and leg.outcome.rtt.received}
    for e in rung.experiments:
        for by in End:
            mine = [leg for leg in _beside(e) if leg.pinged_by is by and leg.path in answered and _lost(leg)]
            if mine:
                sent = sum(leg.outcome.rtt.sent for leg in mine if leg.outcome.rtt is not None)
                said = say.none_beside(e.parameters, by, len(mine), sent, rung.paths)
                figures = {"pings_lost": float(sent), "pings_sent": float(sent)}
                yield Concern(Cause.PING_LOSS, said, Verdict.PASS, provisional=True, figures=figures)


def _lost(leg: Leg) -> bool:
    seen = leg.outcome.rtt
    return leg.outcome.fault is Fault.PATH if seen is None else seen.sent > 0 and not seen.received


def _far_apart(rung: RungResult, deal: Contract) -> Iterator[Concern]:
    """A concern if one end's round trips are longer than the other's by more than the contract's limit of delay.

    Both saw the same queue at the same time, so that it cannot be the reason.
    """
    limit = deal.delay_ms
    for e in rung.experiments if limit is not None else ():
        for t in e.trials:
            seen = {by: t.pinged_under_load(by) for by in End}
            typical = {by: r.p50_ms for by, r in seen.items() if r is not None and r.p50_ms is not None}
            if not t.ok or len(typical) < 2:
                continue
            slow, quick = sorted(typical, key=lambda by: -typical[by])
            if typical[slow] - typical[quick] > (limit or 0.0) and typical[slow] > TWICE * typical[quick]:
                said = say.ends_apart(
                    e.parameters, t.repeat, slow, typical[slow], typical[quick], limit or 0.0, rung.paths
                )
                figures = {"rtt_ms": typical[slow]}
                yield Concern(Cause.DELAY, said, Verdict.PASS, provisional=True, figures=figures)
                return


def _unanswered(idle: list[Rtt], deal: Contract, paths: int, unplugged: bool) -> list[Concern]:
    """Concerns about one path's unanswered pings; the more `paths`, the more likely one of them has bad luck.

    If a card had no link meanwhile (`unplugged`), it is not the path that is to blame.
    """
    sent, got = sum(r.sent for r in idle), sum(r.received for r in idle)
    figures = {"pings_lost": float(sent - got), "pings_sent": float(sent)}
    if sent <= got:
        return []
    if by_chance(sent - got, sent, deal.loss_percent / 100) < FEW / paths:
        said = say.pings_lost(sent - got, sent, deal.loss_percent)
        return [Concern(Cause.PING_LOSS, said, Verdict.CANNOT_JUDGE if unplugged else Verdict.FAIL, figures=figures)]
    return [Concern(Cause.PING_LOSS, say.pings_lost(sent - got, sent), figures=figures)]


def _in_vain(sent: int, rung: RungResult, path: int, deal: Contract, unplugged: bool) -> Concern:
    """A concern about a path on which none of the idle pings was answered.

    Where pings beside a load were answered none are filtered, so that all were lost, on the path unless a card had no
    link (`unplugged`). Otherwise nothing is known of loss but by paced UDP.
    """
    figures = {"pings_lost": float(sent), "pings_sent": float(sent)}
    beside = [
        g.outcome.rtt.received
        for e in rung.experiments
        for t in e.trials
        for g in t.legs
        if g.role is Role.PING and g.path == path and g.pinged_by is End.NEAR and g.outcome.rtt
    ]
    if any(beside) and deal.loss_percent < 100:
        said = say.no_idle_ping(sent, sum(beside), deal.loss_percent)
        verdict = Verdict.CANNOT_JUDGE if unplugged else Verdict.FAIL
        return Concern(Cause.PING_LOSS, said, verdict, figures=figures)
    if deal.loss_percent < 100 and not datagrams_tell(rung, deal, path):
        return Concern(Cause.PING_LOSS, say.loss_unknown(sent, deal.loss_percent), Verdict.INCOMPLETE, figures=figures)
    return Concern(Cause.PING_LOSS, say.no_ping(sent), figures=figures)


def datagrams_tell(rung: RungResult, deal: Contract, path: int) -> bool:
    """Whether paced UDP within the contract tells of loss in each direction that was loaded, on that path.

    How little it may tell by its number is judged in `loss_bound`.
    """
    loads = [e for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP)]
    counted_in = {
        way
        for e in loads
        if e.parameters.protocol is Protocol.UDP and not above_contract(e.parameters, deal)
        for t in e.trials
        for g in t.legs
        if g.role is Role.LOAD and g.path == path and g.outcome.datagrams and g.outcome.lost is not None
        for way in ways(e.parameters)
    }
    return counted_in >= {way for e in loads for way in ways(e.parameters)}


def of_its_ends(t: TrialResult, leg: Leg) -> TrialResult:
    """The trial with the records of only those ends between which `leg` ran."""
    return replace(t, ends=tuple(end for n, end in enumerate(t.ends) if n in (leg.near, leg.far)))


def _idle(rung: RungResult) -> Rtt | None:
    series = (t.rtt for e in rung.experiments if e.parameters.protocol is Protocol.ECHO for t in e.trials if t.ok)
    return next((r for r in series if r is not None and r.received), None)


def _again(e: ExperimentResult, rung: RungResult) -> list[Concern]:
    """Findings about segments that were sent again or arrived out of order."""
    found = []
    for way in ways(e.parameters):
        shares, mixed = [], []
        for t in e.trials:
            sent, heard = t.sender(way).tcp, t.receiver(way).tcp
            again = share_sent_again(t, way)
            if t.ok and again is not None:
                shares.append(again)
            if t.ok and heard and heard.out_of_order is not None and sent and sent.segments_sent:
                mixed.append(heard.out_of_order / sent.segments_sent)
        if shares and (share := statistics.median(shares)) > AGAIN:
            said = say.sent_again(e.parameters, way, share, rung.paths)
            found.append(Concern(Cause.SEEN, said, figures={"retransmit_share": share}))
        if mixed and (share := statistics.median(mixed)) > OUT_OF_ORDER:
            said = say.out_of_order(e.parameters, way, share, rung.paths)
            found.append(Concern(Cause.SEEN, said, figures={"out_of_order_share": share}))
    return found


def share_sent_again(t: TrialResult, way: Direction) -> float | None:
    """The share of the segments sent again, as counted by the sender's system or the tool, whichever counted more."""
    counts = [f.retransmits for f in t.flows if f.direction is way and f.retransmits is not None]
    sent = t.sender(way).tcp
    known = [sum(counts)] if counts else []
    known += [sent.retransmits] if sent is not None and sent.retransmits is not None else []
    if not known or sent is None or (sent.segments_sent or 0) <= 0:
        return None
    return max(known) / max(sent.segments_sent or 0, *known)


def _flows(e: ExperimentResult, rung: RungResult) -> list[Concern]:
    for t in e.trials:
        for way in ways(e.parameters):
            rates = [f.bps for f in t.flows if f.direction is way]
            if not t.ok or len(rates) < 2:
                continue
            usual = statistics.median(rates) if len(rates) > 2 else max(rates)  # two flows are hardly ever alike
            dead = min(rates) < 0.05 * usual
            if dead or (len(rates) > 2 and min(rates) < STARVED_FLOW * usual):
                said = say.starved_flow(e.parameters, way, t.repeat, len(rates), min(rates), usual, rung.paths)
                return [Concern(Cause.UNEVEN, said, provisional=dead, figures={"least_bps": min(rates)})]
    return []


def _bloat(rung: RungResult, tcp: list[ExperimentResult]) -> list[Concern]:
    idle = _idle(rung)
    base = (idle.p50_ms if idle.p50_ms is not None else idle.avg_ms) if idle else None
    worst: tuple[float, float] | None = None
    for e in tcp:
        for t in e.trials:
            for r in map(t.pinged_under_load, End):
                if t.ok and r is not None and r.p50_ms is not None and base is not None:
                    worst = max(worst or (0.0, 0.0), (r.p50_ms - base, r.p50_ms))
    if worst is None or base is None or worst[0] < BLOAT_MS:
        return []
    said = say.long_queue(base, worst[1])
    return [Concern(Cause.SEEN, said, figures={"loaded_ms": worst[1], "idle_ms": base})]


def _streams(tcp: list[ExperimentResult], rung: RungResult) -> list[Concern]:
    """A finding if more streams carry clearly less than fewer streams."""
    for way in (Direction.FORWARD, Direction.REVERSE):
        best: dict[int, float] = {}
        for e in tcp:
            if e.parameters.direction is way:
                rates = [direction_bps(t, e.parameters, way) for t in e.trials if t.ok]
                if rates:
                    n = e.parameters.streams
                    best[n] = max(best.get(n, 0.0), statistics.median(rates))
        counts = sorted(best)
        for few, many in itertools.pairwise(counts):
            if best[many] < LESS * best[few]:
                said = say.more_carry_less(way, many, best[many], few, best[few], rung.paths)
                return [Concern(Cause.UNEVEN, said, figures={"share": best[many] / best[few]})]
    return []


def _one_way_only(tcp: list[ExperimentResult]) -> list[Concern]:
    both = {e.parameters.direction for e in tcp if e.trials}
    if not tcp or Direction.DUPLEX in both:
        return []
    return [Concern(Cause.SEEN, say.duplex_untried())]


def on_the_way(rung: RungResult) -> list[Concern]:
    """Concerns about a way that changed while it was measured, and about packets that came more than once."""
    left: dict[tuple[int, str], dict[int, int]] = {}  # of each path and pinging end, how often which TTL was left
    doubled = 0
    for e in rung.experiments:
        for t in e.trials:
            twice = False
            for leg in t.legs:
                for c in _pings(leg, e.parameters.protocol):
                    twice = twice or tools.ping_doubled(c.output)
                    seen = left.setdefault((leg.path, c.end), {})
                    for ttl in filter(None, map(tools.ping_ttl, c.output.splitlines())):
                        seen[ttl] = seen.get(ttl, 0) + 1
            doubled += twice
    changed = [sorted(ttls) for ttls in left.values() if sum(count >= FEW_ANSWERS for count in ttls.values()) > 1]
    found = [Concern(Cause.ELSEWHERE, say.other_way_back(changed[0]), provisional=True)] if changed else []
    return [*found, Concern(Cause.SEEN, say.answered_twice(doubled))] if doubled else found


def _pings(leg: Leg, protocol: Protocol) -> list[Command]:
    beside = leg.role is Role.PING
    if not beside and not (leg.role is Role.LOAD and protocol in (Protocol.ECHO, Protocol.DF)):
        return []
    return [c for c in leg.commands if c.role in ("ping", "client") and whole(c) and len(c.output) <= LONG_OUTPUT]
