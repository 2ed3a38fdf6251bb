"""Defines the comparison of two runs."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder.verdicts.kinds import Answer, Measured


@dataclass(frozen=True)
class Difference:
    """One experiment in two runs."""

    rung: str
    experiment: str
    direction: str
    a_bps: float
    b_bps: float
    change_percent: float
    beyond_noise: bool
    detectable_percent: float | None  # smallest change that these repeats would show; None if a run has only one
    sentence: str
    answer: Answer = Answer.UNDECIDED
    doubt: str = ""  # why an answer that the figures suggest is not given; '' if there is no doubt
    apart: bool = False  # all repeats of one run are far from all of the other's, but they are too few to be sure


@dataclass(frozen=True)
class ComparedFigure:
    """One figure other than throughput in two runs, each the mean of its repeats, in the unit of its kind."""

    rung: str
    experiment: str
    direction: str
    measured: Measured
    answer: Answer
    a: float
    b: float
    noise: float | None = None  # half the interval of the change; None if a run has only one repeat
    withheld: bool = False  # whether withheld CPU can explain the change, so that it is not reported as a difference
    repeats: tuple[int, int] = (0, 0)  # in each run


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    a: str  # run ids
    b: str
    sentence: str
    differences: tuple[Difference, ...] = ()
    environment: tuple[str, ...] = ()  # other differences between the runs, in words
    only_in_one: tuple[str, ...] = ()
    figures: tuple[ComparedFigure, ...] = ()  # figures other than throughput that both runs measured
