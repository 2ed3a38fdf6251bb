"""Judges a setting on a rung below the link, which no contract bounds, by what the link needs of it."""

from __future__ import annotations

import dataclasses

from linkladder.judge import few_streams, remedies
from linkladder.judge.ceilings import ceiling, duplex_share
from linkladder.judge.evidence import CLOSE, WARM, counted, parameters
from linkladder.judge.limiters import held_by_window, host_bound
from linkladder.judge.udp import saturated
from linkladder.model import Contract, Direction, Protocol, RungResult, TrialResult
from linkladder.phrases import rungs as say
from linkladder.phrases.one_setting import held_back
from linkladder.verdicts import Cause, ExperimentJudgement, Verdict


def against_need(j: ExperimentJudgement, rung: RungResult, deal: Contract) -> ExperimentJudgement:
    """The judgement of a setting below the link, but no PASS if it carries less than was bought.

    It is no FAIL either if a window, a busy end or the scatter of its repeats may be the reason.
    """
    if j.judgement.verdict is not Verdict.PASS or j.spread is None or j.protocol != Protocol.TCP:
        return j
    p, trials = parameters(rung, j.experiment), _trials(j, rung)
    both = p.direction in (Direction.DUPLEX, Direction.BOTH)
    needed = deal.pass_ratio * ceiling(deal).bps * (duplex_share(deal) if both else 1.0)
    if j.spread.low >= needed or _slowest_second(j, rung) >= needed:
        return j
    known = j.limiter is not None and j.limiter.known
    busy = saturated(trials, p, close=CLOSE if known else WARM)
    held = bool(busy) or host_bound(j.limiter) or held_by_window(j.limiter)
    scattered = max(j.spread.maximum, j.spread.high) >= needed
    verdict = Verdict.CANNOT_JUDGE if held or scattered else Verdict.FAIL
    said = say.below_need(j.spread.median, needed, scattered, j.limiter.sentence if j.limiter else "")
    said = held_back(said, busy) if busy and not host_bound(j.limiter) else said
    changed = dataclasses.replace(
        j.judgement, verdict=verdict, sentence=said, reasons=(said,), remedies=remedies.stronger(deal) if held else (),
        cause=Cause.SHORT if verdict is Verdict.FAIL else Cause.BUSY_END if held else Cause.SCATTERED,
    )  # fmt: skip
    return dataclasses.replace(j, judgement=few_streams.excused(changed, p, trials, needed))


def _trials(j: ExperimentJudgement, rung: RungResult) -> list[TrialResult]:
    return [t for e in rung.experiments if e.parameters.id == j.experiment for t in e.trials if t.ok]


def _slowest_second(j: ExperimentJudgement, rung: RungResult) -> float:
    """The rate of the slowest second of all trials, since a fast rung's rate drifts more than its interval allows."""
    way = Direction(j.direction)
    slowest = [min(counted(t.intervals, way), default=0.0) for t in _trials(j, rung)]
    return min(slowest, default=0.0)
