"""Reports what was lost in seconds that count for no figure: in the warm-up, and in the load before a trial.

Loss in the warm-up is held to the contract's limit like any other, as who sends then is served as badly; it decides
nothing, since a first packet may wait for an address. A load that is discarded finds adapters that just started anew:
that it carried nothing may be their doing.
"""

from __future__ import annotations

from collections.abc import Iterator

from linkladder.judge.evidence import ways
from linkladder.judge.outages import by_chance
from linkladder.judge.udp import UNLIKELY, above_contract
from linkladder.model import Contract, Direction, Experiment, Fault, Leg, Protocol, Role, RungName, RungResult
from linkladder.model.several_legs import share
from linkladder.phrases import uncounted as say
from linkladder.verdicts import Cause, Concern

MORE = 2.0  # times the share lost in the counted seconds; less than that more is told by their own loss


def uncounted(rung: RungResult, sold: Contract, together: Contract) -> list[Concern]:
    """Findings about such seconds; `sold`: for one path, `together`: for all of them."""
    return [*(_early(rung, sold, together) if rung.name is RungName.DC_LINK else ()), *_discarded(rung)]


def _early(rung: RungResult, sold: Contract, together: Contract) -> Iterator[Concern]:
    limit = sold.loss_percent / 100
    for e in rung.experiments:
        p = e.parameters
        for way in ways(p) if p.protocol is Protocol.UDP else ():
            within = [t for t in e.trials if not _above(p, len(t.loads), sold, together)]
            loads = [g for t in within for g in t.legs if g.role is Role.LOAD]
            counts = [_before_it(leg, way) for leg in loads]
            lost, sent = sum(lost for lost, _ in counts), sum(sent for _, sent in counts)
            later = sum(g.outcome.lost or 0 for g in loads) / max(1, sum(g.outcome.datagrams or 0 for g in loads))
            surely = lost > limit * sent and by_chance(lost, sent, limit) <= UNLIKELY
            if surely and lost > MORE * later * sent:
                figures = {"lost": float(lost), "datagrams": float(sent)}
                yield Concern(Cause.SEEN, say.early(p, way, lost, sent, later, sold.loss_percent), figures=figures)


def _above(p: Experiment, paths: int, sold: Contract, together: Contract) -> bool:
    return above_contract(p, together) or above_contract(share(p, paths), sold)


def _before_it(leg: Leg, way: Direction) -> tuple[int, int]:
    """Lost and sent before the first counted second."""
    seconds = [i for i in leg.outcome.intervals if i.direction is way]
    first = min((i.start for i in seconds if i.counted), default=0.0)
    early = [i for i in seconds if i.start < first and i.datagrams and i.lost is not None]
    return sum(i.lost or 0 for i in early), sum(i.datagrams or 0 for i in early)


def _discarded(rung: RungResult) -> Iterator[Concern]:
    for e in rung.experiments:
        before = [[g for g in t.legs if g.role is Role.DISCARDED] for t in e.trials]
        failed = [[g for g in legs if g.outcome.fault is Fault.PATH] for legs in before]
        stalled = sum(bool(legs) for legs in failed)
        if stalled:
            why = next(g.outcome.reason for legs in failed for g in legs)
            trials = sum(bool(legs) for legs in before)
            said = say.discarded(e.parameters, stalled, trials, sum(map(len, failed)), why)
            yield Concern(Cause.SEEN, said, figures={"trials": float(stalled)})
