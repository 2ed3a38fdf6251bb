"""What a host is and what it did during a trial."""

from __future__ import annotations

from dataclasses import dataclass, field

MULTIPATH = "multipath"


@dataclass(frozen=True)
class Member:
    """A card in a bundle, as the system sees it."""

    name: str
    flags: tuple[str, ...] = ()  # MASTER ACTIVE COLLECTING DISTRIBUTING
    state: tuple[str, ...] = ()  # of LACP: ACTIVITY TIMEOUT AGGREGATION SYNC ... DEFAULTED EXPIRED
    partner: str = ""  # the MAC of who answers LACP at its other end; '' for nobody

    @property
    def active(self) -> bool:
        return "ACTIVE" in self.flags


@dataclass(frozen=True)
class Bundle:
    """Several cards as one: lagg, or bond."""

    protocol: str  # roundrobin loadbalance lacp failover ...
    hash: str = ""  # what flows are told apart by
    members: tuple[Member, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    active: int | None = None  # members at work
    flapping: int | None = None  # times that one came and went

    @property
    def lacp(self) -> bool:
        """Whether the other end must agree to it: lagg calls it lacp, and bond 802.3ad."""
        return self.protocol in ("lacp", "802.3ad")

    @property
    def unanswered(self) -> tuple[Member, ...]:
        """Members of an LACP bundle on which nobody at the other end speaks LACP."""
        return tuple(m for m in self.members if self.lacp and (not m.partner or "DEFAULTED" in m.state))

    @property
    def of_routes(self) -> bool:
        """Is it made of several next hops, rather than an interface of its own?"""
        return self.protocol == MULTIPATH


@dataclass(frozen=True)
class Nic:
    """A network card as its system tells of it."""

    name: str
    driver: str = ""
    mac: str = ""
    mtu: int = 0
    up: bool = False
    speed_bps: float | None = None
    addresses: tuple[str, ...] = ()  # without prefix length, no zone
    offloads: dict[str, bool] = field(default_factory=dict)  # tso, lro, rxcsum, adaptive-moderation ...
    rx_usecs: int | None = None  # that it waits after a packet before it interrupts; None: not told, or by itself
    rx_queues: int | None = None
    tx_queues: int | None = None
    ring: str = ""  # descriptors of each queue, '512', or '256/512' for receiving and sending; '' where nobody tells
    queue_core: str = ""  # to which its packets are steered, or 'any'; '' where it cannot be chosen
    queue_cores: tuple[int, ...] = ()  # our cores that serve its receive queues; none where nobody tells
    loopback: bool = False
    half_duplex: bool = False  # one way at a time, as an old switch or a failed negotiation leaves it
    flow_control: str = ""  # what it is set to and what the link agreed on, in its system's words
    carrier: bool | None = None  # whether something is at the other end of its cable; None where nobody tells
    bundle: Bundle | None = None  # where it is several cards as one


@dataclass(frozen=True)
class HostFacts:
    """What an appliance is: machine, system, cards and tools."""

    name: str
    os: str = ""  # "FreeBSD" | "Linux"
    release: str = ""
    kernel: str = ""
    machine: str = ""
    cpu: str = ""
    cores: int = 1
    threads: tuple[tuple[int, ...], ...] = ()  # numbers of `cores`, those of one physical core together; none: not told
    memory: int = 0
    virtual: str = ""  # hypervisor, empty on bare metal
    version: str = ""  # linkladder's
    nics: tuple[Nic, ...] = ()
    tools: dict[str, str] = field(default_factory=dict)  # tool -> version; missing tools are absent
    sysctls: dict[str, str] = field(
        default_factory=dict
    )  # those that weigh on a measurement, by the system's own names
    congestion_controls: tuple[str, ...] = ()  # those that its kernel has or can load, the one in force first
    tcp_stacks: tuple[str, ...] = ()  # likewise; none where the system has but one
    window_limit: int | None = None  # the largest socket buffer the system grants

    def card(self, name: str, address: str) -> Nic | None:
        """The card of that name, or with that address; None where it is not known."""
        return next((nic for nic in self.nics if nic.name == name or address in nic.addresses), None)


@dataclass(frozen=True)
class CoreTimes:
    """Cumulative seconds of one core."""

    user: float
    system: float
    interrupt: float
    idle: float


@dataclass(frozen=True, slots=True)
class CoreLoad:
    """Percent of one core in one sample."""

    user: float
    system: float
    interrupt: float
    idle: float

    @property
    def busy(self) -> float:
        return 100.0 - self.idle


@dataclass(frozen=True, slots=True)
class NicCounters:
    """Cumulative counters of one interface, or their difference over a trial."""

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
    carrier_lost: int | None = None  # times that the other end of its cable went away; 1 where it was away


@dataclass(frozen=True, slots=True)
class QueueCounters:
    """A queue of a card: how much passed by it since boot, or in a trial, and which core serves it."""

    card: str
    number: int
    packets: int | None = None
    interrupts: int | None = None  # where the driver counts no packets of a queue
    core: int | None = None  # its place in CpuUse.per_core; None where nobody tells, or where it is not one of those


@dataclass(frozen=True)
class TcpCounters:
    """Cumulative TCP counters of the host, or their difference over a trial; None where the system does not tell."""

    segments_sent: int | None = None
    retransmits: int | None = None
    out_of_order: int | None = None
    zero_window_sent: int | None = None  # this end, as receiver, closed its window
    zero_window_probes: int | None = None  # this end, as sender, met a closed window
    came_twice: int | None = None  # this end, as receiver, had a segment already
    duplicate_acks: int | None = None  # this end, as sender, was told again what it knew: a segment is late, or lost
    reorderings: int | None = None  # this end, as sender, saw that an overtaken segment had arrived after all
    dsacks: int | None = None  # this end, as sender, was told that a segment had come twice
    retransmitted_bytes: int | None = None
    needless_bytes: int | None = None  # of those, as FreeBSD counts the reports (dsacks) and their bytes, no segments


ESTABLISHED = "ESTABLISHED"  # the state of a connection that carries data


@dataclass(frozen=True)
class SocketStat:
    """One TCP connection; None where the system does not tell."""

    local: str
    local_port: int
    remote: str
    remote_port: int
    state: str = ""  # LISTEN, ESTABLISHED ... as the system writes it, in capitals
    retransmits: int | None = None
    out_of_order: int | None = None
    zero_window: int | None = None  # windows of zero that this end announced
    rtt_ms: float | None = None
    cwnd_bytes: int | None = None
    ssthresh_bytes: int | None = None
    mss: int | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None
    send_buffer: int | None = None  # its present ceiling
    receive_buffer: int | None = None
    congestion: str = ""
    stack: str = ""  # FreeBSD has several TCP stacks
    receiver_limited_ms: float | None = None  # how long this end, as sender, was held up by the other's window


@dataclass(frozen=True)
class SocketsSeen:
    """A trial's connections as one end's system counts them, looked at once, shortly before they end."""

    t: float  # seconds of the trial
    source: str  # the program that told: "ss", "netstat"
    sockets: tuple[SocketStat, ...] = ()


@dataclass(frozen=True)
class WindowSeen:
    """The congestion windows of a trial's connections at their sender at one moment, where its tool tells none."""

    t: float  # seconds of the trial
    cwnd_bytes: tuple[int, ...]  # of each connection
    ssthresh_bytes: tuple[int, ...] = ()


@dataclass(frozen=True)
class HostSample:
    """One second of a host; `t` counts from the start of the tool's first second, on the near end's clock."""

    t: float
    cores: tuple[CoreLoad, ...]
    memory_used: int
    nics: tuple[NicCounters, ...] = ()
    retransmits: int | None = None  # TCP segments this host sent again since the trial began


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
    """Memory of a machine over a trial."""

    total: int
    mean: int
    peak: int


@dataclass(frozen=True)
class Away:
    """A member of a bundle that was taken down for a part of a trial: from when to when, in seconds of it."""

    name: str
    since: float
    until: float


SHORTENED = "characters left out: the JSON document has them"  # the mark in place of them in shortened output

LONG = 300.0  # seconds: of a longer trial not every line that its tools print is kept
LEFT_OUT = "lines of seconds left out"


def left_out_mark(lines: int) -> str:
    """The mark in place of so many lines of a long trial's output."""
    return f"[... {lines} {LEFT_OUT} ...]"


@dataclass(frozen=True)
class Command:
    """A process exactly as it was started."""

    end: str  # the name of its end record
    role: str  # "server" | "client" | "ping"
    argv: tuple[str, ...]
    exit_code: int | None = None
    output: str = ""  # stdout; raw text also lies compressed beside the store
    errors: str = ""  # stderr
    cut: int = 0  # characters that it printed beyond what was kept
    left_out: int = 0  # lines of seconds that are not kept of a long trial; a mark stands in their place
