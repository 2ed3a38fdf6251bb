"""What kept a trial from more: one answer with its figures, or two with what would tell them apart."""

from __future__ import annotations

from linkladder.model import Contract, Direction, Experiment, RungResult, TrialResult
from linkladder.verdicts import Limiter, LimiterKind


def limiter(
    trial: TrialResult,
    experiment: Experiment,
    contract: Contract,
    rung: RungResult | None = None,
    direction: Direction | None = None,
    bounded: bool = True,
) -> Limiter:
    """The limiter of one direction; `rung` lends its idle round trip, DF probes and paced UDP as further witnesses."""
    return Limiter(kind=LimiterKind.UNKNOWN, sentence="What limits is not known.")
