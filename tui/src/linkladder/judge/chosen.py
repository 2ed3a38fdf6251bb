"""Chooses on which settings a rung's verdict rests: the best of each direction, and others that count all the same."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from linkladder.judge.evidence import parameters
from linkladder.judge.few_streams import few, known_by_several, surely_short
from linkladder.judge.udp import above_contract
from linkladder.model import Contract, Direction, Protocol, RungResult
from linkladder.verdicts import Cause, ExperimentJudgement, Verdict

HALF = 0.5
FAR = 0.85  # share of the required rate; of two trials of a weak setting on a good link one was seen to carry 0.97


def chosen_of(judged: tuple[ExperimentJudgement, ...]) -> dict[str, ExperimentJudgement]:
    """The best TCP setting of each direction, as it shows what the path can do; of both at once only if no other is."""
    tcp = [j for j in judged if j.protocol == Protocol.TCP]
    both = duplex_ids(judged)
    chosen: dict[str, ExperimentJudgement] = {}
    for j in [j for j in tcp if j.experiment not in both] or tcp:
        now = chosen.get(j.direction)
        if now is None or _merit(j) > _merit(now):
            chosen[j.direction] = j
    return chosen


def _merit(j: ExperimentJudgement) -> tuple[bool, float]:
    return j.judgement.verdict is Verdict.PASS, j.spread.median if j.spread else -1.0


def duplex_ids(judged: tuple[ExperimentJudgement, ...]) -> set[str]:
    seen: dict[str, set[str]] = {}
    for j in judged:
        seen.setdefault(j.experiment, set()).add(j.direction)
    return {name for name, directions in seen.items() if len(directions) > 1}


def counts(j: ExperimentJudgement, rung: RungResult, deal: Contract, chosen: dict[str, ExperimentJudgement]) -> bool:
    """Whether the verdict rests on it: the best setting, UDP within the contract, or a bad or impossible result."""
    if j.judgement.verdict is Verdict.IMPOSSIBLE or chosen.get(j.direction) is j:
        return True
    if few(j):
        return not known_by_several(rung) and (surely_short(j) or _one_bad_trial(j))
    if j.judgement.cause is Cause.LEVEL_FELL or _one_bad_trial(j):  # caused by the path, whatever the setting
        return True
    p = parameters(rung, j.experiment)
    if j.protocol == Protocol.UDP:
        return not above_contract(p, deal) or j.judgement.cause is Cause.UDP_LOSS
    # A trial in which the path carried nothing counts against it with any setting, and so does poor full duplex.
    silent = j.spread is not None and j.spread.minimum <= 0 and j.judgement.verdict is not Verdict.PASS
    return silent or (j.judgement.verdict is Verdict.FAIL and p.direction is Direction.DUPLEX)


def _one_bad_trial(j: ExperimentJudgement) -> bool:
    """Whether a setting that reaches the required rate had a trial that did not."""
    needed = j.judgement.figures.get("needed_bps")
    if j.spread is None or needed is None or j.judgement.verdict is not Verdict.CANNOT_JUDGE or not j.ceiling_bps:
        return False
    shares = [t.percent_of_ceiling[j.direction] / 100 for t in j.trials if t.ok and t.percent_of_ceiling]
    carried = [share * j.ceiling_bps for share in shares]  # the spread also has trials that fell silent
    return reaches_at_times([*carried, j.spread.minimum, j.spread.maximum], needed)


def reaches_at_times(carried: Sequence[float], needed: float) -> bool:
    """Whether a setting that reaches the required rate had a trial that did not: one in the median, any other with less
    than half of it; or, where just as many trials reach it as do not, with less than FAR of it.
    """
    if not carried or not max(carried) >= needed > min(carried) * 1.01:
        return False
    as_many = 2 * sum(one >= needed for one in carried) == len(carried)
    return statistics.median(carried) >= needed or min(carried) < (FAR if as_many else HALF) * needed
