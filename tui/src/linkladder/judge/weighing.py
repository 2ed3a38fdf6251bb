"""Weighs a verdict against concerns: the gravest one decides, and one that excuses a shortfall undoes a FAIL."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from linkladder.phrases import headed, opening
from linkladder.verdicts import NO_RATE_ASKED, SHORTFALL, Cause, Concern, Judgement, Verdict

# The worst of several verdicts is the first of these.
GRAVITY = (Verdict.IMPOSSIBLE, Verdict.FAIL, Verdict.INCOMPLETE, Verdict.CANNOT_JUDGE, Verdict.PASS)

# What refutes the trials that alone show a verdict; that nothing bears them out is not enough.
REFUTED = {
    Verdict.FAIL: (Cause.RAW_OUTPUT,),
    Verdict.IMPOSSIBLE: (Cause.RAW_OUTPUT, Cause.CONTRADICTION, Cause.COPIED),
}

UNEVEN = (Cause.SCATTERED, Cause.WORST_TRIAL)  # causes that an outage explains


def weigh(base: Judgement, concerns: Iterable[Concern]) -> Judgement:
    """The verdict after all concerns; `base.sentence` lacks the verdict's own word, and the result's has it."""
    found = tuple({c.sentence: c for c in concerns}.values())
    verdict, cause, text = base.verdict, base.cause, base.text or base.sentence
    grave = min((c for c in found if c.best), key=lambda c: GRAVITY.index(c.best or Verdict.PASS), default=None)
    excuse = next((c for c in found if c.excuses), None)
    short = (verdict is Verdict.FAIL and cause in SHORTFALL) or cause is Cause.UNKNOWN_GENERATOR
    if short and excuse is not None:
        verdict, cause, text = Verdict.CANNOT_JUDGE, excuse.cause, f"{excuse.sentence} {opening(text)}"
    why = next((c for c in found if c.best is verdict and c.cause is Cause.OUTAGE), None)
    if why is not None and cause in UNEVEN:
        cause, text = why.cause, f"{why.sentence} {opening(text)}"
    if grave is not None and grave.best is not None and _worse(grave.best, verdict, cause):
        keep = "" if grave.best is Verdict.FAIL else f" {opening(text)}"
        verdict, cause, text = grave.best, grave.cause, f"{grave.sentence}{keep}"
    unsure = any(_unsure(c, verdict) for c in found)
    provisional = base.provisional or unsure
    reasons = base.reasons if verdict is base.verdict else (text, *base.reasons)
    said = [*(c.sentence for c in found), *base.findings]
    return dataclasses.replace(
        base,
        verdict=verdict,
        cause=cause,
        provisional=provisional,
        text=text,
        sentence=headed(verdict, provisional, text),
        reasons=reasons,
        findings=tuple(dict.fromkeys(said)),
        concerns=found,
    )


def no_rate_asked(judgement: Judgement) -> Judgement:
    """The judgement of a rung of which nothing is missing, as no rate was asked for."""
    said = headed(NO_RATE_ASKED, False, judgement.text)
    return dataclasses.replace(judgement, provisional=False, sentence=said, rate_asked=False)


def undone(judgement: Judgement, concern: Concern) -> Judgement:
    """The judgement, but CANNOT JUDGE for that concern, as what it rests on is contradicted."""
    text = f"{concern.sentence} {opening(judgement.text or judgement.sentence)}"
    return dataclasses.replace(
        judgement,
        verdict=Verdict.CANNOT_JUDGE,
        cause=concern.cause,
        provisional=True,
        text=text,
        sentence=headed(Verdict.CANNOT_JUDGE, True, text),
        reasons=(text, *judgement.reasons),
    )


def _unsure(c: Concern, verdict: Verdict) -> bool:
    """Whether the concern makes the verdict provisional; one that matters only for a PASS does so for no other."""
    if c.best is Verdict.PASS and verdict is not Verdict.PASS:
        return False
    return c.provisional or c.best is Verdict.CANNOT_JUDGE


def _worse(best: Verdict, verdict: Verdict, cause: Cause) -> bool:
    if cause is Cause.NOTHING_MEASURED:  # what was not measured cannot have failed
        return False
    return GRAVITY.index(best) < GRAVITY.index(verdict)
