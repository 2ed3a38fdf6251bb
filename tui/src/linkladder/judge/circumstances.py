"""Collects the concerns about a rung: path MTU, round trip, where the traffic went, and those of all other rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linkladder.judge import evidence
from linkladder.judge.accounts import accounts
from linkladder.judge.arranged import arranged, bursts, own_facts
from linkladder.judge.as_sold import BELOW, card_troubles, elsewhere, layer, own_cards, sold
from linkladder.judge.besides_the_rate import beside_loads, besides_the_rate, on_the_way, pings
from linkladder.judge.ceilings import IP_HEADER, TCP_HEADER, at_lent_mtu, versions
from linkladder.judge.contradictions import of_probes
from linkladder.judge.evidence import direction_bps, paced, ways
from linkladder.judge.history import history
from linkladder.judge.loss_bound import loss_bound
from linkladder.judge.odd_records import odd_records
from linkladder.judge.once_again import once_again
from linkladder.judge.outages import carriers, lost_trials, outages, stalled_answers
from linkladder.judge.pinged import pinged
from linkladder.judge.segments import segments
from linkladder.judge.set_clocks import clocks
from linkladder.model import Contract, Direction, Document, Protocol, Role, Rtt, RungName, RungResult
from linkladder.phrases import circumstances as say
from linkladder.phrases import rungs as say_of_rungs
from linkladder.phrases.outages import of_path
from linkladder.verdicts import SHORTFALL, Cause, Concern, ExperimentJudgement, Verdict

GENERATOR = (RungName.LOCALHOST, RungName.SAME_HOST)
HEADROOM = 1.5  # times the rate that was bought, which the rungs inside one host must show
TOO_NEAR = 0.5  # times the expected round trip; if it is shorter, the traffic did not cross the link
TOO_FAR = 1.5
ALIKE = 0.5  # share of the link's loss; if a shorter path has as much of it, the link need not be the cause
NO_MORE = 1.1  # times the link's rate; a shorter path that carries no more than that proves nothing about the link
QUICKER = 2.0  # times the round trip beside a load, and
QUICKER_MS = 5.0  # so much more: the least idle round trip is never so long on the same way
SLACK_MS = 0.5  # milliseconds by which a round trip may be longer on any machine


def concerns(
    rung: RungResult, chosen: dict[str, ExperimentJudgement], deal: Contract, document: Document, card: Contract
) -> list[Concern]:
    """All concerns about this rung; for a rung inside one host, only those about the ends and their figures.

    `card`: what each of several cards is held against.
    """
    found = [*_whereabouts(rung), *accounts(rung, document)]
    order = [*arranged(rung, document), *_left_out(rung), *segments(rung), *clocks(rung, document)]
    if rung.name in GENERATOR:  # no path can have been away, so that its ends are not to be relied on
        away = [replace(c, best=Verdict.CANNOT_JUDGE if c.best else None) for c in outages(rung, deal)]
        lost = [replace(c, best=None, provisional=True) for c in lost_trials(rung)]
        real = rung.name is RungName.SAME_HOST  # its machines may share a real card, whose errors are that of no link
        errors = [replace(c, excuses=False) for c in (*card_troubles(rung, document), *carriers(rung))] if real else []
        return [*found, *away, *lost, *errors, *order]
    cards = own_cards(rung, card, document)
    held = [c for c in cards if c.best is Verdict.CANNOT_JUDGE]
    mtu = _path_mtu(rung, deal, held)
    found = [*(cards if held else ()), *mtu, *found, *lost_trials(rung), *(() if held else cards)]
    found += [*own_facts(rung, document), *odd_records(rung, document)]
    if any(accounts(r, document) for r in document.rungs if r.name is not rung.name):
        found.append(Concern(Cause.CONTRADICTION, say.other_rung_doubted(), provisional=True))
    if rung.name is RungName.DC_LINK:
        found = [
            *elsewhere(rung, deal, document),
            *bursts(rung, deal),
            *on_the_way(rung),
            *found,
            *_round_trip(rung, deal),
            *_quicker_loaded(rung),
            *outages(rung, deal),
            *carriers(rung),
            *stalled_answers(rung),
            *pings(rung, deal),
            *beside_loads(rung, deal),
            *pinged(rung),
            *loss_bound(rung, deal),
            *sold(rung, chosen, deal, document),
            *layer(chosen, deal),
            *_larger_segments(rung, deal),
            *_unprobed(rung, deal),
            *besides_the_rate(rung, deal),
            *history(rung, deal),
            *once_again(rung, chosen),
        ]
        below = [(r.name, [*pings(r, deal), *_path_mtu(r, deal, ())]) for r in _shorter_ways(rung, document)]
        below += [(r.name, outages(_as_it_is(r), deal)) for r in document.rungs if r.name is not rung.name]
        found = [_excused(one, below) for one in found]
    else:
        found += [*outages(rung, deal), *carriers(rung)]
    return [*found, *order]


def under_loans(whole: RungResult, deal: Contract) -> list[Concern]:
    """Concerns about interruptions while settings were on loan; they decide no verdict but make it provisional.

    Arms in which a member was taken down, or packets were larger than the contract's MTU, are left out.
    """
    lent = (e for e in whole.experiments if e.parameters.settings and e.parameters.member_down is None)
    arms = replace(
        whole, experiments=tuple(e for e in lent if at_lent_mtu(deal, e.parameters.settings).mtu <= deal.mtu)
    )
    found = [*outages(arms, deal), *lost_trials(arms), *carriers(arms)]
    return [replace(c, best=None, provisional=c.provisional or c.best is not None) for c in found]


def _path_mtu(rung: RungResult, deal: Contract, held: Sequence[Concern]) -> list[Concern]:
    """Concerns about black holes at or below the contract's MTU, and about paths with a smaller MTU.

    `held`: about ends' own cards in trouble, so that a small MTU of their paths cannot be blamed on the link.
    """
    holes, small = [], []
    for e in rung.experiments:
        for number, seen in ((g.path, g.outcome.path_mtu) for t in e.trials for g in t.legs if g.role is Role.LOAD):
            if seen is None or not (seen.passed or seen.mtu) or of_probes(seen):
                continue
            way = e.parameters.direction
            which = of_path(rung.paths, (number,), way)
            by_card = any(not c.paths or number in c.paths for c in held)
            within = not seen.failed or min(seen.failed) <= deal.mtu
            if seen.black_hole and within:
                figures = {f"{way}_mtu": float(seen.mtu or 0)}
                holes.append(Concern(Cause.PATH_MTU, say.black_hole(which, seen.mtu), Verdict.FAIL, figures=figures))
            elif seen.mtu is not None and seen.mtu < deal.mtu and seen.failed:
                said = say.small_path(which, seen.mtu, deal.mtu)
                small.append(Concern(Cause.PATH_MTU, said, Verdict.CANNOT_JUDGE if by_card else _small(rung)))
    return [*holes, *small, *_lost_probes(rung)]


def _lost_probes(rung: RungResult) -> list[Concern]:
    """A concern if a DF probe was not answered although a larger one passed: loss, or no probes of this path."""
    for e in rung.experiments:
        probes = ((g.path, g.outcome.path_mtu) for t in e.trials if t.ok for g in t.legs if g.role is Role.LOAD)
        for number, seen in probes:
            lost = [size for size in seen.failed if size < max(seen.passed, default=0)] if seen else []
            if lost and seen is not None and not of_probes(seen):
                said = say.smaller_lost(
                    of_path(rung.paths, (number,), e.parameters.direction), max(lost), max(seen.passed)
                )
                return [Concern(Cause.PATH_MTU, said, provisional=True)]
    return []


def _small(rung: RungResult) -> Verdict | None:
    """The verdict on a path MTU that is too small: a failure on the link, and only a finding on lower rungs."""
    return Verdict.FAIL if rung.name is RungName.DC_LINK else None


def _whereabouts(rung: RungResult) -> list[Concern]:
    """A concern if the traffic went elsewhere than claimed, or nobody checked where it went."""
    if rung.evidence is None and rung.name is RungName.DC_LINK and any(e.trials for e in rung.experiments):
        return [Concern(Cause.ELSEWHERE, say.unchecked(), provisional=True)]
    if rung.evidence is None or not (rung.evidence.contradicts or rung.evidence.against):
        return []
    said = say.contradicted(rung.evidence.against or rung.evidence.findings)
    return [Concern(Cause.ELSEWHERE, said, Verdict.CANNOT_JUDGE)]


def _round_trip(rung: RungResult, deal: Contract) -> list[Concern]:
    """A concern if any path's round trip is not as expected, as the traffic then took another route.

    If no pings were measured, the round trip seen before the rung was started is used.
    """
    series = (one.rtt for e in rung.experiments for t in e.trials if t.ok for one in t.loads)
    seen = [r.min_ms for r in series if r is not None and r.min_ms is not None]
    if not seen and rung.evidence is not None and rung.evidence.rtt_ms is not None:
        seen = [rung.evidence.rtt_ms]
    wanted = deal.expected_rtt_ms
    asked = any(e.parameters.protocol is Protocol.ECHO for e in rung.experiments)
    if wanted and asked and not seen:
        return [Concern(Cause.ELSEWHERE, say.no_round_trip(wanted), provisional=True)]
    if not seen or not wanted:
        return []
    least, most = min(seen), max(seen)  # each of several series counts
    if least < TOO_NEAR * wanted:
        figures = {"rtt_ms": least, "expected_rtt_ms": wanted}
        return [Concern(Cause.ELSEWHERE, say.too_near(least, wanted), Verdict.CANNOT_JUDGE, figures=figures)]
    if most > TOO_FAR * wanted + SLACK_MS:
        figures = {"rtt_ms": most, "expected_rtt_ms": wanted}
        return [Concern(Cause.NOT_AS_SOLD, say.too_far(most, wanted), Verdict.CANNOT_JUDGE, figures=figures)]
    return []


def _quicker_loaded(rung: RungResult) -> list[Concern]:
    """A concern if no idle ping was as quick as many beside a load: one of the two took another way.

    Needs both on the same path. What a load adds is a queue, so that the quickest idle ping is never far behind.
    """
    for number in range(max(1, len(rung.paths))):
        idle = [r.min_ms for r in _answered(rung, number, Role.LOAD) if r.min_ms is not None]
        loaded = [r.p50_ms for r in _answered(rung, number, Role.PING) if r.p50_ms is not None]
        if idle and loaded and min(idle) > QUICKER * min(loaded) + QUICKER_MS:
            said = say.quicker_loaded(min(idle), min(loaded))
            return [Concern(Cause.ELSEWHERE, said, provisional=True, paths=(number,))]
    return []


def _answered(rung: RungResult, path: int, role: Role) -> list[Rtt]:
    legs = (g for e in rung.experiments for t in e.trials if t.ok for g in t.legs if g.role is role and g.path == path)
    return [g.outcome.rtt for g in legs if g.outcome.rtt is not None and g.outcome.rtt.received]


def _larger_segments(rung: RungResult, deal: Contract) -> list[Concern]:
    """A concern if segments were too large for the contract's MTU, as the ceiling was counted for that MTU."""
    segments = [
        s.mss
        for e in rung.experiments
        for t in e.trials
        for end in t.ends
        for s in (end.sockets.sockets if end.sockets else ())
        if s.mss is not None and (s.sent_bytes or 0) > s.mss  # sockets that only acknowledge never learn the MTU
    ]
    room = deal.mtu - min(map(IP_HEADER.__getitem__, versions(deal))) - TCP_HEADER
    if not segments or max(segments) <= room:
        return []
    return [Concern(Cause.NOT_AS_SOLD, say.large_segments(max(segments), deal.mtu), Verdict.CANNOT_JUDGE)]


def _unprobed(rung: RungResult, deal: Contract) -> list[Concern]:
    """Findings about directions in which no path-MTU probe was sent or answered, or none as large as the MTU sold."""
    ways = {w for e in rung.experiments if e.parameters.protocol is Protocol.TCP for w in evidence.ways(e.parameters)}
    probes = {w: evidence.probed(rung, w) for w in ways}
    missing = [w for w, seen in probes.items() if seen is None]
    silent = [w for w, seen in probes.items() if seen is not None and not (seen.passed or seen.mtu)]
    said = [say.unprobed(missing, rung.paths)] if missing else []
    said += [say.unanswered(silent, rung.paths)] if silent else []
    smaller = [
        w for w, seen in probes.items() if seen and not seen.failed and 0 < max(seen.passed, default=0) < deal.mtu
    ]
    said += [say.probed_smaller(smaller, deal.mtu, rung.paths)] if smaller else []
    return [Concern(Cause.SEEN, one) for one in said]


def _left_out(rung: RungResult) -> list[Concern]:
    """A finding about long trials in which not every line that the tools printed is kept."""
    lines = [sum(c.left_out for c in t.commands) for e in rung.experiments for t in e.trials]
    long = sum(count > 0 for count in lines)
    return [Concern(Cause.SEEN, say.left_out(long, sum(lines)))] if long else []


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts in their order, without repetition."""
    return tuple(dict.fromkeys(texts))


def _as_it_is(rung: RungResult) -> RungResult:
    """The rung without experiments under settings on loan, whose adapters may restart."""
    return replace(rung, experiments=tuple(e for e in rung.experiments if not e.parameters.settings))


def _shorter_ways(rung: RungResult, document: Document) -> list[RungResult]:
    """The rungs below the link that were measured between the same ends."""
    if rung.name is not RungName.DC_LINK:
        return []
    return [r for r in document.rungs if r.name in BELOW and not r.unavailable and r.experiments]


def _excused(concern: Concern, below: list[tuple[RungName, list[Concern]]]) -> Concern:
    """The concern, but CANNOT JUDGE instead of FAIL if a shorter path shows as much of it, as the cause is unknown."""
    for name, found in below:
        if concern.best is Verdict.FAIL and any(_as_much(concern, one) for one in found):
            said = say_of_rungs.below_alike(concern.sentence, name)
            return replace(concern, best=Verdict.CANNOT_JUDGE, sentence=said)
    return concern


def _as_much(here: Concern, there: Concern) -> bool:
    if here.cause is not there.cause:
        return False
    if here.cause is Cause.OUTAGE:
        away = [1 - one.figures.get("availability_percent", 100.0) / 100 for one in (here, there)]
        return away[1] >= ALIKE * away[0] > 0
    lost, of = (("pings_lost", "pings_sent"), (here.figures, there.figures))
    if all(key in figures for key in lost for figures in of):
        shares = [figures[lost[0]] / max(1.0, figures[lost[1]]) for figures in of]
        return shares[1] >= ALIKE * shares[0]
    return bool(here.figures) and here.figures == there.figures


def alike_below(
    decides: ExperimentJudgement, rung: RungResult, deal: Contract, document: Document
) -> tuple[Cause, str] | None:
    """Cause and reason if a shorter path falls as short, or loses as much, as the deciding setting on the link."""
    way, judged = Direction(decides.direction), decides.judgement
    if judged.cause in SHORTFALL and decides.spread and "needed_bps" in judged.figures:
        said = _carried_no_more(rung, document, way, decides.spread.median, judged.figures["needed_bps"])
        return (Cause.WEAK_GENERATOR, said) if said else None
    if judged.cause is Cause.UDP_LOSS:
        said = _lost_as_much(rung, document, deal, way, judged.figures["loss_percent"] / 100)
        return (Cause.WHO_LOST, said) if said else None
    return None


def _carried_no_more(rung: RungResult, document: Document, way: Direction, bps: float, needed: float) -> str:
    """A sentence on a shorter path whose best TCP trial in that direction carries no more than the link and less than
    `needed`; '' if there is none.
    """
    for below in _shorter_ways(rung, document):
        rates = [
            direction_bps(t, e.parameters, way)
            for e in below.experiments
            if e.parameters.protocol is Protocol.TCP and way in ways(e.parameters) and not e.parameters.settings
            for t in e.trials
            if t.ok
        ]
        if rates and max(rates) < needed and max(rates) <= NO_MORE * bps:
            return say_of_rungs.below_no_more(below.name, max(rates))
    return ""


def _lost_as_much(rung: RungResult, document: Document, deal: Contract, way: Direction, loss: float) -> str:
    """A sentence on a shorter path on which paced UDP lost as large a share; '' if there is none."""
    for below in _shorter_ways(rung, document):
        shares = [
            paced(t, e.parameters, way).loss
            for e in below.experiments
            if e.parameters.protocol is Protocol.UDP and way in ways(e.parameters)
            for t in e.trials
            if t.ok
        ]
        if shares and min(shares) >= max(ALIKE * loss, deal.loss_percent / 100):
            return say_of_rungs.below_lost(below.name, min(shares))
    return ""
