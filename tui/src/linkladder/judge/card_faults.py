"""Excuses losses and silences by an end's own card that may itself cause them, so that the link is not blamed.

A card that runs half duplex loses packets in collisions, one without link loses all, and one that is slower than the
rate sold loses paced UDP. Needs the facts of both ends' cards; one that its end does not tell of is no excuse, and
neither is a card of another path than the one on which something was lost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from linkladder.judge.as_sold import cards_of, own_cards
from linkladder.judge.ceilings import rate_sold
from linkladder.judge.evidence import direction_bps
from linkladder.judge.udp import losing_paths
from linkladder.judge.weighing import undone
from linkladder.model import Contract, Direction, Document, ExperimentResult, Fault, Path, Role, RungResult
from linkladder.phrases import as_sold as say
from linkladder.verdicts import SHORTFALL, Cause, Concern, ExperimentJudgement, Judgement, Verdict

LOSSES = (Cause.UDP_LOSS, Cause.PING_LOSS, Cause.JITTER, Cause.OUTAGE, Cause.SILENCE)

Faults = Sequence[dict[Cause, str]]  # for each path: a sentence on its card, by what that may be the reason of


def card_faults(rung: RungResult, deal: Contract, document: Document) -> Faults:
    """What the cards of each path's ends, rather than the link, may have caused."""
    troubles = [c for c in own_cards(rung, deal, document) if c.excuses]
    short = [[c.sentence for c in troubles if not c.paths or n in c.paths] for n in range(len(rung.paths))]
    return [
        dict.fromkeys(SHORTFALL, said[0] if said else "") | _losses(path, deal, document)
        for path, said in zip(rung.paths, short, strict=True)
    ]


def _losses(path: Path, deal: Contract, document: Document) -> dict[Cause, str]:
    found: dict[Cause, str] = {}
    sold = rate_sold(deal)
    for end, nic in cards_of(path, document):
        if nic.carrier is False:
            found |= dict.fromkeys(LOSSES, say.without_link(nic.name, end))
        elif nic.half_duplex:
            found = dict.fromkeys(LOSSES, say.half_duplex(nic.name, end)) | found
        elif nic.speed_bps is not None and 0 < nic.speed_bps < sold:
            found.setdefault(Cause.UDP_LOSS, say.slow_card(nic.name, end, nic.speed_bps, sold))
    return found


def _card(cause: Cause, paths: Collection[int], faults: Faults) -> str:
    """The card that may have caused it on each of these paths, or else on each path of the rung; '' if not on all."""
    said = [faults[n].get(cause, "") if 0 <= n < len(faults) else "" for n in paths or range(len(faults))]
    return " ".join(dict.fromkeys(said)) if all(said) else ""


def at_fault(j: ExperimentJudgement, e: ExperimentResult, deal: Contract) -> tuple[int, ...]:
    """The paths that a setting's silence or loss is about; all that it loaded, if it is about something else."""
    way = Direction(j.direction)
    if j.judgement.cause is Cause.UDP_LOSS:
        return losing_paths(e, deal, way)
    loads = [g for t in e.trials for g in t.legs if g.role is Role.LOAD]
    silent = [g.path for g in loads if g.outcome.fault is Fault.PATH or not direction_bps(g.outcome, e.parameters, way)]
    named = silent if j.judgement.cause is Cause.SILENCE else []
    return tuple(dict.fromkeys(named or [g.path for g in loads]))


def not_the_link(judgement: Judgement, faults: Faults, paths: Collection[int]) -> Judgement:
    """The judgement, but CANNOT JUDGE instead of FAIL if a card may have caused what it is about.

    `paths`: those that it rests on.
    """
    card = _card(judgement.cause, paths, faults)
    if judgement.verdict is not Verdict.FAIL or not card:
        return judgement
    return undone(judgement, Concern(Cause.OWN_CARD, card))


def excused(concern: Concern, faults: Faults) -> Concern:
    """The concern, but CANNOT JUDGE instead of FAIL if a card may have caused what it is about."""
    card = _card(concern.cause, concern.paths, faults)
    if concern.best is not Verdict.FAIL or not card:
        return concern
    said = say.or_the_card(concern.sentence, card)
    return replace(concern, best=Verdict.CANNOT_JUDGE, cause=Cause.OWN_CARD, sentence=said)
