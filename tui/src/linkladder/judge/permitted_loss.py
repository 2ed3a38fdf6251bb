"""Keeps the loss that a contract permits from failing a link: it holds each TCP stream, and more streams carry more.

Paced UDP must show that the path carries what was sold and loses no more of it than that; as many streams as are ever
asked for decide.
"""

from __future__ import annotations

from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import by_streams, paced_trials
from linkladder.judge.to_tell import MOST_STREAMS, Asked, held_by_loss, tcp_load
from linkladder.model import Contract, Direction, Experiment, Protocol, RungResult
from linkladder.model.asked import BOTH_WAYS
from linkladder.phrases import permitted_loss as say
from linkladder.verdicts import Cause, ExperimentJudgement, Judgement, Limiter, Verdict

PACED = 0.85  # share of the ceiling at which paced UDP shows what the path carries


def excused(
    judged: Judgement, p: Experiment, limits: Limiter | None, rung: RungResult | None, deal: Contract, way: Direction
) -> Judgement:
    """The judgement on a setting, or CANNOT JUDGE if a permitted loss holds its streams, and more may carry enough."""
    short = judged.verdict is Verdict.FAIL and judged.cause is Cause.SHORT and p.direction is way
    if not short or not held_by_loss(limits):
        return judged
    most = max((p.streams, *(streams for streams, _ in by_streams(rung, p, way))))
    if most >= MOST_STREAMS or not _carries(rung, deal, way):
        return judged
    why = say.permitted(deal.loss_percent, p.streams)
    return judged.left_open(Cause.PERMITTED_LOSS, why, say.more(_more(p)))


def with_more(j: ExperimentJudgement, p: Experiment) -> list[Asked]:
    """What to measure next if permitted loss left it open."""
    if j.judgement.cause is not Cause.PERMITTED_LOSS:
        return []
    return [(say.MORE, tcp_load(p, streams=_more(p), repeats=max(2, p.repeats)))]


def _more(p: Experiment) -> int:
    return min(MOST_STREAMS, max(BOTH_WAYS, 4 * p.streams))


def _carries(rung: RungResult | None, deal: Contract, way: Direction) -> bool:
    """Whether paced UDP shows that what was sold arrives that way, but for some that may be lost of it: where it loses
    nothing, it is TCP's own bursts that the path does not take.
    """
    sold = ceiling(deal, Protocol.UDP).bps
    within = [one for one in paced_trials(rung, way) if one.offered_bps <= sold]
    most = max((one.offered_bps for one in within), default=0.0)
    losses = [100 * one.loss for one in within]
    return most >= PACED * sold and 0 < max(losses) <= deal.loss_percent
