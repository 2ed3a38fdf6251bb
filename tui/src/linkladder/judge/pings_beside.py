"""Judges what the pings beside a load tell of either end, and whether anything tells of loss at all.

Needs the series of pings that ran beside loads, from the near and from the far end. Where one end's all went
unanswered, or took far longer than the other's at the same time, no PASS is firm; neither is one of a contract with a
limit of loss that nothing was measured against.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkladder.judge.besides_the_rate import FEW, datagrams_tell
from linkladder.judge.outages import by_chance
from linkladder.model import Contract, End, ExperimentResult, Fault, Leg, Protocol, Role, RungResult
from linkladder.phrases import besides_the_rate as say
from linkladder.verdicts import Cause, Concern, Verdict

LEAST = 10  # answered pings; fewer tell next to nothing of loss
TWICE = 2.0  # times the other end's round trip; with less than that apart, both saw the same


def beside_loads(rung: RungResult, deal: Contract) -> list[Concern]:
    """All concerns of this module, each of a PASS alone."""
    return [*_all_lost(rung), *_far_apart(rung, deal), *_unmeasured(rung, deal)]


def _beside(e: ExperimentResult, path: int | None = None) -> Iterator[Leg]:
    for t in e.trials:
        if t.ok:
            yield from (g for g in t.legs if g.role is Role.PING and path in (None, g.path))


def _all_lost(rung: RungResult) -> Iterator[Concern]:
    """Concerns about ends none of whose pings beside a load was answered, where pings are answered otherwise."""
    every = [leg for e in rung.experiments for t in e.trials for leg in t.legs]
    answered = {leg.path for leg in every if leg.outcome.rtt is not None and leg.outcome.rtt.received}
    for e in rung.experiments:
        for by in End:
            mine = [leg for leg in _beside(e) if leg.pinged_by is by and leg.path in answered and _lost(leg)]
            if mine:
                sent = sum(leg.outcome.rtt.sent for leg in mine if leg.outcome.rtt is not None)
                said = say.none_beside(e.parameters, by, len(mine), sent)
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
                said = say.ends_apart(e.parameters, t.repeat, slow, typical[slow], typical[quick], limit or 0.0)
                figures = {"rtt_ms": typical[slow]}
                yield Concern(Cause.DELAY, said, Verdict.PASS, provisional=True, figures=figures)
                return


def _unmeasured(rung: RungResult, deal: Contract) -> Iterator[Concern]:
    """A concern if on some path neither idle pings nor paced UDP ran, nor pings beside loads kept the limit, or if all
    that ran are a few pings. `pings` reports idle pings that ran and told nothing.
    """
    loads = [e for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP)]
    idle = [e for e in rung.experiments if e.parameters.protocol is Protocol.ECHO]
    asked = {leg.path for e in idle for t in e.trials for leg in t.legs}
    loaded = {leg.path for e in loads for t in e.trials for leg in t.legs if leg.role is Role.LOAD and leg.outcome.ok}
    for path in sorted(loaded) if deal.loss_percent < 100 else ():
        seen = [leg.outcome.rtt for e in loads for leg in _beside(e, path) if leg.outcome.rtt is not None]
        sent, got = sum(r.sent for r in seen), sum(r.received for r in seen)
        kept = got if by_chance(sent - got, sent, deal.loss_percent / 100) >= FEW else 0
        alone = [leg.outcome.rtt for e in idle for t in e.trials for leg in t.legs if leg.path == path]
        answered = kept + sum(r.received for r in alone if r is not None)
        nothing = not kept and path not in asked
        if (nothing or 0 < answered < LEAST) and not datagrams_tell(rung, deal, path):
            said = say.loss_of_few(answered, deal.loss_percent) if answered else say.loss_unmeasured(deal.loss_percent)
            yield Concern(Cause.PING_LOSS, said, Verdict.PASS, provisional=True)
            return
