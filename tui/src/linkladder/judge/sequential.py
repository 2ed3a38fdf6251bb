"""Finds the settings that one more repeat could settle, after each round of repeats, within the plan's limit."""

from __future__ import annotations

from linkladder.judge.all_cards import held_against
from linkladder.judge.ceilings import ceiling, rate_sold
from linkladder.judge.circumstances import GENERATOR, HEADROOM
from linkladder.judge.contending import contenders
from linkladder.judge.evidence import ways
from linkladder.judge.experiments import judge_experiment
from linkladder.judge.families import of_its_family, over_its_paths
from linkladder.model import Contract, Direction, Document, ExperimentResult, Fault, Protocol, RungName, RungResult
from linkladder.verdicts import Cause, ExperimentJudgement, Verdict

LEAST = 2  # repeats that a verdict needs not to be provisional
HELPED = (Cause.SCATTERED, Cause.WORST_TRIAL, Cause.TRIALS_FAILED, Cause.LEVEL_FELL)


def unsettled(rung: RungResult, document: Document) -> tuple[str, ...]:
    """Ids of the settings that have repeats left and no clear answer yet, in the order of the plan."""
    close = _contending(rung)
    return tuple(
        e.parameters.id
        for e in rung.experiments
        if e.parameters.id in close or (not e.parameters.contends and _open(e, rung, document))
    )


def _contending(rung: RungResult) -> frozenset[str]:
    """The ids of the cells of each direction among which the best is not decided yet, the better ones if the looks that
    all its cells may take together (`at_most` times as many) are too few for all.
    """
    ways_of: dict[Direction, list[ExperimentResult]] = {}
    for e in rung.experiments:
        if e.parameters.contends:
            ways_of.setdefault(e.parameters.direction, []).append(e)
    found: set[str] = set()
    for cells in ways_of.values():
        rates = {e.parameters.id: [t.goodput_bps for t in e.trials if t.ok] for e in cells}
        left = contenders(rates)
        if len(left) > 1 or any(len(rates[name]) < LEAST for name in left):
            looks_left = sum(e.parameters.at_most - e.parameters.repeats for e in cells)
            found |= set(left[: max(0, looks_left)])
    return frozenset(found)


def _open(e: ExperimentResult, rung: RungResult, document: Document) -> bool:
    p, of_one = e.parameters, over_its_paths(document.run.plan.contract, rung)
    deal = held_against(of_one, rung.paths, p.paths, document) or of_its_family(of_one, rung.paths, p.paths)
    if not 0 < len(e.trials) < p.at_most or p.protocol not in (Protocol.TCP, Protocol.UDP):
        return False
    usable = sum(t.ok or t.fault is Fault.PATH for t in e.trials)
    bounded = rung.name is RungName.DC_LINK
    return usable < LEAST or any(
        _may_change(judge_experiment(e, deal, way, rung, bounded), rung.name, deal) for way in ways(p)
    )


def _may_change(j: ExperimentJudgement, rung: RungName, deal: Contract) -> bool:
    """Whether more repeats may change the judgement: by its cause, or below the link if the needed rate lies within
    the interval.
    """
    if j.judgement.verdict is Verdict.CANNOT_JUDGE:
        return j.judgement.cause in HELPED
    if rung is RungName.DC_LINK or j.judgement.verdict is not Verdict.PASS or j.protocol == Protocol.UDP:
        return False
    needed = HEADROOM * rate_sold(deal) if rung in GENERATOR else deal.pass_ratio * ceiling(deal).bps
    return j.spread is not None and j.spread.low < needed <= j.spread.high
