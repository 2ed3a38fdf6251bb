"""What the engine says while a run goes on; front ends show it, tests replay it."""

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
    """`done` trials, which `spent` seconds were expected for, were stored before the run was taken up again."""

    run_id: str
    plan: Plan
    seconds: float  # expected, all in, those stored before among them
    trials: int
    done: int = 0
    spent: float = 0.0
    longest: float = 0.0  # expected if no verdict is settled before the last repeat that the plan allows


@dataclass(frozen=True)
class RungStarted:
    """`done`, `spent` and `longest` as those of RunStarted."""

    rung: RungName
    seconds: float
    trials: int
    index: int  # 0-based among the plan's rungs
    done: int = 0
    spent: float = 0.0
    longest: float = 0.0


@dataclass(frozen=True)
class PlanGrown:
    """A rung's results asked for more, a repeat or a staircase's next step: `plan` has it, and so many trials more."""

    rung: RungName
    plan: Plan
    trials: int
    seconds: float  # expected for those


@dataclass(frozen=True)
class GeneratorSought:
    """Short looks at the ways to make a rung's loads have begun; GeneratorChosen ends them."""

    said: str
    seconds: float  # at most


@dataclass(frozen=True)
class GeneratorChosen:
    """How the loads of a rung are made that leave it open; `plan` has them so, under their new names."""

    rung: RungName
    plan: Plan
    said: str


@dataclass(frozen=True)
class WaitingForOperator:
    """The rung needs the machine moved; answer with Controls.proceed() or Controls.skip()."""

    rung: RungName
    instruction: str  # a whole sentence, which says with which key to answer


@dataclass(frozen=True)
class EvidenceFound:
    """What was found of where the machines of a rung stand."""

    rung: RungName
    evidence: Evidence


@dataclass(frozen=True)
class TrialStarted:
    """A trial has begun."""

    rung: RungName
    experiment: str  # Experiment.id
    repeat: int
    index: int  # 0-based among all trials of the run
    seconds: float  # expected, all in
    commands: tuple[str, ...] = ()  # as a shell would write them, prefixed "near: " or "far: "


@dataclass(frozen=True)
class Sampled:
    """One second of one end."""

    end: str  # its name, as in the trial's end records
    sample: HostSample


@dataclass(frozen=True)
class PathRate:
    """What one of several paths carried in a second."""

    path: int  # of the rung's paths
    bps: float


@dataclass(frozen=True)
class IntervalSeen:
    """All flows of a direction over one second, live and provisional (the receiver's where it is known in time)."""

    interval: Interval
    paths: tuple[PathRate, ...] = ()  # where the trial has several, of those that told of this second
    by_cards: bool = False  # what the receiving card counted, headers too: the tool tells nothing before its end


@dataclass(frozen=True)
class RoundTripSeen:
    """A ping beside the trial was answered."""

    t: float
    rtt_ms: float


@dataclass(frozen=True)
class TrialFinished:
    """A trial is over, and stored."""

    rung: RungName
    experiment: str
    result: TrialResult


@dataclass(frozen=True)
class RungFinished:
    """A rung is over, with all that was measured of it; of long trials the figures, with what the judge says of all."""

    rung: RungName
    result: RungResult
    judgement: RungJudgement | None = None


@dataclass(frozen=True)
class PeerLost:
    """An appliance is out of reach."""

    peer: str
    reason: str
    retry_in: float  # seconds; 0 when it is given up


@dataclass(frozen=True)
class PeerBack:
    """It answers again."""

    peer: str


@dataclass(frozen=True)
class Notice:
    """Something a person should know, that stops nothing."""

    text: str


@dataclass(frozen=True)
class Paused:
    """The run stops before its next trial."""

    rung: RungName


@dataclass(frozen=True)
class RunFinished:
    """The last event of every run."""

    run_id: str
    state: RunState
    failed_trials: int
    reason: str = ""  # why it is incomplete
    totals: dict[str, float] = field(default_factory=dict)  # rung -> median of its best setting, one way, b/s
    cancelled: bool = False  # by a person


Event = (
    RunStarted
    | RungStarted
    | PlanGrown
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
