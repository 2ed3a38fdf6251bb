"""What a shorter way between the same ends shows alike is not the link's doing.

Needs the rungs on one host and on one VLAN; without them nothing is excused.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.evidence import direction_bps, paced, ways
from linkladder.model import Contract, Direction, Document, Protocol, RungName, RungResult
from linkladder.phrases import rungs as say
from linkladder.verdicts import Cause, Concern, ExperimentJudgement, Verdict

SHORTER = (RungName.SAME_VLAN, RungName.SAME_HOST)
ALIKE = 0.5  # of what is missing on the link: where a shorter way lacks so much, the link need not lack any
NO_MORE = 1.1  # times the link's rate: a shorter way that carries no more shows nothing of the link


def shorter_ways(rung: RungResult, document: Document) -> list[RungResult]:
    """The rungs below the link that were measured between the same ends."""
    if rung.name is not RungName.DC_LINK:
        return []
    return [r for r in document.rungs if r.name in SHORTER and not r.unavailable and r.experiments]


def excused(concern: Concern, below: list[tuple[RungName, list[Concern]]]) -> Concern:
    """Whether a shorter way shows as much of it: then who does it is not known."""
    for name, found in below:
        if concern.best is Verdict.FAIL and any(_as_much(concern, one) for one in found):
            said = say.below_alike(concern.sentence, name)
            return replace(concern, best=Verdict.CANNOT_JUDGE, sentence=said)
    return concern


def _as_much(here: Concern, there: Concern) -> bool:
    if here.cause is not there.cause:
        return False
    lost, of = (("pings_lost", "pings_sent"), (here.figures, there.figures))
    if all(key in figures for key in lost for figures in of):
        shares = [figures[lost[0]] / max(1.0, figures[lost[1]]) for figures in of]
        return shares[1] >= ALIKE * shares[0]
    return bool(here.figures) and here.figures == there.figures


def alike_below(
    decides: ExperimentJudgement, rung: RungResult, deal: Contract, document: Document
) -> tuple[Cause, str] | None:
    """Whether a shorter way falls short, or loses, as much as the setting that decides does on the link."""
    way, judged = Direction(decides.direction), decides.judgement
    if judged.cause is Cause.SHORT and decides.spread and "needed_bps" in judged.figures:
        said = _carried_no_more(rung, document, way, decides.spread.median, judged.figures["needed_bps"])
        return (Cause.WEAK_GENERATOR, said) if said else None
    if judged.cause is Cause.UDP_LOSS:
        said = _lost_as_much(rung, document, deal, way, judged.figures["loss_percent"] / 100)
        return (Cause.WHO_LOST, said) if said else None
    return None


def _carried_no_more(rung: RungResult, document: Document, way: Direction, bps: float, needed: float) -> str:
    """The shorter way whose best TCP trial of that direction is as short of what was bought; '' where none is."""
    for below in shorter_ways(rung, document):
        rates = [
            direction_bps(t, e.parameters, way)
            for e in below.experiments
            if e.parameters.protocol is Protocol.TCP and way in ways(e.parameters) and not e.parameters.settings
            for t in e.trials
            if t.ok
        ]
        if rates and max(rates) < needed and max(rates) <= NO_MORE * bps:
            return say.below_no_more(below.name, max(rates))
    return ""


def _lost_as_much(rung: RungResult, document: Document, deal: Contract, way: Direction, loss: float) -> str:
    """The shorter way on which paced UDP lost as large a share; '' where none did."""
    for below in shorter_ways(rung, document):
        shares = [
            paced(t, e.parameters, way).loss
            for e in below.experiments
            if e.parameters.protocol is Protocol.UDP and way in ways(e.parameters)
            for t in e.trials
            if t.ok
        ]
        if shares and min(shares) >= max(ALIKE * loss, deal.loss_percent / 100):
            return say.below_lost(below.name, min(shares))
    return ""
