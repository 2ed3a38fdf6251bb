"""What an end can be asked.  A request names its reply's type, so `ask(request)` returns just that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, get_args

from linkladder.codec import CodecError, from_json
from linkladder.model import Experiment, HostFacts, Setting
from linkladder.tools import Layout
from linkladder.wire.limits import (
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
    SocketsReply,
    Started,
    SwitchedReply,
)

R = TypeVar("R")
VERBS: dict[str, type[Request[Any]]] = {}  # what is not here does not exist


class Request(Generic[R]):
    """`class Probe(Request[ProbeReply], verb="probe")` is all that it takes for a request to exist."""

    verb: ClassVar[str]
    reply: ClassVar[type[Any]]
    slow: ClassVar[bool]  # an end may take long over its answer

    def __init_subclass__(cls, verb: str, slow: bool = False) -> None:
        cls.verb, cls.slow = verb, slow
        cls.reply = get_args(cls.__orig_bases__[0])[0]  # type: ignore[attr-defined]
        VERBS[verb] = cls

    def check(self) -> None:
        """Refused, with the field's name, where a field holds what it may not."""


def request_of(verb: Any, arguments: Any) -> Request[Any]:
    """A checked request, or Refused with the name of what is wrong."""
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
    """Opens every conversation."""

    protocol: int
    version: str
    name: str

    def check(self) -> None:
        check_text(self.name, "name", 64)
        check_text(self.version, "version", 40)


@dataclass(frozen=True)
class Facts(Request[HostFacts], verb="facts"):
    """What are you?"""


@dataclass(frozen=True)
class Clock(Request[ClockReply], verb="clock"):
    """What time is it on your clock?  Also keeps the channel alive."""


# --- one run at a time


@dataclass(frozen=True)
class Reserve(Request[None], verb="reserve"):
    """Hold this end for one run; refused with the holder's name while another holds it."""

    holder: str

    def check(self) -> None:
        check_text(self.holder, "holder", 120)


@dataclass(frozen=True)
class Release(Request[None], verb="release"):
    """The run is over: somebody else may measure."""


# --- settings on loan


@dataclass(frozen=True)
class TakeLease(Request[LeaseReply], verb="lease", slow=True):
    """Make these settings on the adapters that own the addresses; however the lease ends, they are put back."""

    settings: tuple[Setting, ...]
    addresses: tuple[str, ...]
    seconds: float  # it ends when it is not renewed for so long
    control: tuple[str, ...] = ()  # the adapters that own or lead to these addresses carry control and stay as they are

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
class RenewLease(Request[None], verb="renew"):
    """Refused where it has ended: then its settings are no longer in force."""


@dataclass(frozen=True)
class ReturnLease(Request[LeaseReply], verb="return", slow=True):
    """Put the settings back now."""


@dataclass(frozen=True)
class SwitchMember(Request[SwitchedReply], verb="member", slow=True):
    """The member of a bundle that the lease names goes down now, or comes up again."""

    down: bool


# --- is the port reachable


@dataclass(frozen=True)
class Known(Request[KnownReply], verb="known"):
    """May test traffic go there?  To whom has answered a nonce in this run, by Probe or at a Listen."""

    address: str

    def check(self) -> None:
        check_address(self.address, "address")


@dataclass(frozen=True)
class Introduce(Request[None], verb="introduce"):
    """Measure with another end than the one that asks; refused where nobody here has agreed to such introductions."""

    name: str
    address: str

    def check(self) -> None:
        check_text(self.name, "name", 64)
        check_address(self.address, "address")


@dataclass(frozen=True)
class Listen(Request[None], verb="listen"):
    """Open a bare listener for `peer`, which knocks with the same key: open, refused and filtered are told apart."""

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
    """Which way would packets from the one address to the other take?  None is sent."""

    local: str
    remote: str

    def check(self) -> None:
        check_address(self.local, "local")
        check_address(self.remote, "remote")


@dataclass(frozen=True)
class Unlisten(Request[None], verb="unlisten"):
    """Close the port that Listen opened."""


@dataclass(frozen=True)
class Probe(Request[ProbeReply], verb="probe"):
    """Knock at a port of the other end."""

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
class Serve(Request[Started], verb="serve"):
    """Start a tool's server."""

    experiment: Experiment
    bind: str
    port: int
    peer: str  # the client's address, which has knocked
    key: str  # the trial's, for a tool that can ask its client for one

    def check(self) -> None:
        check_experiment(self.experiment)
        check_address(self.bind, "bind")
        check_port(self.port)
        check_address(self.peer, "peer")
        check_key(self.key)


@dataclass(frozen=True)
class RunClient(Request[Started], verb="client"):
    """Run one client process of a layout; for ping, which has no server, `port` is 0 and `index` picks the probe."""

    experiment: Experiment
    layout: Layout
    local: str
    remote: str
    port: int
    index: int = 0
    key: str = ""  # the server's
    at: float = 0.0  # the moment on the end's own clock at which it starts; 0 and what is past: at once

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
    """End a tool and tell what it printed."""

    process: int
    at_once: bool = False  # it has said all that it will: do not wait for what it does in its own time

    def check(self) -> None:
        check_range(self.process, "process", 1, 1 << 31)


@dataclass(frozen=True)
class Enough(Request[None], verb="enough"):
    """Have a client that goes on until it is told end as it does after its time."""

    process: int

    def check(self) -> None:
        check_range(self.process, "process", 1, 1 << 31)


@dataclass(frozen=True)
class Cancel(Request[None], verb="cancel"):
    """End whatever runs."""


# --- watching


@dataclass(frozen=True)
class Sampling(Request[None], verb="sampling"):
    """Begin or end a sample each second, or as often as is asked."""

    on: bool
    every: float = 1.0  # seconds

    def check(self) -> None:
        check_range(self.every, "every", 0.1, 1)


@dataclass(frozen=True)
class Counters(Request[CountersReply], verb="counters"):
    """What has the card with this address counted?"""

    address: str  # counters of the interface that owns this address
    interface: str = ""

    def check(self) -> None:
        check_address(self.address, "address")
        if self.interface:
            check_interface(self.interface, "interface")


@dataclass(frozen=True)
class Sockets(Request[SocketsReply], verb="sockets"):
    """What does the system count of each TCP connection of the test?"""

    windows: bool = False  # their congestion windows alone
