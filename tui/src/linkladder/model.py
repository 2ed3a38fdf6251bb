"""The vocabulary of a measurement: frozen records and enumerations, no I/O.

Everything that is measured, stored, sent, judged or shown is one of these.  Two ends take
part in every trial: *near* is the appliance the operator runs, *far* is its peer.  On the
localhost rung both are the same machine.  Rates are bits per second, sizes bytes, times
seconds, unless the name says otherwise (``rtt_ms``, ``latency_us``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from linkladder.verdicts import DocumentJudgement

SCHEMA = "linkladder/1"


class End(StrEnum):
    NEAR = "near"
    FAR = "far"


class RungName(StrEnum):
    LOCALHOST = "localhost"
    SAME_HOST = "same-host"
    SAME_VLAN = "same-vlan"
    DC_LINK = "dc-link"


class Layer(StrEnum):
    """What a contracted rate counts: the wire with preamble and gap, frames without FCS, or IP packets."""

    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


class Tool(StrEnum):
    IPERF = "iperf"
    NETPERF = "netperf"
    PING = "ping"


class Protocol(StrEnum):
    """iperf: tcp, udp.  netperf: tcp (TCP_STREAM), rr (TCP_RR).  ping: echo (round trip), df (path MTU)."""

    TCP = "tcp"
    UDP = "udp"
    RR = "rr"
    ECHO = "echo"
    DF = "df"


class Direction(StrEnum):
    """Which way the payload goes; BOTH is for plans only and expands to FORWARD then REVERSE."""

    FORWARD = "forward"
    REVERSE = "reverse"
    BOTH = "both"
    DUPLEX = "duplex"


class Fault(StrEnum):
    """TOOL: the measurement broke, it says nothing of the link.  PATH: the link did it, and that is a result."""

    TOOL = "tool"
    PATH = "path"


class RunState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"


# --- what is asked ---------------------------------------------------------------------


@dataclass(frozen=True)
class Contract:
    """What the link is sold as."""

    port_bps: float = 10e9
    rate_bps: float | None = None  # contracted rate where it is lower than the port's
    layer: Layer = Layer.L2  # the layer rate_bps counts; a port counts L1
    mtu: int = 1500
    vlan_tags: int = 0
    encap_bytes: int = 0
    ip_version: int = 4
    dscp: int = 0
    timestamps: bool = True
    pass_ratio: float = 0.97
    circuit: str = ""
    expected_rtt_ms: float | None = None


@dataclass(frozen=True)
class Path:
    """Where a rung's traffic goes: from `local` at the near end to `remote` at the far one."""

    local: str = ""
    remote: str = ""
    peer: str = ""  # a paired peer's name; empty on the localhost rung
    local_interface: str = ""
    remote_interface: str = ""


@dataclass(frozen=True)
class Experiment:
    """One setting to be measured, `repeats` times."""

    id: str
    tool: Tool = Tool.IPERF
    protocol: Protocol = Protocol.TCP
    direction: Direction = Direction.FORWARD
    streams: int = 1
    window: int | None = None  # socket buffer at both ends; None leaves the system's autotuning
    write_size: int | None = None
    duration: float = 10.0  # counted seconds, after the warm-up
    warmup: float = 3.0
    repeats: int = 1
    udp_rate_bps: float | None = None  # total of all streams
    request: int = 700  # netperf rr
    response: int = 700
    sessions: int = 1  # netperf rr: concurrent processes
    count: int = 100  # ping
    interval: float = 0.05  # ping
    sizes: tuple[int, ...] = ()  # ping df: MTUs to probe; empty: the contract's, and what is below it
    dscp: int = 0
    ping_under_load: bool = False  # a 5 Hz ping beside the throughput trial
    label: str = ""


@dataclass(frozen=True)
class Rung:
    name: RungName
    path: Path = Path()
    experiments: tuple[Experiment, ...] = ()
    move: str = ""  # what the operator must do before it: "Move beta to another host ..."


@dataclass(frozen=True)
class Plan:
    name: str
    title: str = ""
    contract: Contract = Contract()
    rungs: tuple[Rung, ...] = ()


# --- what a tool printed ---------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """Bytes in a span of a trial's clock; of one flow as parsed, of all flows of a direction in a TrialResult."""

    start: float
    end: float
    bytes: int
    direction: Direction = Direction.FORWARD
    counted: bool = True  # False during the warm-up and the tail
    retransmits: int | None = None
    rtt_ms: float | None = None
    cwnd: int | None = None
    lost: int | None = None  # UDP, at the receiver
    datagrams: int | None = None
    jitter_ms: float | None = None

    @property
    def bps(self) -> float:
        return self.bytes * 8 / (self.end - self.start) if self.end > self.start else 0.0


@dataclass(frozen=True)
class Flow:
    """One stream in one direction, as its receiver saw it (the sender, where nothing else is known)."""

    id: str
    direction: Direction
    local: str
    local_port: int
    remote: str
    remote_port: int
    bytes: int  # in the counted window
    bps: float  # in the counted window
    total_bytes: int  # from first to last byte
    seconds: float  # from first to last byte
    retransmits: int | None = None
    lost: int | None = None
    datagrams: int | None = None
    jitter_ms: float | None = None
    intervals: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class Rtt:
    """Round trips of one series of pings."""

    sent: int
    received: int
    min_ms: float | None = None
    avg_ms: float | None = None
    max_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    stddev_ms: float | None = None
    samples_ms: tuple[float, ...] = ()


@dataclass(frozen=True)
class PathMtu:
    """DF probes one way: `passed` and `failed` are MTUs; black_hole says that big packets vanish without a word."""

    passed: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    mtu: int | None = None  # the largest that passed
    black_hole: bool = False
    reported_mtu: int | None = None  # what a router or the own stack said it would take


@dataclass(frozen=True)
class Transactions:
    """netperf request/response, summed over the sessions."""

    rate: float
    sessions: int
    mean_us: float | None = None
    p50_us: float | None = None
    p90_us: float | None = None
    p99_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    request: int = 0
    response: int = 0


# --- what a host is and did --------------------------------------------------------------


@dataclass(frozen=True)
class Nic:
    name: str
    driver: str = ""
    mac: str = ""
    mtu: int = 0
    up: bool = False
    speed_bps: float | None = None
    addresses: tuple[str, ...] = ()  # without prefix length, no zone
    offloads: dict[str, bool] = field(default_factory=dict)  # tso, lro, gso, gro, rxcsum, txcsum ...
    rx_queues: int | None = None
    tx_queues: int | None = None
    loopback: bool = False


@dataclass(frozen=True)
class HostFacts:
    name: str
    os: str = ""  # "FreeBSD" | "Linux"
    release: str = ""
    kernel: str = ""
    machine: str = ""
    cpu: str = ""
    cores: int = 1
    memory: int = 0
    virtual: str = ""  # hypervisor, empty on bare metal
    version: str = ""  # linkladder's
    nics: tuple[Nic, ...] = ()
    tools: dict[str, str] = field(default_factory=dict)  # tool -> version; missing tools are absent
    tunables: dict[str, str] = field(default_factory=dict)  # what a comparison must know (cc, buffers, ...)
    window_limit: int | None = None  # the largest socket buffer the system grants


@dataclass(frozen=True)
class CoreTimes:
    """Cumulative seconds of one core."""

    user: float
    system: float
    interrupt: float
    idle: float


@dataclass(frozen=True)
class CoreLoad:
    """Percent of one core in one sample."""

    user: float
    system: float
    interrupt: float
    idle: float

    @property
    def busy(self) -> float:
        return 100.0 - self.idle


@dataclass(frozen=True)
class NicCounters:
    """Cumulative counters of one interface (differences of them in an EndRecord)."""

    name: str
    rx_bytes: int = 0
    tx_bytes: int = 0
    rx_packets: int = 0
    tx_packets: int = 0
    rx_errors: int = 0
    tx_errors: int = 0
    rx_drops: int = 0
    tx_drops: int = 0
    crc_errors: int | None = None
    rx_pause: int | None = None
    tx_pause: int | None = None


@dataclass(frozen=True)
class TcpCounters:
    """Cumulative TCP counters of the host, or their difference over a trial; None where the system tells not."""

    segments_sent: int | None = None
    retransmits: int | None = None
    out_of_order: int | None = None
    zero_window_sent: int | None = None  # this end, as receiver, closed its window
    zero_window_probes: int | None = None  # this end, as sender, met a closed window


@dataclass(frozen=True)
class HostSample:
    """One second of a host; `t` is seconds since the trial began on the near end's clock."""

    t: float
    cores: tuple[CoreLoad, ...]
    memory_used: int
    nics: tuple[NicCounters, ...] = ()


@dataclass(frozen=True)
class CpuUse:
    """CPU over the counted part of a trial."""

    percent: float  # of the whole machine
    busiest: float  # percent, the busiest core's mean
    cores_used: float  # sum over cores, in cores
    per_core: tuple[float, ...] = ()
    gbps_per_core: float | None = None
    starved: float | None = None  # share of time a CPU quota or a hypervisor withheld (cgroup, steal), 0..1


@dataclass(frozen=True)
class MemoryUse:
    total: int
    mean: int
    peak: int


@dataclass(frozen=True)
class Command:
    """A process exactly as it was started."""

    end: End
    role: str  # "server" | "client" | "ping"
    argv: tuple[str, ...]
    exit_code: int | None = None
    output: str = ""  # stdout; raw text also lies compressed beside the store
    errors: str = ""  # stderr


# --- what came out -----------------------------------------------------------------------


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
    findings: tuple[str, ...] = ()
    contradicts: bool = False


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
