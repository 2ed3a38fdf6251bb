"""Judges what a verdict on TCP one way at a time leaves out: both ways at once, and of several pairs also paced UDP,
planned trials that are missing, and a direction that was not measured.

A setting that was tried and settled nothing weakens a PASS, as what it was to show is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from linkladder.judge.able import Able, able_on
from linkladder.judge.across import groups
from linkladder.judge.card_faults import at_fault
from linkladder.judge.ceilings import ceiling
from linkladder.judge.common_limits import several_pairs
from linkladder.judge.each_repeat import one_way, stalled
from linkladder.judge.evidence import parameters, ways
from linkladder.judge.experiments import judge_experiment
from linkladder.judge.families import of_its_family
from linkladder.judge.few_streams import few, known_by_several, surely_short
from linkladder.judge.outages import carriers, lost_trials, outages
from linkladder.judge.planned import missing_trials, planned
from linkladder.model import (
    Company,
    Contract,
    Direction,
    Document,
    Experiment,
    ExperimentResult,
    Fault,
    Protocol,
    Role,
    RungName,
    RungResult,
)
from linkladder.phrases import arms
from linkladder.phrases import company as say_of_paths
from linkladder.phrases import rungs as say
from linkladder.phrases.ways import listed, path_name, several_ends
from linkladder.verdicts import Cause, Concern, ExperimentJudgement, Verdict

BOTH = (Direction.FORWARD, Direction.REVERSE)
OPEN = (Verdict.CANNOT_JUDGE, Verdict.INCOMPLETE)
EXCUSED = (Cause.BUSY_END, Cause.WINDOW, Cause.OWN_CARD)  # by which an end explains that it carried too little


def besides_one_way(
    judged: tuple[ExperimentJudgement, ...],
    rung: RungResult,
    measured: RungResult,
    sold: Contract,
    below: Able,
    document: Document,
) -> list[Concern]:
    """The concerns about what the verdict leaves out; `rung` is the judged part of what was `measured`."""
    visited = _of_visited(measured, sold)
    if several_pairs(rung.paths):
        return [*_of_pairs(measured, sold, below, document), *visited]
    bounded = rung.name is RungName.DC_LINK
    return [*_unsettled_arms(judged, rung), *_of_some_paths(measured, sold), *visited] if bounded else []


def _of_visited(rung: RungResult, deal: Contract) -> list[Concern]:
    """Concerns about trials in which other paths came and went: their rate is no path's own, but what broke counts.

    Seconds in which the watched path carried nothing may be the visitor's doing, so that they do not fail it.
    """
    its_arms = tuple(e for e in rung.experiments if e.parameters.company is Company.VISITED)
    part = replace(rung, experiments=its_arms if len(rung.paths) > 1 else ())
    away = [replace(c, best=Verdict.CANNOT_JUDGE if c.best else None) for c in outages(part, deal)]
    return [*away, *carriers(part), *lost_trials(part), *_broken(part)]


def _unsettled_arms(judged: Iterable[ExperimentJudgement], rung: RungResult) -> list[Concern]:
    """Concerns about settings of a single path that count for nothing else: both ways at once without an answer, and
    TCP of which the tool failed as many trials as it measured.
    """
    found = []
    for j in judged:
        e = next(e for e in rung.experiments if e.parameters.id == j.experiment)
        p = e.parameters
        if j.counts or p.protocol is not Protocol.TCP or (few(j) and known_by_several(rung)):
            continue
        both = p.direction is Direction.DUPLEX
        failed = sum(not t.ok and t.fault is not Fault.PATH for t in e.trials)
        often = j.spread is not None and (2 * failed >= len(e.trials) or (both and failed > 0))
        if often or (both and j.judgement.verdict in OPEN and not _every_repeat(j)):
            cause = Cause.TRIALS_FAILED if often else j.judgement.cause
            why = next(iter(j.judgement.findings), "") if often else j.judgement.sentence
            said = f"{arms.one_way(p, j.direction)}: {why}"
            found.append(Concern(cause, said, Verdict.PASS, provisional=True))
    return found


def _every_repeat(j: ExperimentJudgement) -> bool:
    """Whether each repeat reached the required rate, so that only the interval leaves it open."""
    return j.spread is not None and j.spread.minimum >= j.judgement.figures.get("needed_bps", math.inf)


def _of_some_paths(rung: RungResult, deal: Contract) -> list[Concern]:
    """Concerns of several cards of one pair: arms that loaded some of its paths are in no sum that is judged."""
    every = set(range(len(rung.paths)))
    some = [e for e in rung.experiments if _loaded(e) and not every <= _loaded(e) and not e.parameters.settings]
    part = replace(rung, experiments=tuple(some))
    return [*stalled(part, ()), *_datagrams(part, deal), *_broken(part)]


def _broken(rung: RungResult) -> list[Concern]:
    """A concern about the first trial of TCP one way that was not measured, as what it was to show is not known."""
    single = (e for e in rung.experiments if e.parameters.protocol is Protocol.TCP and len(ways(e.parameters)) == 1)
    broken = [(e, t) for e in single for t in e.trials if not t.ok and t.fault is not Fault.PATH]
    said = [say_of_paths.broken(e.parameters, t.repeat, t.reason, rung.paths) for e, t in broken[:1]]
    return [Concern(Cause.TRIALS_FAILED, text, Verdict.PASS, provisional=True) for text in said]


def _of_pairs(rung: RungResult, deal: Contract, below: Able, document: Document) -> list[Concern]:
    """The concerns of several pairs of ends; `deal`: what one path is sold as, `below`: the ends shown to be able."""
    missing = missing_trials(rung, document)
    return [
        *_datagrams(rung, deal),
        *_at_once(rung, deal, below | able_on(rung, deal.pass_ratio * ceiling(deal).bps)),
        *_one_direction(rung, document),
        *_broken(rung),
        *([Concern(Cause.TRIALS_MISSING, missing, provisional=True)] if missing else []),
    ]


def _loaded(e: ExperimentResult) -> set[int]:
    return {leg.path for t in e.trials for leg in t.legs if leg.role is Role.LOAD}


def _of_paths(deal: Contract, count: int) -> Contract:
    """What so many paths are sold as together."""
    port = count * deal.port_bps
    rates = [count * deal.rate_bps] if deal.rate_bps is not None else []
    rates += [deal.shared_bps] if deal.shared_bps is not None and count > 1 else []
    return replace(deal, rate_bps=min(rates, default=None), port_bps=port)


def _judged(rung: RungResult, deal: Contract, kind: Protocol) -> Iterator[tuple[ExperimentResult, ExperimentJudgement]]:
    """Each setting of that protocol, in each of its directions, against what its paths are sold as."""
    bounded = rung.name is RungName.DC_LINK
    for e in rung.experiments:
        paths = _loaded(e)
        if e.parameters.protocol is kind and not e.parameters.settings and paths:
            for way in ways(e.parameters):
                own = of_its_family(deal, rung.paths, paths)
                yield e, judge_experiment(e, _of_paths(own, len(paths)), way, rung, bounded)


def _datagrams(rung: RungResult, deal: Contract) -> Iterator[Concern]:
    """Concerns about paced UDP, whichever paths were loaded at once."""
    for e, j in _judged(rung, deal, Protocol.UDP):
        said = f"{_name(j, rung)}: {j.judgement.sentence}"
        if j.judgement.verdict is not Verdict.PASS:
            paths = at_fault(j, e, _of_paths(deal, len(_loaded(e))))
            yield Concern(j.judgement.cause, said, j.judgement.verdict, paths=paths)
        elif j.judgement.provisional:
            yield Concern(Cause.TRIALS_FAILED, said, Verdict.PASS, provisional=True)


def _alike(rung: RungResult, paths: set[int]) -> tuple[ExperimentResult, ...]:
    """What loaded these paths, as they are set up."""
    return tuple(e for e in rung.experiments if _loaded(e) == paths and not e.parameters.settings)


def _at_once(rung: RungResult, deal: Contract, able: Able) -> Iterator[Concern]:
    """Concerns about both ways at once, of a path by itself or of all that is said to be shared."""
    for e, j in _judged(rung, deal, Protocol.TCP):
        p, verdict, paths = e.parameters, j.judgement.verdict, _loaded(e)
        if p.direction is not Direction.DUPLEX or verdict is Verdict.PASS or _every_repeat(j):
            continue
        whole = deal.shared_bps is not None and [*groups(rung.paths, paths, BOTH[0]).values()] == [sorted(paths)]
        if few(j) and known_by_several(replace(rung, experiments=_alike(rung, paths))):
            continue
        short = few(j) or j.judgement.cause in (Cause.SHORT, Cause.SCATTERED, Cause.WORST_TRIAL, Cause.LEVEL_FELL)
        excused = j.judgement.cause in EXCUSED and j.spread is not None and j.spread.minimum > 0
        if (short or excused) and len(paths) > 1 and not whole:
            continue  # what they share besides is not said, and each end's card is shared by its paths
        known = len(paths) == 1 and not any(able.lacking(rung.paths[n], w) for n in paths for w in BOTH)
        best = verdict if not short or known else Verdict.CANNOT_JUDGE
        said = f"{_name(j, rung)}: {j.judgement.sentence}"
        open_ = best in OPEN and not (known and few(j) and surely_short(j))
        of = at_fault(j, e, _of_paths(deal, len(paths)))
        yield Concern(j.judgement.cause, said, Verdict.PASS if open_ else best, provisional=open_, paths=of)


def _name(j: ExperimentJudgement, rung: RungResult) -> str:
    p = parameters(rung, j.experiment)
    setting = say.setting(p, j.protocol, j.direction, rung.paths)
    if several_ends(rung.paths):
        return setting  # it names the pairs
    names = [path_name(rung.paths, n, BOTH[0]) for n in p.paths or tuple(range(len(rung.paths)))]
    return f"{setting} ({listed(names)})"


def _one_direction(rung: RungResult, document: Document) -> Iterator[Concern]:
    """A concern if a path was measured alone in one direction, as the verdict says nothing of the other one.

    If the plan asked for both, the run is incomplete.
    """
    seen: dict[int, set[Direction]] = {}
    for e in one_way(rung):
        for n in _loaded(e) if len(_loaded(e)) == 1 else ():
            if any(t.ok or t.fault is Fault.PATH for t in e.trials):
                seen.setdefault(n, set()).add(e.parameters.direction)
    asked: dict[int, set[Direction]] = {}
    for p in planned(rung, document):
        for n in p.paths if _alone(p) else ():
            asked.setdefault(n, set()).update(ways(p))
    for way in BOTH:
        lacking = [n for n, known in seen.items() if 0 <= n < len(rung.paths) and way not in known]
        if lacking:
            names = [path_name(rung.paths, n, way) for n in lacking]
            planned_too = any(way in asked.get(n, ()) for n in lacking)
            best = Verdict.INCOMPLETE if planned_too else Verdict.PASS
            yield Concern(Cause.ONE_DIRECTION, say_of_paths.one_direction(names), best, provisional=True)


def _alone(p: Experiment) -> bool:
    return p.protocol is Protocol.TCP and len(p.paths) == 1 and not p.settings
