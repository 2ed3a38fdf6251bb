"""Checks every repeat of several pairs of ends: their rates are medians, but a firm PASS needs good repeats only.

Needs the loads of each trial; trials in which a load failed are reported elsewhere. Also adds what the verdict on
pairs, which is about TCP only, leaves out: lost datagrams, and planned trials that are missing.
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

ON_IT = 0.999  # share of the required rate that counts as reached

_Rates = dict[str, list[float]]  # by what was measured, in words: a rate in bit/s for each trial


def each_repeat(rung: RungResult, deal: Contract, shared: float | None) -> list[Concern]:
    """Concerns about repeats below the required rate whose median reaches it; `shared`: all paths' ceiling, bit/s."""
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
    """Concerns that the verdict on several pairs, which is about TCP, leaves out: lost datagrams and missing trials."""
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
    """For each thing that was measured, the rates of the setting that carried most, as the verdict rests on it."""
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
    """For each good trial, the rate of every path in bit/s."""
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
