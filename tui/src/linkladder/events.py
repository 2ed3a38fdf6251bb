"""The events that the engine emits during a run; front ends show them, and tests replay them."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkladder.model import (
    Evidence,
    HostSample,
    Interval,
    Plan,
    RungName,
    RungResult,
    RunState,
    TrialResult,
)
from linkladder.verdicts import RungJudgement


@dataclass(frozen=True)
class RunStarted:
    """A run has started or been resumed; `done` trials, expected to take `spent` seconds, were stored before."""

    run_id: str
    plan: Plan
    seconds: float  # expected for the whole run, including the trials stored before
    trials: int
    done: int = 0
    spent: float = 0.0
    longest: float = 0.0  # seconds expected if no verdict is settled before the last repeat that the plan allows


@dataclass(frozen=True)
class RungStarted:
    """A rung has started; `seconds`, `done`, `spent` and `longest` are as in RunStarted, for this rung.

    `before` has the figures of the trials that were stored before the run was resumed, by experiment.
    """

    rung: RungName
    seconds: float
    trials: int
    index: int  # 0-based among the plan's rungs
    done: int = 0
    spent: float = 0.0
    longest: float = 0.0
    search: float = 0.0  # of the seconds, for a search for the strongest generator that is foreseen
    before: dict[str, tuple[TrialResult, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class PlanGrown:
    """A rung needs more trials, as a repeat or a staircase's next step; `plan` includes these `trials`."""

    rung: RungName
    plan: Plan
    trials: int
    seconds: float  # expected for these trials


@dataclass(frozen=True)
class LeftOut:
    """Trials of a rung, as planned so far, are not run: they would change nothing on these machines."""

    rung: RungName
    trials: int
    seconds: float  # that they were expected to take


@dataclass(frozen=True)
class GeneratorSought:
    """Short tests of the ways to generate a rung's loads have begun; GeneratorChosen ends them."""

    rung: RungName
    said: str
    seconds: float  # the longest that they may take


@dataclass(frozen=True)
class GeneratorChosen:
    """The generator was chosen for the rung's loads that do not name one; `plan` has it, with their new ids."""

    rung: RungName
    plan: Plan
    said: str


@dataclass(frozen=True)
class WaitingForOperator:
    """The rung needs the machine moved; answer with Controls.proceed() or Controls.skip()."""

    rung: RungName
    instruction: str  # a whole sentence, which also says which key to press


@dataclass(frozen=True)
class EvidenceFound:
    """Evidence was found of where the machines of a rung are."""

    rung: RungName
    evidence: Evidence


@dataclass(frozen=True)
class TrialStarted:
    """A trial has begun."""

    rung: RungName
    experiment: str  # Experiment.id
    repeat: int
    index: int  # 0-based among all trials of the run
    seconds: float  # expected for the whole trial
    commands: tuple[str, ...] = ()  # as a shell would write them, prefixed "near: " or "far: "


@dataclass(frozen=True)
class Sampled:
    """A sample of one second at one end."""

    end: str  # its name, as in the trial's end records
    sample: HostSample


@dataclass(frozen=True)
class PathRate:
    """The rate of one of several paths in a second."""

    path: int  # its index among the rung's paths
    bps: float


@dataclass(frozen=True)
class IntervalSeen:
    """The sum of all flows of a direction in one second, live and provisional; the receiver's if known in time."""

    interval: Interval
    paths: tuple[PathRate, ...] = ()  # if the trial has several paths: those that have reported this second
    by_cards: bool = False  # counted by the receiving card, with headers, as the tool prints nothing before its end


@dataclass(frozen=True)
class RoundTripSeen:
    """A ping beside the trial was answered."""

    t: float
    rtt_ms: float


@dataclass(frozen=True)
class TrialFinished:
    """A trial is over and stored."""

    rung: RungName
    experiment: str
    result: TrialResult


@dataclass(frozen=True)
class RungFinished:
    """A rung is over. If it has long trials, `result` has only figures, and `judgement` was made with all seconds."""

    rung: RungName
    result: RungResult
    judgement: RungJudgement | None = None


@dataclass(frozen=True)
class PeerLost:
    """The channel to an appliance is lost."""

    peer: str
    reason: str
    retry_in: float  # seconds until the next attempt; 0 if there is none


@dataclass(frozen=True)
class PeerBack:
    """The appliance answers again."""

    peer: str


@dataclass(frozen=True)
class Notice:
    """Something that a person should know, without any effect on the run."""

    text: str


@dataclass(frozen=True)
class Paused:
    """The run stops before its next trial, or goes on again if `ended`."""

    rung: RungName
    ended: bool = False


@dataclass(frozen=True)
class RunFinished:
    """The last event of every run."""

    run_id: str
    state: RunState
    failed_trials: int
    reason: str = ""  # why the run is incomplete
    totals: dict[str, float] = field(default_factory=dict)  # rung -> median of its best setting, one way, b/s
    cancelled: bool = False  # ended by a person


Event = (
    RunStarted
    | RungStarted
    | PlanGrown
    | LeftOut
    | GeneratorSought
    | GeneratorChosen
    | WaitingForOperator
    | EvidenceFound
    | TrialStarted
    | Sampled
    | IntervalSeen
    | RoundTripSeen
    | TrialFinished
    | RungFinished
    | PeerLost
    | PeerBack
    | Notice
    | Paused
    | RunFinished
)
