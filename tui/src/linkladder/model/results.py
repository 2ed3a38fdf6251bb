"""What came out, from one leg of a trial to a whole run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from linkladder.model import sums
from linkladder.model.asked import Experiment, Path, Plan
from linkladder.model.hosts import (
    Away,
    Command,
    CpuUse,
    HostFacts,
    HostSample,
    MemoryUse,
    NicCounters,
    QueueCounters,
    SocketsSeen,
    TcpCounters,
    WindowSeen,
)
from linkladder.model.printed import Flow, Interval, PathMtu, Rtt, SocketBuffers, Transactions
from linkladder.model.words import SCHEMA, Direction, End, Fault, Role, RungName, RunState
from linkladder.verdicts import DocumentJudgement


@dataclass(frozen=True)
class Outcome:
    """What came of a leg: a measurement, or why there is none.

    ``ok`` with fault None: a measurement.  Not ok with fault PATH: the link carried nothing or
    stalled, which is a (bad) result.  Not ok with fault TOOL: the measurement itself broke.
    """

    ok: bool
    fault: Fault | None = None
    reason: str = ""
    goodput_bps: float = 0.0  # receiver's bytes after the warm-up; both ways summed when duplex
    by_direction: dict[str, float] = field(default_factory=dict)  # "forward"/"reverse" -> bps
    flows: tuple[Flow, ...] = ()
    intervals: tuple[Interval, ...] = ()
    window_read_back: SocketBuffers = field(default_factory=SocketBuffers)
    rtt: Rtt | None = None
    path_mtu: PathMtu | None = None
    transactions: Transactions | None = None
    lost: int | None = None
    datagrams: int | None = None
    jitter_ms: float | None = None
    offered_bps: float | None = None  # UDP: what the senders put out in the counted window
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leg:
    """One client and one server on one path of a trial, or a ping beside them."""

    outcome: Outcome
    role: Role = Role.LOAD
    path: int = 0  # of the rung's paths
    near: int = 0  # of the trial's ends, the one at the path's near side
    far: int = 1
    began: float = 0.0  # seconds after the trial's first leg
    commands: tuple[Command, ...] = ()
    pinged_by: End = End.NEAR  # the side of the path at which a ping beside a load ran


@dataclass(frozen=True)
class HeldUp:
    """A time in which an end did not even look at itself, as it does each second: all that it does stood still."""

    at: float  # of the look before, in seconds of the trial, as its samples
    seconds: float  # until the next one

    def holds(self, moment: float) -> bool:
        """Whether that moment lies between the two looks; sums of rounded times differ from these by a hair."""
        return self.at + 0.01 < moment < self.at + self.seconds - 0.01


@dataclass(frozen=True)
class EndRecord:
    """What one end did during a trial; the counters are those of the trial alone."""

    name: str  # "near"; "far" where there is one other, else the peer's name
    cpu: CpuUse | None = None
    memory: MemoryUse | None = None
    tcp: TcpCounters | None = None
    nics: tuple[NicCounters, ...] = ()  # each card that a path of the trial uses
    sockets: SocketsSeen | None = None
    windows: tuple[WindowSeen, ...] = ()  # once a second
    samples: tuple[HostSample, ...] = ()
    clock_offset_ms: float | None = None  # its monotonic clock minus the near end's
    members: tuple[NicCounters, ...] = ()  # of bundles among those cards, each member's own counters
    wall_offset_s: float | None = None  # its time of day minus the near end's
    away: tuple[Away, ...] = ()  # members of bundles that it took down meanwhile, as was asked
    held_up: tuple[HeldUp, ...] = ()  # in order of time; of very many the longest
    udp_dropped: int | None = None  # datagrams that arrived and found their socket full
    queues: tuple[QueueCounters, ...] = ()  # the receive queues of those cards and members
    sending_queues: tuple[QueueCounters, ...] = ()  # their transmit queues, of which few drivers count the packets

    def of(self, name: str) -> bool:
        """Is it the record of the run's end of that name?"""
        return self.name == name or (self.name == End.FAR and name != End.NEAR)

    @property
    def carried(self) -> NicCounters:
        """Its cards' counters, added up."""
        return sums.of_nics(self.nics)


@dataclass(frozen=True)
class CarrierLost:
    """A card of an end whose link went away meanwhile, as that end knows."""

    end: str
    card: str
    times: int = 1


@dataclass(frozen=True)
class Interruption:
    """An attempt at a trial that ended because the far end was out of reach."""

    started: str  # ISO 8601, UTC
    seconds: float  # until it was noticed
    reason: str
    shared: bool = False  # control goes over the very card that the test uses
    carriers: tuple[CarrierLost, ...] = ()  # known where the ends were reached again


@dataclass(frozen=True)
class TrialResult:
    """One trial: its legs, counted over the seconds that they share, and a record of each end that took part.

    What is asked of the trial as a whole (its goodput, its intervals, whether it is a measurement) is what its loads
    come to together; what the judge often asks is kept once it is added up.
    """

    id: str
    repeat: int
    legs: tuple[Leg, ...] = ()
    ends: tuple[EndRecord, ...] = ()  # the near one first
    started: str = ""  # ISO 8601, UTC
    seconds: float = 0.0  # wall time, all in
    interruptions: tuple[Interruption, ...] = ()  # attempts before this one

    @cached_property
    def loads(self) -> tuple[Outcome, ...]:
        return tuple(leg.outcome for leg in self.legs if leg.role is Role.LOAD)

    @cached_property
    def ok(self) -> bool:
        loads = self.loads
        return bool(loads) and all(one.ok for one in loads)

    @property
    def carriers_lost(self) -> tuple[CarrierLost, ...]:
        """Cards that lost their link in the trial."""
        cards = ((end.name, card.name, card.carrier_lost or 0) for end in self.ends for card in end.nics)
        return tuple(CarrierLost(*one) for one in cards if one[2] > 0)

    @property
    def _failed(self) -> Outcome | None:
        """What speaks for a trial that failed: a broken measurement before a bad link."""
        failed = [one for one in self.loads if not one.ok]
        return next((one for one in failed if one.fault is not Fault.PATH), failed[0] if failed else None)

    @property
    def fault(self) -> Fault | None:
        return failed.fault if (failed := self._failed) else next((o.fault for o in self.loads if o.fault), None)

    @property
    def reason(self) -> str:
        return failed.reason if (failed := self._failed) else ""

    @property
    def goodput_bps(self) -> float:
        return sum(one.goodput_bps for one in self.loads)

    @property
    def by_direction(self) -> dict[str, float]:
        return sums.of_rates([one.by_direction for one in self.loads])

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        return tuple(flow for one in self.loads for flow in one.flows)

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        return sums.of_intervals([(leg.began, leg.outcome.intervals) for leg in self.legs if leg.role is Role.LOAD])

    @property
    def rtt(self) -> Rtt | None:
        """The slowest path's."""
        return sums.slowest([one.rtt for one in self.loads])

    @property
    def rtt_under_load(self) -> Rtt | None:
        return self.pinged_under_load(End.NEAR)

    def pinged_under_load(self, by: End) -> Rtt | None:
        """Round trips beside the load as that side of the path saw them, of the slowest path."""
        return sums.slowest([g.outcome.rtt for g in self.legs if g.role is Role.PING and g.pinged_by is by])

    @property
    def path_mtu(self) -> PathMtu | None:
        """The smallest path's."""
        return sums.smallest([one.path_mtu for one in self.loads])

    @property
    def transactions(self) -> Transactions | None:
        return sums.of_transactions([one.transactions for one in self.loads])

    @property
    def lost(self) -> int | None:
        return sums.known([one.lost for one in self.loads])

    @property
    def datagrams(self) -> int | None:
        return sums.known([one.datagrams for one in self.loads])

    @property
    def jitter_ms(self) -> float | None:
        return max((one.jitter_ms for one in self.loads if one.jitter_ms is not None), default=None)

    @property
    def offered_bps(self) -> float | None:
        return sums.known([one.offered_bps for one in self.loads])

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(text for one in self.loads for text in one.warnings)

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(command for leg in self.legs for command in leg.commands)

    @property
    def without_output(self) -> TrialResult:
        """The same without what its tools printed."""
        return self.with_commands(tuple(replace(command, output="", errors="") for command in self.commands))

    def with_commands(self, commands: tuple[Command, ...]) -> TrialResult:
        """The same with other texts for its commands, which keep their order."""
        left = iter(commands)
        return replace(self, legs=tuple(replace(g, commands=tuple(next(left) for _ in g.commands)) for g in self.legs))

    @property
    def figures(self) -> TrialResult:
        """The same without its seconds and without what its tools printed."""
        legs = (replace(leg, outcome=_figures(leg.outcome)) for leg in self.legs)
        ends = (replace(end, samples=(), windows=()) for end in self.ends)
        return replace(self, legs=tuple(legs), ends=tuple(ends)).without_output

    def end(self, side: End) -> EndRecord:
        """Whoever is at this side of the first path: a blank record where nobody was watched, or it is the near one."""
        leg = self.legs[0] if self.legs else Leg(Outcome(False))
        index = leg.near if side is End.NEAR else leg.far
        alone = side is End.FAR and leg.far == leg.near
        return EndRecord(side) if alone or not 0 <= index < len(self.ends) else self.ends[index]

    def every(self, side: End) -> tuple[EndRecord, ...]:
        """Whoever is at this side of any of its loads' paths, each once."""
        loads = [leg for leg in self.legs if leg.role is Role.LOAD]
        if len(loads) < 2:
            return (self.end(side),)
        numbers = dict.fromkeys(leg.near if side is End.NEAR else leg.far for leg in loads)
        return tuple(self.ends[n] for n in numbers if 0 <= n < len(self.ends)) or (self.end(side),)

    def senders(self, direction: Direction) -> tuple[EndRecord, ...]:
        """All ends that send the payload of this way, over several paths mostly several."""
        return self.every(End.FAR if direction is Direction.REVERSE else End.NEAR)

    def receivers(self, direction: Direction) -> tuple[EndRecord, ...]:
        return self.every(End.NEAR if direction is Direction.REVERSE else End.FAR)

    def sender(self, direction: Direction) -> EndRecord:
        """The end that sends the payload of this way."""
        return self.end(End.FAR if direction is Direction.REVERSE else End.NEAR)

    def receiver(self, direction: Direction) -> EndRecord:
        return self.end(End.NEAR if direction is Direction.REVERSE else End.FAR)


def _figures(outcome: Outcome) -> Outcome:
    flows = tuple(replace(flow, intervals=()) for flow in outcome.flows)
    rtt = outcome.rtt and replace(outcome.rtt, samples_ms=())
    return replace(outcome, flows=flows, intervals=(), rtt=rtt)


@dataclass(frozen=True)
class ExperimentResult:
    """An experiment with its trials and their spread."""

    parameters: Experiment
    trials: tuple[TrialResult, ...] = ()
    min_bps: float | None = None  # over the trials that are ok
    median_bps: float | None = None
    max_bps: float | None = None


@dataclass(frozen=True)
class Evidence:
    """What was checked about the operator's claim of where the machines stand."""

    claim: str = ""
    findings: tuple[str, ...] = ()  # what speaks against the claim comes first
    contradicts: bool = False
    asked: str = ""  # what the operator was asked to do before the rung, if anything
    word: str = ""  # what the operator answered, and when
    against: tuple[str, ...] = ()  # those findings that contradict the claim
    rtt_ms: float | None = None  # the least round trip before the rung was climbed; of several paths the longest


@dataclass(frozen=True)
class RungResult:
    """A rung with all that was measured on it."""

    name: RungName
    paths: tuple[Path, ...] = (Path(),)
    experiments: tuple[ExperimentResult, ...] = ()
    evidence: Evidence | None = None
    unavailable: str = ""  # why the rung was not measured, if it was not

    @property
    def path(self) -> Path:
        """The first, which mostly is the only one."""
        return self.paths[0] if self.paths else Path()


@dataclass(frozen=True)
class RunEnd:
    """An appliance that took part in a run, as it was then."""

    name: str  # "near", or the peer's name at the near end
    facts: HostFacts


@dataclass(frozen=True)
class RunInfo:
    """When, where and by what plan a run was measured."""

    id: str
    started: str
    plan: Plan
    state: RunState = RunState.RUNNING
    ended: str = ""
    version: str = ""
    ends: tuple[RunEnd, ...] = ()  # the near one first
    notes: tuple[str, ...] = ()

    def facts(self, name: str) -> HostFacts | None:
        """What the end of this name was; None where it has told nothing."""
        return next((end.facts for end in self.ends if end.name == name), None)

    @property
    def window_limit(self) -> int | None:
        """The largest socket buffer that every end grants; None where none has told."""
        limits = (end.facts.window_limit for end in self.ends if end.facts is not None)
        return min((one for one in limits if one is not None), default=None)


@dataclass(frozen=True)
class Document:
    """A whole run: what `run --json` writes, what judge and report read."""

    run: RunInfo
    rungs: tuple[RungResult, ...] = ()
    judgement: DocumentJudgement | None = None  # where it has been judged
    schema: str = SCHEMA
    abridged: str = ""  # what a page carries less than was measured, in words

    @property
    def trials(self) -> Iterator[TrialResult]:
        return (trial for rung in self.rungs for experiment in rung.experiments for trial in experiment.trials)
