"""Keeps TCP's own troubles with traffic both ways at once from being laid to the path.

Few streams often leave one way of a good link empty while the other is full, as their acknowledgements wait behind its
data: what they lack then is no evidence, until several streams have shown as much.  Both ways short at once is.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.to_tell import Asked, tcp_load
from linkladder.model import Direction, Experiment, Interval, Protocol, RungResult, TrialResult
from linkladder.model.asked import BOTH_WAYS
from linkladder.phrases import few_streams as say
from linkladder.verdicts import SHORTFALL, Cause, ExperimentJudgement, Judgement, Verdict

FULL = 0.95  # share of the required rate; in every trial of few streams on a clear link one way carried 0.96 or more
Runs = tuple[tuple[float, float], ...]  # spans of time, each from when to when
ALIVE = 0.5  # share of the median second's rate; a way that carries as much has its acknowledgements come back
OPEN = frozenset({Cause.SCATTERED, Cause.WORST_TRIAL, Cause.LEVEL_FELL})


def excused(judged: Judgement, p: Experiment, trials: Iterable[TrialResult], needed: float) -> Judgement:
    """The judgement on a setting, or CANNOT JUDGE if its streams were too few both ways at once to show a shortfall.

    `needed`: the required rate of each way.
    """
    short = judged.verdict is Verdict.FAIL and judged.cause in SHORTFALL
    rates = [[direction_bps(t, p, way) for way in ways(p)] for t in trials]
    if not _few(p) or not (short or judged.cause in OPEN) or all(min(both) >= needed for both in rates):
        return judged
    if any(max(both) < FULL * needed for both in rates):
        return judged
    return judged.left_open(Cause.FEW_STREAMS, say.few(p.streams), say.several(BOTH_WAYS))


def few(j: ExperimentJudgement) -> bool:
    """Whether too few streams left it open."""
    return j.judgement.cause is Cause.FEW_STREAMS


def without_alive(runs: Runs, seconds: Iterable[Interval], p: Experiment, way: Direction) -> Runs:
    """The dead seconds of one direction but for those in which the other one shows that the path was alive: few
    streams leave a way empty, and what fills the other way is acknowledged over it.
    """
    back = [i for i in seconds if i.direction is not way and i.bytes]
    if not _few(p) or p.protocol is not Protocol.TCP or not back:
        return runs
    usual = statistics.median(i.bps for i in back)
    left = list(runs)
    for full in (i for i in back if i.bps >= ALIVE * usual):
        parts = [((a, min(b, full.start)), (max(a, full.end), b)) for a, b in left]
        left = [(a, b) for pair in parts for a, b in pair if b > a]
    return tuple(left)


def surely_short(j: ExperimentJudgement) -> bool:
    """Whether even the upper end of the interval is below the required rate."""
    return j.spread is not None and j.spread.high < j.judgement.figures.get("needed_bps", 0.0)


def known_by_several(rung: RungResult) -> bool:
    """Whether the rung has a trial both ways at once of as many streams as tell what it carries."""
    return any(_tells(e.parameters) and any(t.ok for t in e.trials) for e in rung.experiments)


def with_several(p: Experiment) -> Asked:
    """What to measure next if too few streams left it open."""
    return say.SEVERAL, tcp_load(p, streams=BOTH_WAYS, repeats=max(2, p.repeats))


def _tells(p: Experiment) -> bool:
    return p.direction is Direction.DUPLEX and p.protocol is Protocol.TCP and p.streams >= BOTH_WAYS


def _few(p: Experiment) -> bool:
    return p.direction is Direction.DUPLEX and p.streams < BOTH_WAYS
