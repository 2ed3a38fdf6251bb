"""Excuses losses and silences by an end's own card that may itself cause them, so that the link is not blamed.

A card that runs half duplex loses packets in collisions, one without link loses all, and one that is slower than the
rate sold loses paced UDP. Needs the facts of both ends' cards; one that its end does not tell of is no excuse.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.as_sold import cards
from linkladder.judge.ceilings import rate_sold
from linkladder.judge.weighing import undone
from linkladder.model import Contract, Document, RungResult
from linkladder.phrases import as_sold as say
from linkladder.verdicts import Cause, Concern, Judgement, Verdict

LOSSES = (Cause.UDP_LOSS, Cause.PING_LOSS, Cause.JITTER, Cause.OUTAGE, Cause.SILENCE)

Faults = dict[Cause, str]  # a sentence on the card that may be the reason, by what it may be the reason of


def card_faults(rung: RungResult, deal: Contract, document: Document) -> Faults:
    """What the cards of the rung's ends, rather than the link, may have caused."""
    found: Faults = {}
    sold = rate_sold(deal)
    for end, nic in cards(rung, document):
        if nic.carrier is False:
            found |= dict.fromkeys(LOSSES, say.without_link(nic.name, end))
        elif nic.half_duplex:
            found = dict.fromkeys(LOSSES, say.half_duplex(nic.name, end)) | found
        elif nic.speed_bps is not None and 0 < nic.speed_bps < sold:
            found.setdefault(Cause.UDP_LOSS, say.slow_card(nic.name, end, nic.speed_bps, sold))
    return found


def not_the_link(judgement: Judgement, faults: Faults) -> Judgement:
    """The judgement, but CANNOT JUDGE instead of FAIL if a card may have caused what it is about."""
    card = faults.get(judgement.cause)
    if judgement.verdict is not Verdict.FAIL or card is None:
        return judgement
    return undone(judgement, Concern(Cause.OWN_CARD, card))


def excused(concern: Concern, faults: Faults) -> Concern:
    """The concern, but CANNOT JUDGE instead of FAIL if a card may have caused what it is about."""
    card = faults.get(concern.cause)
    if concern.best is not Verdict.FAIL or card is None:
        return concern
    said = say.or_the_card(concern.sentence, card)
    return replace(concern, best=Verdict.CANNOT_JUDGE, cause=Cause.OWN_CARD, sentence=said)
