"""Judges what the pings beside a load tell of either end.

Needs the series of pings that ran beside loads, from the near and from the far end. Where one end's all went
unanswered, or took far longer than the other's at the same time, no PASS is firm.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkladder.model import Contract, End, ExperimentResult, Fault, Leg, Role, RungResult
from linkladder.phrases import besides_the_rate as say
from linkladder.verdicts import Cause, Concern, Verdict

TWICE = 2.0  # times the other end's round trip; with less than that apart, both saw the same


def beside_loads(rung: RungResult, deal: Contract) -> list[Concern]:
    """All concerns of this module, each of a PASS alone."""
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
