"""What came out, from one trial to a whole run."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkladder.model.asked import Experiment, Path, Plan
from linkladder.model.hosts import (
    Command,
    CpuUse,
    HostFacts,
    HostSample,
    MemoryUse,
    NicCounters,
    SocketsSeen,
    TcpCounters,
)
from linkladder.model.printed import Flow, Interval, PathMtu, Rtt, Transactions
from linkladder.model.words import SCHEMA, Fault, RungName, RunState
from linkladder.verdicts import DocumentJudgement


@dataclass(frozen=True)
class TrialResult:
    """One trial: a result, or why there is none.

    ``ok`` with fault None: a measurement.  Not ok with fault PATH: the link carried nothing or
    stalled, which is a (bad) result.  Not ok with fault TOOL: the measurement itself broke.
    """

    id: str
    repeat: int
    ok: bool
    started: str = ""  # ISO 8601, UTC
    seconds: float = 0.0  # wall time, all in
    fault: Fault | None = None
    reason: str = ""
    goodput_bps: float = 0.0  # receiver's bytes after the warm-up; both ways summed when duplex
    by_direction: dict[str, float] = field(default_factory=dict)  # "forward"/"reverse" -> bps
    flows: tuple[Flow, ...] = ()
    intervals: tuple[Interval, ...] = ()
    cpu: dict[str, CpuUse] = field(default_factory=dict)  # "near"/"far"
    memory: dict[str, MemoryUse] = field(default_factory=dict)
    tcp: dict[str, TcpCounters] = field(default_factory=dict)
    nics: dict[str, NicCounters] = field(default_factory=dict)  # the path's interface at each end
    sockets: dict[str, SocketsSeen] = field(default_factory=dict)  # TCP: each connection at each end
    samples: dict[str, tuple[HostSample, ...]] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    window_read_back: dict[str, int] = field(default_factory=dict)
    clock_offset_ms: float | None = None
    rtt: Rtt | None = None
    rtt_under_load: Rtt | None = None
    path_mtu: PathMtu | None = None
    transactions: Transactions | None = None
    lost: int | None = None
    datagrams: int | None = None
    jitter_ms: float | None = None
    offered_bps: float | None = None  # UDP: what the senders put out in the counted window
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentResult:
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


@dataclass(frozen=True)
class RungResult:
    name: RungName
    path: Path
    experiments: tuple[ExperimentResult, ...] = ()
    evidence: Evidence | None = None
    unavailable: str = ""  # why the rung was not measured, if it was not


@dataclass(frozen=True)
class RunInfo:
    id: str
    started: str
    plan: Plan
    state: RunState = RunState.RUNNING
    ended: str = ""
    version: str = ""
    hosts: dict[str, HostFacts] = field(default_factory=dict)  # "near", and each peer under its name
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A whole run: what `run --json` writes, what judge and report read."""

    run: RunInfo
    rungs: tuple[RungResult, ...] = ()
    judgement: DocumentJudgement | None = None  # where it has been judged
    schema: str = SCHEMA
