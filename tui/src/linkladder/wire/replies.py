"""The replies of an end, and the events that it sends without being asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linkladder.model import CoreLoad, NicCounters, QueueCounters, SocketStat, TcpCounters, WindowSeen
from linkladder.tools import ToolVersions


@dataclass(frozen=True)
class HelloReply:
    """Which end answers, and the tools that it has for measuring."""

    protocol: int
    version: str
    name: str
    os: str
    tools: dict[str, str]
    addresses: tuple[str, ...]
    window_limit: int | None
    cores: int

    @property
    def versions(self) -> ToolVersions:
        return ToolVersions(self.tools, self.os)


@dataclass(frozen=True)
class ClockReply:
    """This end's monotonic clock, and its time of day in seconds since 1970 (0 from an older agent)."""

    now: float
    wall: float = 0.0


@dataclass(frozen=True)
class KnownReply:
    """Whether an address may be sent test traffic."""

    known: bool


@dataclass(frozen=True)
class RouteReply:
    """The card by which packets leave ('' without a route), and the card that owns their source address."""

    interface: str
    gateway: str  # '' if the other address is on the card's own network
    owner: str


PortState = Literal["open", "refused", "filtered", "unreachable"]


@dataclass(frozen=True)
class ProbeReply:
    """What probing a port showed."""

    state: PortState
    detail: str = ""


@dataclass(frozen=True)
class Started:
    """A tool was started."""

    process: int
    argv: tuple[str, ...]
    t: float  # the moment of the start, on the end's own clock


@dataclass(frozen=True)
class Finished:
    """A tool has ended, with what it printed."""

    process: int
    exit_code: int | None
    output: str
    errors: str
    hung: bool = False  # it did not end by itself and had to be ended
    cut: int = 0  # characters of its output that were not kept


@dataclass(frozen=True)
class CountersReply:
    """The counters of a card and of the system."""

    interface: str
    nic: NicCounters | None
    tcp: TcpCounters
    starved: float | None
    memory_total: int
    members: tuple[NicCounters, ...] = ()  # the members' counters, if the card is a bundle
    udp_dropped: int | None = None  # datagrams that were dropped because their socket was full
    queues: tuple[QueueCounters, ...] = ()  # the receive queues of the card, and of its members
    sending_queues: tuple[QueueCounters, ...] = ()


@dataclass(frozen=True)
class SocketsReply:
    """The TCP connections on test ports, as they were at `t` on this end's monotonic clock."""

    t: float
    source: str
    sockets: tuple[SocketStat, ...] = ()


@dataclass(frozen=True)
class SamplingReply:
    """The connections as this end last saw them open; None where it looks at them only when it is asked to."""

    connections: SocketsReply | None = None


@dataclass(frozen=True)
class LeaseReply:
    """What was changed or restored, such as "mtu vmx1: 1500 -> 9000"."""

    changes: tuple[str, ...]


@dataclass(frozen=True)
class SwitchedReply:
    """Which members of the bundle were switched, and when, on the end's own clock."""

    members: tuple[str, ...]
    t: float


# --- events


@dataclass(frozen=True)
class RawSample:
    """The load and counters of one interval at this end, on its own monotonic clock."""

    t: float
    cores: tuple[CoreLoad, ...]
    memory_used: int
    nics: tuple[NicCounters, ...] = ()
    retransmits: int | None = None
    windows: WindowSeen | None = None  # at the same moment, of a system that tells them


@dataclass(frozen=True)
class Line:
    """A batch of lines that a process printed, read at `t` on this end's monotonic clock."""

    process: int
    lines: tuple[str, ...]
    t: float


@dataclass(frozen=True)
class Exited:
    """A tool has ended by itself."""

    process: int


Event = RawSample | Line | Exited
EVENTS: dict[str, type[Event]] = {"sample": RawSample, "lines": Line, "exited": Exited}
