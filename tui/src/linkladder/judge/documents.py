"""Judges a whole run: every rung's verdict, and in plain words where on the ladder throughput is lost."""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass

from linkladder.judge.all_cards import of_cards, paths_at_once
from linkladder.judge.ceilings import ceiling
from linkladder.judge.circumstances import GENERATOR
from linkladder.judge.evidence import direction_bps
from linkladder.judge.rungs import ORDER, judge_rung
from linkladder.judge.stats import difference
from linkladder.model import Contract, Direction, Document, Layer, Protocol, RungName, RungResult, RunState
from linkladder.phrases import documents as say
from linkladder.phrases import headed
from linkladder.verdicts import Cause, DocumentJudgement, Judgement, RungJudgement, Verdict

NOTICEABLE = 0.10  # share of the rate; a smaller drop from rung to rung is not worth looking into


@dataclass(frozen=True)
class Overrides:
    """Other assumptions about the link than the plan's; None keeps the plan's."""

    port_bps: float | None = None
    rate_bps: float | None = None
    layer: Layer | None = None
    mtu: int | None = None
    vlan_tags: int | None = None
    encap_bytes: int | None = None
    ip_version: int | None = None
    timestamps: bool | None = None
    pass_ratio: float | None = None
    fcs: bool | None = None

    def apply(self, contract: Contract) -> Contract:
        given = {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
        return dataclasses.replace(contract, **given)


AS_PLANNED = Overrides()


def judge_document(document: Document, overrides: Overrides = AS_PLANNED) -> DocumentJudgement:
    """Judge every rung and the run, and diagnose where on the ladder throughput is lost."""
    planned = document.run.plan.contract
    deal = overrides.apply(planned)
    rungs = tuple(judge_rung(r, document, deal) for r in document.rungs)
    assumed, before = say.assumptions(deal), say.assumptions(planned)
    return DocumentJudgement(
        judgement=_judge(document, rungs),
        rungs=rungs,
        diagnosis=_diagnosis(document, rungs, deal),
        ceilings={"tcp": ceiling(deal), "udp": ceiling(deal, Protocol.UDP)},
        assumptions=assumed,
        overridden=tuple(k for k, v in assumed.items() if before[k] != v),
    )


def with_judgement(document: Document, overrides: Overrides = AS_PLANNED) -> Document:
    """The same document with its judgement in it."""
    return dataclasses.replace(document, judgement=judge_document(document, overrides))


def _judge(document: Document, rungs: tuple[RungJudgement, ...]) -> Judgement:
    """The run's verdict: that of the highest rung, for which the others were climbed."""
    wanted = [*(r.name for r in document.run.plan.rungs), *(RungName(r.rung) for r in rungs)]
    if not wanted or not rungs:
        return _incomplete(say.no_rung(), Cause.NOTHING_MEASURED)
    top = max(wanted, key=ORDER.index)
    found = next((r for r in rungs if r.rung == top), None)
    if found is None:
        return _incomplete(say.planned_only(top), Cause.NOTHING_MEASURED)
    judged = found.judgement
    if document.run.state is RunState.RUNNING and judged.verdict is Verdict.PASS:
        said = headed(Verdict.PASS, True, judged.text)
        judged = dataclasses.replace(judged, provisional=True, sentence=said)
    if top is not RungName.DC_LINK and judged.verdict is Verdict.PASS:
        text = say.no_link(top in GENERATOR, judged.text)
        return dataclasses.replace(
            judged, verdict=Verdict.INCOMPLETE, provisional=True, cause=Cause.NOTHING_MEASURED, text=text,
            sentence=headed(Verdict.INCOMPLETE, False, text),
        )  # fmt: skip
    if top is not RungName.DC_LINK:
        judged = dataclasses.replace(judged, findings=(*judged.findings, say.link_not_part(top)))
    below = [r for r in rungs if r is not found and r.verdict in (Verdict.FAIL, Verdict.CANNOT_JUDGE)]
    notes = tuple(f"{r.rung}: {r.sentence}" for r in below)
    return dataclasses.replace(judged, findings=(*judged.findings, *notes))


def _incomplete(text: str, cause: Cause) -> Judgement:
    said = headed(Verdict.INCOMPLETE, False, text)
    return Judgement(Verdict.INCOMPLETE, True, said, (said,), cause=cause, text=text)


def _diagnosis(document: Document, judged: tuple[RungJudgement, ...], deal: Contract) -> tuple[str, ...]:
    """Compare each rung with the one below in its weaker direction: how much is lost, and whether noise explains it."""
    by_name = {r.name: (r, j) for r, j in zip(document.rungs, judged, strict=True) if j.by_direction}
    climbed = [n for n in ORDER if n in by_name]
    needed = {n: deal.pass_ratio * ceiling(of_cards(deal, paths_at_once(by_name[n][0]), document)).bps for n in climbed}
    said = []
    for low, high in itertools.pairwise(climbed):
        said.append(_step(by_name[low], by_name[high], needed[high]))
    weaker = {n: min(by_name[n][1].by_direction.values()) for n in climbed}
    culprit = next((n for n in climbed if weaker[n] < needed[n]), None)
    if culprit is not None:
        said.append(say.first_below(needed[culprit], culprit, _where_to_look(*by_name[culprit])))
    elif len(climbed) > 1:
        passed = all(by_name[n][1].verdict is Verdict.PASS for n in climbed)
        said.append(say.all_reach(max(bps for bps in needed.values() if bps <= min(weaker.values())), passed))
    return tuple(said)


def _where_to_look(rung: RungResult, judged: RungJudgement) -> str:
    """A sentence on where to look, for the lowest rung that carries too little."""
    if _elsewhere(rung):
        return say.went_elsewhere()
    if judged.verdict is not Verdict.CANNOT_JUDGE:
        return say.look_at(rung.name)
    return say.too_scattered() if judged.judgement.cause is Cause.SCATTERED else say.end_may_hold_it()


def _elsewhere(rung: RungResult) -> bool:
    """Whether another path was measured than the rung claims, so that what the claim names cannot be blamed."""
    return rung.evidence is not None and rung.evidence.contradicts


def _step(low: tuple[RungResult, RungJudgement], high: tuple[RungResult, RungJudgement], needed: float) -> str:
    a, b = min(low[1].by_direction.values()), min(high[1].by_direction.values())
    below, above = _values(*low), _values(*high)
    change, noise = difference(below, above)
    seen = low[1].rung, high[1].rung, a, b
    if noise is not None and abs(change) <= noise:
        return say.no_difference(*seen, noise)
    single = [name for name, values in ((seen[0], below), (seen[1], above)) if len(values) < 2]
    sure = say.sure(noise, single)
    if b >= a:
        return say.nothing_lost(*seen, sure)
    if 1 - b / a < NOTICEABLE:
        return say.little_lost(*seen, sure)
    best = high[1].ceiling.bps if high[1].ceiling is not None else math.inf
    if b >= 0.97 * best:
        return say.ceiling_reached(*seen, best)
    suspect = say.suspect(high[0].name, _elsewhere(high[0]), known=high[1].verdict is not Verdict.CANNOT_JUDGE)
    if a > best:
        return say.lost_of_ceiling(*seen, best, suspect)
    return say.lost(*seen, sure, suspect, enough=b >= needed)


def _values(rung: RungResult, judged: RungJudgement) -> list[float]:
    """The repeats of the best setting in the rung's weaker direction."""
    way = min(judged.by_direction, key=lambda d: judged.by_direction[d])
    found = next(
        j.experiment
        for j in judged.experiments
        if j.direction == way and j.spread is not None and j.spread.median == judged.by_direction[way]
    )
    e = next(e for e in rung.experiments if e.parameters.id == found)
    return [direction_bps(t, e.parameters, Direction(way)) for t in e.trials if t.ok] or [0.0]
