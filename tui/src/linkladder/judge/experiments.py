"""One setting: its repeats, how sure they are, and what they are of the ceiling."""

from __future__ import annotations

from linkladder.model import Contract, Direction, Experiment, ExperimentResult, RungResult, TrialResult
from linkladder.verdicts import ExperimentJudgement, TrialJudgement


def judge_trial(
    trial: TrialResult, experiment: Experiment, contract: Contract, rung: RungResult | None = None, bounded: bool = True
) -> TrialJudgement:
    """One trial beside the ceiling; `bounded` is False on the rungs that the contract does not bound."""
    raise NotImplementedError


def judge_experiment(
    result: ExperimentResult,
    contract: Contract,
    direction: Direction,
    rung: RungResult | None = None,
    bounded: bool = True,
) -> ExperimentJudgement:
    """One setting in one direction against the contract."""
    raise NotImplementedError
