"""What an end can be asked, what it answers and what it says unasked; every field is checked before use."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Any

from linkladder.codec import CodecError, from_json
from linkladder.model import CoreLoad, Experiment, HostFacts, NicCounters, Protocol, SocketStat, TcpCounters, Tool
from linkladder.tools import Layout, ToolVersions, versions_of

PROTOCOL = 2  # both ends must speak the same
PORTS = range(5301, 5401)  # test ports, documented; one is open only while a trial runs
REQUEST_LIMIT = 64 * 1024
SPOKEN = {
    Tool.IPERF: (Protocol.TCP, Protocol.UDP),
    Tool.NETPERF: (Protocol.TCP, Protocol.RR),
    Tool.PING: (Protocol.ECHO, Protocol.DF),
}
INTERFACE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,14}")


class RequestError(ValueError):
    """A request that is refused, and why."""


@dataclass(frozen=True)
class Hello:
    protocol: int
    version: str
    name: str
    addresses: tuple[str, ...] = ()  # where the asking end may be sent test traffic

    def check(self) -> None:
        _text(self.name, "name", 64)
        _text(self.version, "version", 40)
        if len(self.addresses) > 256:
            raise RequestError("addresses: at most 256")
        for one in self.addresses:
            _address(one, "addresses")


@dataclass(frozen=True)
class HelloReply:
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
        return versions_of(self.tools, self.os)


@dataclass(frozen=True)
class Nothing:
    def check(self) -> None:
        pass


@dataclass(frozen=True)
class Reserve:
    """Hold this end for one run; refused with the holder's name while another holds it."""

    holder: str

    def check(self) -> None:
        _text(self.holder, "holder", 120)


@dataclass(frozen=True)
class ClockReply:
    now: float


@dataclass(frozen=True)
class Listen:
    """Open a bare probe listener, so that the other end can tell open, refused and filtered apart."""

    address: str
    port: int
    udp: bool = False

    def check(self) -> None:
        _address(self.address, "address")
        _port(self.port)


@dataclass(frozen=True)
class Probe:
    local: str
    remote: str
    port: int
    udp: bool = False

    def check(self) -> None:
        _address(self.local, "local")
        _address(self.remote, "remote")
        _port(self.port)


@dataclass(frozen=True)
class ProbeReply:
    state: str  # "open" | "refused" | "filtered" | "unreachable"
    detail: str = ""


@dataclass(frozen=True)
class Serve:
    experiment: Experiment
    bind: str
    port: int

    def check(self) -> None:
        check_experiment(self.experiment)
        _address(self.bind, "bind")
        _port(self.port)


@dataclass(frozen=True)
class RunClient:
    """Run one client process of a layout; for ping, which has no server, `port` is 0 and `index` picks the probe."""

    experiment: Experiment
    layout: Layout
    local: str
    remote: str
    port: int
    index: int = 0

    def check(self) -> None:
        check_experiment(self.experiment)
        _address(self.local, "local")
        _address(self.remote, "remote")
        if self.port or self.layout.server is not None:
            _port(self.port)
        _range(self.index, "index", 0, 127)
        _range(self.layout.clients, "layout.clients", 1, 128)


@dataclass(frozen=True)
class Started:
    process: int
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Stop:
    process: int
    at_once: bool = False  # it has said all that it will: do not wait for what it does in its own time

    def check(self) -> None:
        _range(self.process, "process", 1, 1 << 31)


@dataclass(frozen=True)
class Finished:
    process: int
    exit_code: int | None
    output: str
    errors: str
    hung: bool = False  # it had to be ended


@dataclass(frozen=True)
class Sampling:
    on: bool

    def check(self) -> None:
        pass


@dataclass(frozen=True)
class Counters:
    address: str  # counters of the interface that owns this address
    interface: str = ""

    def check(self) -> None:
        _address(self.address, "address")
        if self.interface and not INTERFACE.fullmatch(self.interface):
            raise RequestError("interface: expected an interface name")


@dataclass(frozen=True)
class CountersReply:
    interface: str
    nic: NicCounters | None
    tcp: TcpCounters
    starved: float | None
    memory_total: int


@dataclass(frozen=True)
class SocketsReply:
    """The TCP connections on test ports."""

    source: str
    sockets: tuple[SocketStat, ...]


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
    process: int


# verb -> (request, reply); what is not here does not exist
VERBS: dict[str, tuple[type[Any], type[Any]]] = {
    "hello": (Hello, HelloReply),
    "facts": (Nothing, HostFacts),
    "reserve": (Reserve, Nothing),
    "release": (Nothing, Nothing),
    "clock": (Nothing, ClockReply),
    "listen": (Listen, Nothing),
    "unlisten": (Nothing, Nothing),
    "probe": (Probe, ProbeReply),
    "serve": (Serve, Started),
    "client": (RunClient, Started),
    "stop": (Stop, Finished),
    "collect": (Stop, Finished),
    "sampling": (Sampling, Nothing),
    "counters": (Counters, CountersReply),
    "sockets": (Nothing, SocketsReply),
    "cancel": (Nothing, Nothing),
}
EVENTS: dict[str, type[Any]] = {"sample": RawSample, "lines": Line, "exited": Exited}
Event = RawSample | Line | Exited


def decode(verb: Any, arguments: Any) -> Any:
    """A checked request, or RequestError that names what is wrong."""
    if not isinstance(verb, str) or verb not in VERBS:
        raise RequestError(f"unknown verb {str(verb)[:40]!r}")
    try:
        request = from_json(VERBS[verb][0], arguments if arguments is not None else {}, verb)
    except CodecError as error:
        raise RequestError(str(error)) from None
    request.check()
    return request


def check_experiment(exp: Experiment) -> None:
    """Numbers in range, so that no peer can make this end run for ever or eat its memory."""
    _text(exp.id, "experiment.id", 120)
    _text(exp.label, "experiment.label", 120)
    if exp.protocol not in SPOKEN[exp.tool]:
        raise RequestError(f"experiment.protocol: {exp.tool} does not measure {exp.protocol}")
    _range(exp.streams, "streams", 1, 128)
    _range(exp.duration, "duration", 1, 7 * 86400)
    _range(exp.warmup, "warmup", 0, 60)
    _range(exp.repeats, "repeats", 1, 100)
    _range(exp.request, "request", 1, 65536)
    _range(exp.response, "response", 1, 65536)
    _range(exp.sessions, "sessions", 1, 128)
    _range(exp.count, "count", 1, 10_000_000)
    _range(exp.interval, "interval", 0.01, 10)
    _range(exp.dscp, "dscp", 0, 63)
    if exp.window is not None:
        _range(exp.window, "window", 1024, 1 << 30)
    if exp.write_size is not None:
        _range(exp.write_size, "write_size", 1, 1 << 26)
    if exp.udp_rate_bps is not None:
        _range(exp.udp_rate_bps, "udp_rate_bps", 1e3, 1e13)
    if len(exp.sizes) > 32:
        raise RequestError("sizes: at most 32")
    for one in exp.sizes:
        _range(one, "sizes", 68, 65535)


def _text(value: str, name: str, limit: int) -> None:
    if len(value) > limit or any(ord(c) < 32 or ord(c) == 127 for c in value):
        raise RequestError(f"{name}: expected one line of at most {limit} characters")


def _address(value: str, name: str) -> None:
    try:
        one = ipaddress.ip_address(value) if len(value) <= 64 else None
    except ValueError:
        one = None
    zone = value.partition("%")[2]  # of which Python's reader takes any text
    if one is None or one.is_multicast or one.is_unspecified or ("%" in value and not INTERFACE.fullmatch(zone)):
        raise RequestError(f"{name}: expected an IP address, got {value[:60]!r}")


def _port(value: int) -> None:
    if value not in PORTS:
        raise RequestError(f"port: expected one from {PORTS.start} to {PORTS.stop - 1}, got {value}")


def _range(value: float, name: str, low: float, high: float) -> None:
    if not low <= value <= high:
        raise RequestError(f"{name}: expected from {low:g} to {high:g}, got {str(value)[:40]}")
