"""What two runs say of one another."""

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
    detectable_percent: float | None  # the smallest change these repeats would have shown; None: one repeat each
    sentence: str
    answer: Answer = Answer.UNDECIDED
    doubt: str = ""  # why what is beyond the noise is not told as a difference


@dataclass(frozen=True)
class ComparedFigure:
    """One figure beside the throughput in two runs, each the mean of its repeats, in the unit of its kind."""

    rung: str
    experiment: str
    direction: str
    measured: Measured
    answer: Answer
    a: float
    b: float
    noise: float | None = None  # half the interval of the change; None: one repeat each
    withheld: bool = False  # CPU that was withheld from an end can explain the change: it is not told as a difference


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    a: str  # run ids
    b: str
    sentence: str
    differences: tuple[Difference, ...] = ()
    environment: tuple[str, ...] = ()  # what is not the same, in words
    only_in_one: tuple[str, ...] = ()
    figures: tuple[ComparedFigure, ...] = ()  # what else was measured in both
