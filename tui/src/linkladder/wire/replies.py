"""What an end answers, and the events that it sends unasked."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder.model import CoreLoad, NicCounters, SocketStat, TcpCounters
from linkladder.tools import ToolVersions


@dataclass(frozen=True)
class HelloReply:
    """Who answers, with what it has to measure with."""

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
    """This end's own clock, and what it takes the time of day to be (seconds since 1970; of an older agent 0)."""

    now: float
    wall: float = 0.0


@dataclass(frozen=True)
class KnownReply:
    """Whether an address may be sent test traffic."""

    known: bool


@dataclass(frozen=True)
class RouteReply:
    """By which card packets leave, '' where there is no route, and which card the address that they come from is on."""

    interface: str
    gateway: str  # '' where the other address is on the card's own network
    owner: str


@dataclass(frozen=True)
class ProbeReply:
    """What a knock at a port met."""

    state: str  # "open" | "refused" | "filtered" | "unreachable"
    detail: str = ""


@dataclass(frozen=True)
class Started:
    """A tool runs."""

    process: int
    argv: tuple[str, ...]
    t: float  # when, on the end's own clock


@dataclass(frozen=True)
class Finished:
    """A tool has ended, with what it printed."""

    process: int
    exit_code: int | None
    output: str
    errors: str
    hung: bool = False  # it had to be ended
    cut: int = 0  # characters that it printed beyond what is kept


@dataclass(frozen=True)
class CountersReply:
    """What a card and the system have counted."""

    interface: str
    nic: NicCounters | None
    tcp: TcpCounters
    starved: float | None
    memory_total: int
    members: tuple[NicCounters, ...] = ()  # of a bundle
    udp_dropped: int | None = None  # datagrams that found their socket full


@dataclass(frozen=True)
class SocketsReply:
    """The TCP connections on test ports."""

    source: str
    sockets: tuple[SocketStat, ...]


@dataclass(frozen=True)
class LeaseReply:
    """What was changed, or put back: "mtu vmx1: 1500 -> 9000"."""

    changes: tuple[str, ...]


@dataclass(frozen=True)
class SwitchedReply:
    """Which members it was, and when it was done, on the end's own clock."""

    members: tuple[str, ...]
    t: float


# --- unasked


@dataclass(frozen=True)
class RawSample:
    """A second of this end on its own monotonic clock."""

    t: float
    cores: tuple[CoreLoad, ...]
    memory_used: int
    nics: tuple[NicCounters, ...] = ()
    retransmits: int | None = None


@dataclass(frozen=True)
class Line:
    """Lines a process printed, in batches."""

    process: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Exited:
    """A tool has ended by itself."""

    process: int


Event = RawSample | Line | Exited
EVENTS: dict[str, type[Event]] = {"sample": RawSample, "lines": Line, "exited": Exited}
