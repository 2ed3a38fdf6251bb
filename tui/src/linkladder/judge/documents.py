"""Judges a whole run: every rung's verdict, and in plain words where on the ladder throughput is lost."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from linkladder import phrases
from linkladder.judge.all_cards import held_against, of_cards, paths_at_once
from linkladder.judge.ceilings import ceiling
from linkladder.judge.circumstances import GENERATOR
from linkladder.judge.evidence import direction_bps
from linkladder.judge.families import over_its_paths
from linkladder.judge.rungs import ORDER, judge_rung
from linkladder.judge.stats import difference
from linkladder.model import Contract, Direction, Document, Layer, Protocol, RungName, RungResult, RunState
from linkladder.phrases import documents as say
from linkladder.phrases import headed
from linkladder.verdicts import Cause, DocumentJudgement, Judgement, RungJudgement, Verdict

NOTICEABLE = 0.10  # share of the rate; a smaller drop from rung to rung is not worth looking into
KEPT, AT_CEILING, LOST = "kept", "at-ceiling", "lost"  # what a rung does to a direction's rate


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
    """Compare each rung with the one below, direction by direction: how much is lost, and whether noise explains it."""
    by_name = {
        r.name: (r, j)
        for r, j in zip(document.rungs, judged, strict=True)
        if j.by_direction and held_against(deal, r.paths, (), document)  # else no rate of them all is called for
    }
    climbed = [n for n in ORDER if n in by_name]
    sold = {n: of_cards(over_its_paths(deal, r), paths_at_once(r), document) for n, (r, _) in by_name.items()}
    needed = {n: deal.pass_ratio * ceiling(sold[n]).bps for n in climbed}
    said = []
    for low, high in itertools.pairwise(climbed):
        said += _steps(by_name[low], by_name[high], needed[high])
    ways = dict.fromkeys(way for n in climbed for way in by_name[n][1].by_direction)
    first = {
        way: next((n for n in climbed if by_name[n][1].by_direction.get(way, math.inf) < needed[n]), None)
        for way in ways
    }
    short = {way: n for way, n in first.items() if n is not None}
    alike = len(short) == len(ways) and len(set(short.values())) == 1
    for way, n in sorted(short.items(), key=lambda one: climbed.index(one[1]))[: 1 if alike else None]:
        named = "" if alike else phrases.way(way, by_name[n][0].paths)
        said.append(say.first_below(needed[n], n, _where_to_look(*by_name[n]), named))
    if not short and len(climbed) > 1:
        passed = all(by_name[n][1].verdict is Verdict.PASS for n in climbed)
        least = min(bps for n in climbed for bps in by_name[n][1].by_direction.values())
        said.append(say.all_reach(max(bps for bps in needed.values() if bps <= least), passed))
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


@dataclass(frozen=True)
class _Step:
    """What one direction carries compared with the rung below."""

    what: str
    kept: float  # share of what the rung below carries, or of the ceiling if that is less
    after: float
    words: Callable[[str], str]  # the sentence, given the name of the higher rung


_Rung = tuple[RungResult, RungJudgement]


def _steps(low: _Rung, high: _Rung, needed: float) -> list[str]:
    """A sentence for each direction that both rungs carried, or one of the weaker direction where both say the same."""
    ways = [way for way in low[1].by_direction if way in high[1].by_direction]
    found = {way: _step(low, high, way, needed) for way in ways}
    both = len({*low[1].by_direction, *high[1].by_direction}) == len(ways)
    if found and both and _alike(list(found.values())):
        return [min(found.values(), key=lambda one: one.after).words(high[1].rung)]
    worst_first = sorted(found.items(), key=lambda one: one[1].kept)
    return [one.words(say.of_way(high[1].rung, phrases.way(way, high[0].paths))) for way, one in worst_first]


def _alike(steps: list[_Step]) -> bool:
    kept = [one.kept for one in steps]
    return len({one.what for one in steps}) == 1 and (steps[0].what != LOST or max(kept) - min(kept) < NOTICEABLE)


def _step(low: _Rung, high: _Rung, way: str, needed: float) -> _Step:
    a, b = low[1].by_direction[way], high[1].by_direction[way]
    below, above = _values(*low, way), _values(*high, way)
    change, noise = difference(below, above)
    best = high[1].ceiling.bps if high[1].ceiling is not None else math.inf

    def step(what: str, words: Callable[..., str], *more: object, **how: object) -> _Step:
        return _Step(what, b / min(a, best) if a else 1.0, b, lambda to: words(low[1].rung, to, a, b, *more, **how))

    if noise is not None and abs(change) <= noise:
        return step(KEPT, say.no_difference, noise)
    single = [one[1].rung for one, values in ((low, below), (high, above)) if len(values) < 2]
    sure = say.sure(noise, single)
    if b >= a:
        return step(KEPT, say.nothing_lost, sure)
    if 1 - b / a < NOTICEABLE:
        return step(KEPT, say.little_lost, sure)
    if b >= 0.97 * best:
        return step(AT_CEILING, say.ceiling_reached, best)
    suspect = say.suspect(high[0].name, _elsewhere(high[0]), known=high[1].verdict is not Verdict.CANNOT_JUDGE)
    if a > best:
        return step(LOST, say.lost_of_ceiling, best, suspect)
    return step(LOST, say.lost, sure, suspect, enough=b >= needed)


def _values(rung: RungResult, judged: RungJudgement, way: str) -> list[float]:
    """The repeats of the rung's best setting in that direction."""
    found = next(
        j.experiment
        for j in judged.experiments
        if j.direction == way and j.spread is not None and j.spread.median == judged.by_direction[way]
    )
    e = next(e for e in rung.experiments if e.parameters.id == found)
    good = (t for t in e.trials if any(one.ok for one in t.loads))  # of several paths perhaps not all
    return [direction_bps(t, e.parameters, Direction(way)) for t in good] or [0.0]
