"""Judges each setting of a rung: those that its verdict rests on, and those that a person is shown beside it."""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.all_cards import held_against
from linkladder.judge.ceilings import at_lent_mtu
from linkladder.judge.circumstances import GENERATOR
from linkladder.judge.common_limits import several_pairs
from linkladder.judge.evidence import ways
from linkladder.judge.experiments import judge_experiment
from linkladder.judge.families import of_its_family
from linkladder.judge.limiters import own_card
from linkladder.model import Contract, Direction, Document, ExperimentResult, Protocol, RungName, RungResult
from linkladder.phrases.one_setting import limited
from linkladder.verdicts import SHORTFALL, Concern, ExperimentJudgement

Judged = tuple[ExperimentJudgement, ...]


def each_setting(rung: RungResult, deal: Contract, troubles: list[Concern]) -> Judged:
    """Each setting in each direction, an end's own card in trouble named where it was loaded."""
    judged = against(rung, deal, rung.name is RungName.DC_LINK)
    return judged if rung.name in GENERATOR else tuple(_held_by_card(j, rung, troubles) for j in judged)


def against(rung: RungResult, deal: Contract, bounded: bool) -> Judged:
    """Each setting in each direction against one contract."""
    own = {e.parameters.id: of_its_family(deal, rung.paths, e.parameters.paths) for e in _loads(rung)}
    return tuple(
        judge_experiment(e, own[e.parameters.id], way, rung, bounded)
        for e in _loads(rung)
        for way in ways(e.parameters)
    )


def lent(rung: RungResult, kept: RungResult, deal: Contract, card: Contract, bounded: bool) -> Judged:
    """Judge each experiment that is not among the `kept`, under settings on loan, by the ceiling of its own MTU; no
    verdict rests on these.
    """
    found: list[ExperimentJudgement] = []
    for e in (e for e in rung.experiments if e not in kept.experiments):
        under = at_lent_mtu(card if e.parameters.bundled else deal, e.parameters.settings, len(rung.paths))
        found += against(replace(rung, experiments=(e,)), under, bounded)
    return tuple(replace(j, counts=False) for j in found)


def shown(rung: RungResult, judged: Judged, deal: Contract, document: Document) -> Judged:
    """The judged settings of a rung with several paths, and its others, each against what its own paths are sold as.

    Of several pairs the rate is that of whichever paths carried something, and no contract says what it has to be
    unless they share what is sold; the verdict rests on those that have one. `deal`: what one path is sold as.
    """
    if len(rung.paths) < 2:
        return judged
    apart, known = several_pairs(rung.paths), {j.experiment for j in judged}
    found = [] if apart else [as_carried(j, rung) for j in judged]
    for e in sorted(_loads(rung), key=lambda e: e.parameters.id not in known):
        if e.parameters.id not in known or apart:
            sold = held_against(deal, rung.paths, e.parameters.paths, document)
            bounded = sold is not None and rung.name is RungName.DC_LINK
            counts = sold is not None if apart else e.parameters.protocol is Protocol.UDP
            for way in ways(e.parameters):
                one = judge_experiment(
                    e, sold or of_its_family(deal, rung.paths, e.parameters.paths), way, rung, bounded, partly=apart
                )
                found.append(replace(one, counts=counts))
    return tuple(found)


def as_carried(j: ExperimentJudgement, rung: RungResult) -> ExperimentJudgement:
    """The judgement with the rates of whichever of several paths carried something, where it counts them as nothing."""
    if len(rung.paths) < 2 or j.spread is None or j.spread.minimum > 0:
        return j
    e = next(e for e in rung.experiments if e.parameters.id == j.experiment)
    seen = judge_experiment(e, Contract(), Direction(j.direction), rung, False, partly=True).spread
    share = 100 * seen.median / j.ceiling_bps if seen and j.ceiling_bps else None
    return replace(j, spread=seen, percent_of_ceiling=share)


def of_all_paths(judged: Judged, rung: RungResult) -> Judged:
    """Those of experiments that loaded all of the rung's paths."""
    loaded = {e.parameters.id: set(e.parameters.paths) for e in rung.experiments}
    every = set(range(len(rung.paths)))
    return tuple(j for j in judged if j.experiment in loaded and (loaded[j.experiment] or every) == every)


def _loads(rung: RungResult) -> tuple[ExperimentResult, ...]:
    return tuple(e for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP))


def _held_by_card(j: ExperimentJudgement, rung: RungResult, troubles: list[Concern]) -> ExperimentJudgement:
    """The judgement, but with the card of an end that it loaded as the limiter if that is in trouble, so that the path
    is not blamed.
    """
    loaded = {g.path for e in rung.experiments if e.parameters.id == j.experiment for t in e.trials for g in t.legs}
    held = next((c for c in troubles if c.excuses and (not c.paths or loaded & set(c.paths))), None)
    if held is None or j.limiter is None or j.judgement.cause not in SHORTFALL:
        return j
    found = own_card(held.sentence, j.limiter.evidence)
    sentence = limited(j.judgement.reasons[0], held.sentence)
    return replace(j, limiter=found, judgement=replace(j.judgement, sentence=sentence))
