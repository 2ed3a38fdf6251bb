"""Of several pairs of ends every repeat counts: their rates are medians, and a firm PASS is held to the worst.

Needs the loads of each trial; one in which a load failed is told elsewhere.  What the pairs' verdict, which is one of
TCP, does not hold is here as well: lost datagrams, and promised trials that are not there.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from linkladder.judge.across import Load, across
from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import parameters
from linkladder.judge.planned import missing_trials
from linkladder.model import Company, Contract, Direction, Document, ExperimentResult, Protocol, Role, RungResult
from linkladder.phrases import company as say
from linkladder.phrases import rungs
from linkladder.verdicts import Cause, Concern, ExperimentJudgement, Verdict

ON_IT = 0.999  # of the bar: what one repeat may miss it by

_Rates = dict[str, list[float]]  # by what was measured, in words: a rate for each trial


def each_repeat(rung: RungResult, deal: Contract, shared: float | None) -> list[Concern]:
    """Repeats below the bar of settings whose median is above it; `shared`: what all paths may carry together."""
    tcp = [
        e
        for e in rung.experiments
        if e.parameters.protocol is Protocol.TCP
        and not e.parameters.settings
        and e.parameters.direction is not Direction.DUPLEX
        and e.parameters.company is not Company.VISITED
    ]
    found = _below(_best(_alone(rung, e) for e in tcp), deal.pass_ratio * ceiling(deal).bps)
    if shared is not None:
        found += _below(_best(_together(rung, e) for e in tcp), deal.pass_ratio * shared)
    return found


def besides_tcp(judged: tuple[ExperimentJudgement, ...], rung: RungResult, document: Document) -> list[Concern]:
    """What the verdict of several pairs, which is one of TCP, does not hold: lost datagrams, and what was left out."""
    bad = (Verdict.FAIL, Verdict.CANNOT_JUDGE)
    found = [
        Concern(j.judgement.cause, f"{_setting(j, rung)}: {j.judgement.sentence}", j.judgement.verdict)
        for j in judged
        if j.counts and j.protocol == Protocol.UDP and j.judgement.verdict in bad
    ]
    missing = missing_trials(rung, document)
    return [*found, Concern(Cause.TRIALS_MISSING, missing, provisional=True)] if missing else found


def _setting(j: ExperimentJudgement, rung: RungResult) -> str:
    return rungs.setting(parameters(rung, j.experiment), j.protocol, j.direction)


def _best(rates: Iterable[_Rates]) -> _Rates:
    """Of several settings of the same the one that carries most, as the verdict rests on it."""
    best: _Rates = {}
    for one in rates:
        for name, values in one.items():
            if name not in best or statistics.median(values) > statistics.median(best[name]):
                best[name] = values
    return best


def _below(best: _Rates, needed: float) -> list[Concern]:
    return [
        Concern(Cause.WORST_TRIAL, say.worst_repeat(name, values, needed), Verdict.CANNOT_JUDGE)
        for name, values in best.items()
        if statistics.median(values) >= ON_IT * needed > min(values)
    ]


def _loads(e: ExperimentResult) -> Iterable[dict[int, float]]:
    """Of each trial what every path carried, where none failed."""
    for t in e.trials:
        if t.ok:
            yield {leg.path: leg.outcome.goodput_bps for leg in t.legs if leg.role is Role.LOAD}


def _alone(rung: RungResult, e: ExperimentResult) -> _Rates:
    found: _Rates = {}
    for rates in _loads(e):
        for path, bps in rates.items():
            if len(rates) == 1 and 0 <= path < len(rung.paths):
                found.setdefault(say.alone(rung.paths, path, e.parameters.direction), []).append(bps)
    return found


def _together(rung: RungResult, e: ExperimentResult) -> _Rates:
    found: _Rates = {}
    for rates in _loads(e):
        if len(rates) > 1 and all(0 <= path < len(rung.paths) for path in rates):
            for name, load in across(rung.paths, [Load(e.parameters.direction, rates)], {}).items():
                found.setdefault(say.together(name), []).append(load.together)
    return found
