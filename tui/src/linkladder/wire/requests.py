"""The requests to an end. Each names the type of its reply, which `ask(request)` then returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_args

from linkladder.codec import CodecError, from_json
from linkladder.model import Experiment, HostFacts, Setting
from linkladder.tools import Layout
from linkladder.wire.limits import (
    MOST_CARDS,
    PORTS,
    Refused,
    check_address,
    check_experiment,
    check_interface,
    check_key,
    check_port,
    check_range,
    check_settings,
    check_text,
)
from linkladder.wire.replies import (
    ClockReply,
    CountersReply,
    Finished,
    HelloReply,
    KnownReply,
    LeaseReply,
    ProbeReply,
    RouteReply,
    SamplingReply,
    SocketsReply,
    Started,
    SwitchedReply,
)

R = TypeVar("R")
VERBS: dict[str, type[Request[Any]]] = {}  # all requests that an end answers, by verb


class Request(Generic[R]):
    """The base of all requests; `class Probe(Request[ProbeReply], verb="probe")` declares and registers one."""

    verb: ClassVar[str]
    reply: ClassVar[type[Any]]
    slow: ClassVar[bool]  # an end may take long to answer
    held: ClassVar[bool]  # only who has reserved the end may ask for it

    def __init_subclass__(cls, verb: str, slow: bool = False, held: bool = False) -> None:
        cls.verb, cls.slow, cls.held = verb, slow, held
        cls.reply = get_args(cls.__orig_bases__[0])[0]  # type: ignore[attr-defined]
        VERBS[verb] = cls

    def check(self) -> None:
        """Raise Refused with the field's name if a field has a value that is not allowed."""


def request_of(verb: Any, arguments: Any) -> Request[Any]:
    """The checked request; raises Refused with the name of what is wrong."""
    if not isinstance(verb, str) or verb not in VERBS:
        raise Refused(f"unknown verb {str(verb)[:40]!r}")
    try:
        request = from_json(VERBS[verb], arguments if arguments is not None else {}, verb)
    except CodecError as error:
        raise Refused(str(error)) from None
    request.check()
    return request


# --- who this is


@dataclass(frozen=True)
class Hello(Request[HelloReply], verb="hello", slow=True):
    """The first request on every channel."""

    protocol: int
    version: str
    name: str

    def check(self) -> None:
        check_text(self.name, "name", 64)
        check_text(self.version, "version", 40)


@dataclass(frozen=True)
class Facts(Request[HostFacts], verb="facts"):
    """Ask what the host is."""


@dataclass(frozen=True)
class Clock(Request[ClockReply], verb="clock"):
    """Ask for the time on this end's clock; also keeps the channel open."""


# --- one run at a time


@dataclass(frozen=True)
class Reserve(Request[None], verb="reserve"):
    """Hold this end for one run; refused with the holder's name while another run holds it."""

    holder: str

    def check(self) -> None:
        check_text(self.holder, "holder", 120)


@dataclass(frozen=True)
class Release(Request[None], verb="release"):
    """End the hold, so that another run may use this end."""


# --- settings on loan


@dataclass(frozen=True)
class TakeLease(Request[LeaseReply], verb="lease", slow=True, held=True):
    """Make these settings on the adapters that own the addresses; they are restored however the lease ends."""

    settings: tuple[Setting, ...]
    addresses: tuple[str, ...]
    seconds: float  # the lease ends if it is not renewed within this time
    control: tuple[str, ...] = ()  # addresses of control connections, whose adapters must not be changed

    def check(self) -> None:
        check_settings(self.settings)
        for one in self.control:
            check_address(one, "control")
        check_range(len(self.control), "control", 0, 32)
        for one in self.addresses:
            check_address(one, "addresses")
        check_range(len(self.addresses), "addresses", 1, 32)
        check_range(self.seconds, "seconds", 1, 120)


@dataclass(frozen=True)
class RenewLease(Request[None], verb="renew", slow=True):
    """Renew the lease; refused if it has ended, as its settings are then no longer in force."""


@dataclass(frozen=True)
class ReturnLease(Request[LeaseReply], verb="return", slow=True):
    """Restore the settings now."""


@dataclass(frozen=True)
class SwitchMember(Request[SwitchedReply], verb="member", slow=True):
    """Take the bundle member that the lease names down now, or bring it up again."""

    down: bool


# --- is the port reachable


@dataclass(frozen=True)
class Known(Request[KnownReply], verb="known"):
    """Ask whether test traffic may go to an address: it must have answered a nonce in this run, by Probe or Listen."""

    address: str

    def check(self) -> None:
        check_address(self.address, "address")


@dataclass(frozen=True)
class Introduce(Request[None], verb="introduce", held=True):
    """Ask this end to measure with another end than the caller; refused unless its operator has allowed that."""

    name: str
    address: str

    def check(self) -> None:
        check_text(self.name, "name", 64)
        check_address(self.address, "address")


@dataclass(frozen=True)
class Listen(Request[None], verb="listen", held=True):
    """Open a plain listener for a Probe by `peer` with the same key, which tells whether the port is reachable."""

    address: str
    port: int
    peer: str
    key: str
    udp: bool = False

    def check(self) -> None:
        check_address(self.address, "address")
        check_port(self.port)
        check_address(self.peer, "peer")
        check_key(self.key)


@dataclass(frozen=True)
class RouteTo(Request[RouteReply], verb="route"):
    """Ask which way packets from one address to another would take; none is sent."""

    local: str
    remote: str

    def check(self) -> None:
        check_address(self.local, "local")
        check_address(self.remote, "remote")


@dataclass(frozen=True)
class Unlisten(Request[None], verb="unlisten"):
    """Close the port that Listen opened."""


@dataclass(frozen=True)
class Probe(Request[ProbeReply], verb="probe", held=True):
    """Try to reach a port of the other end, where a Listen is open."""

    local: str
    remote: str
    port: int
    key: str
    udp: bool = False

    def check(self) -> None:
        check_address(self.local, "local")
        check_address(self.remote, "remote")
        check_port(self.port)
        check_key(self.key)


# --- tools


@dataclass(frozen=True)
class Serve(Request[Started], verb="serve", held=True):
    """Start a tool's server."""

    experiment: Experiment
    bind: str
    port: int
    peer: str  # the client's address, which must have answered a nonce in this run
    key: str  # the trial's secret, for a tool that can ask its client for a passphrase

    def check(self) -> None:
        check_experiment(self.experiment)
        check_address(self.bind, "bind")
        check_port(self.port)
        check_address(self.peer, "peer")
        check_key(self.key)


@dataclass(frozen=True)
class RunClient(Request[Started], verb="client", slow=True, held=True):
    """Run one client process of a layout; for ping, which has no server, `port` is 0 and `index` picks the probe."""

    experiment: Experiment
    layout: Layout
    local: str
    remote: str
    port: int
    index: int = 0
    key: str = ""  # the same as the server's
    at: float = 0.0  # when to start, on the end's own clock; at once if it is 0 or past

    def check(self) -> None:
        check_experiment(self.experiment)
        if self.key or self.layout.server is not None:
            check_key(self.key)
        check_address(self.local, "local")
        check_address(self.remote, "remote")
        if self.port or self.layout.server is not None:
            check_port(self.port)
        check_range(self.index, "index", 0, 127)
        check_range(self.at, "at", 0, 1e10)
        check_range(self.layout.clients, "layout.clients", 1, 128)


@dataclass(frozen=True)
class Stop(Request[Finished], verb="stop"):
    """End a tool and return what it printed."""

    process: int
    at_once: bool = False  # it has printed everything, so do not wait for it to end by itself

    def check(self) -> None:
        check_range(self.process, "process", 1, 1 << 31)


@dataclass(frozen=True)
class Enough(Request[None], verb="enough"):
    """Tell a client that runs until it is told to end that its time is over."""

    process: int

    def check(self) -> None:
        check_range(self.process, "process", 1, 1 << 31)


@dataclass(frozen=True)
class Cancel(Request[None], verb="cancel"):
    """End all tools and listeners that run."""


# --- watching


@dataclass(frozen=True)
class Sampling(Request[SamplingReply], verb="sampling"):
    """Start or stop sending a sample every `every` seconds, and looking at the connections over `ports` meanwhile."""

    on: bool
    every: float = 1.0  # seconds
    cards: tuple[str, ...] = ()  # whose counters each sample tells
    ports: tuple[int, ...] = ()
    windows: bool = False  # whether each sample tells their congestion windows
    at_once: bool = False  # whether what is seen must be told at once, however much that takes of a core

    def check(self) -> None:
        check_range(self.every, "every", 0.1, 1)
        check_range(len(self.cards), "cards", 0, MOST_CARDS)
        for card in self.cards:
            check_interface(card, "cards")
        check_range(len(self.ports), "ports", 0, len(PORTS))
        for port in self.ports:
            check_range(port, "ports", PORTS.start, PORTS.stop - 1)


@dataclass(frozen=True)
class Counters(Request[CountersReply], verb="counters"):
    """Ask for the counters of a card and of the system."""

    address: str  # of the card that owns this address, if no interface is named
    interface: str = ""

    def check(self) -> None:
        check_address(self.address, "address")
        if self.interface:
            check_interface(self.interface, "interface")


@dataclass(frozen=True)
class Sockets(Request[SocketsReply], verb="sockets"):
    """Ask what the system counts for each TCP connection of the test."""
