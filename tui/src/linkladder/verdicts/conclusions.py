"""Defines conclusions from many trials: a staircase's arms, bundles, a member taken down, two runs compared."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkladder.verdicts.kinds import Answer, Measured


@dataclass(frozen=True)
class Landing:
    """One arm of a step of a staircase: the best so far, or a change that was tried beside it."""

    direction: str
    step: int
    words: str
    bps: float  # geometric mean of the repeats
    low: float
    high: float
    kept: bool  # whether the next step was built on it
    answer: Answer | None = None  # compared with the best so far
    ratio: float | None = None
    both_ways: bool = False  # whether the other direction was loaded at the same time
    ceiling_bps: float | None = None  # of this direction, at the MTU that this arm has
    base: bool = False  # whether it is the best so far, beside which the others of its step were tried
    in_pairs: int | None = None  # how many pairs the ratio is of, where these lack repeats that one of the rates has


@dataclass(frozen=True)
class BundleJudgement:
    """One direction over what may be a bundle of links: the rates of one flow and of many."""

    direction: str
    one_bps: float
    most_flows: int
    most_bps: float  # of the best block of ports
    members: int  # the most likely number; 0 if it cannot be told
    chance: float  # the probability of that number, 0..1
    steps: dict[str, float] = field(default_factory=dict)  # flows -> bps
    odds: float = 0.0  # the probability that hashing puts 1.4 times its even share of the flows, or more, on one member
    unused: float = 0.0  # share of what that many members can carry that stayed unused
    held: str = ""  # the limiter that held the flows, if it was not the way, so that no number can be told
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemberDown:
    """A bundle's member that was taken down during a trial, and what the bundle did meanwhile in one direction."""

    experiment: str
    repeat: int
    direction: str
    end: str
    card: str
    since: float  # seconds of the trial
    until: float
    believed: bool  # whether its own counters stood still meanwhile; if not, the fields below are not set
    sends: bool = False  # whether `end` sends in this direction
    before_bps: float | None = None
    without_bps: float | None = None
    after_bps: float | None = None
    resolution_s: float | None = None  # time between two samples
    silent_down_s: float | None = None  # the longest time in which nothing arrived after it went down
    silent_back_s: float | None = None  # the longest time in which nothing arrived after it came back
    flows: int = 0
    stopped: int = 0  # flows that stopped for a second or longer
    longest_stop_s: float = 0.0
    not_back: int = 0  # flows that did not go on
    again: int | None = None  # segments sent again after it went down
    again_before: int | None = None
    lost: int | None = None  # datagrams
    share_before: float | None = None  # its share of what all members at that end carried
    share_without: float | None = None
    share_after: float | None = None
    sentences: tuple[str, ...] = ()


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
    pair: str = ""  # the ends that it loads, in words, where there are more than two


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
    pair: str = ""  # the ends that it loads, in words, where there are more than two


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
