"""The interface of a measuring tool: everything that the rest of linkladder may ask of one."""

from __future__ import annotations

import math
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Literal

from linkladder.model import Direction, End, Experiment, Generator, Protocol
from linkladder.tools.records import Demands, Expectation, Layout, Texts, ToolVersions

if TYPE_CHECKING:
    from linkladder.model import Interval, Outcome

TEST_PORTS = range(5301, 5401)  # documented for users, since a firewall between the ends must let them through
OUTPUT_LIMIT = 32 << 20  # how many characters are kept of one process's output
MEMORY, OF_A_STREAM = 256 << 20, 16 << 20  # bytes: iperf -P 128 both ways has 258 threads, 5 MB each
UDP_PAYLOAD = {4: 1470, 6: 1450}  # bytes of a datagram if a plan names no size: iperf's default, which fits MTU 1500


class Need(Enum):
    """How much is lost if a tool is missing."""

    ALL = "every plan wants it"
    SOME = "built-in plans go on without it, and say what they left out"
    NONE = "only plans that name it want it"


class Live:
    """Reads one process's lines while it runs: the figures are provisional, and it never raises an exception.

    Every process has its own parser, which returns the sum over the flows that its process *receives*, once every
    flow has reported the second. So the lines of both ends together give each direction exactly once.
    """

    @property
    def span(self) -> tuple[float, float] | None:
        """Start and end of the time reported so far, on the clock of the process's machine; None before the first."""
        return None

    @property
    def complete(self) -> bool:
        """Whether this process has printed the last line of every flow, so that nothing more need be waited for."""
        return False

    def feed(self, line: str) -> list[Interval]:
        """The seconds that are complete with this line."""
        return []

    def round_trip(self, line: str) -> float | None:
        """The round trip in ms that this line reports, if any."""
        return None


class Reading(ABC):
    """Reads the output of a tool: its lines while it runs, all of it at the end, and output that somebody saved."""

    def live(self, exp: Experiment, where: Layout, end: End) -> Live:
        return Live()

    @abstractmethod
    def finish(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation
    ) -> Outcome:
        """The verdict on one trial, from what the server and the clients printed on stdout and stderr."""

    def written(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...]
    ) -> Mapping[Direction, int]:
        """How many bytes its senders say they wrote each way, read or not; nothing where they do not tell."""
        return {}

    def second(self, line: str, exp: Experiment) -> float | None:
        """The start in seconds of the second that a line reports; None for other lines, which are always kept."""
        return None

    @abstractmethod
    def read_saved(self, text: str, demands: Demands) -> Outcome:
        """Read output that somebody saved, of either end."""


def _dotted(pattern: re.Pattern[str] | None, text: str) -> str:
    match = pattern.search(text) if pattern else None
    return ".".join(str(int(n)) for n in match.groups() if n is not None) if match else ""


def lines_a_second(exp: Experiment) -> int:
    """Lines that a tool prints each second: one for each stream and one for their sum, in each direction."""
    return (2 if exp.direction is Direction.DUPLEX else 1) * (exp.streams + 1)


class Tool(ABC):
    """One measuring program. Each has its own package in `linkladder.tools`, and one line in `registry`."""

    name: str  # its name in plans, documents and requests, and the program whose version counts
    aliases: tuple[str, ...] = ()  # other names on the command line
    companions: tuple[str, ...] = ()  # programs that must be installed too
    packages: Mapping[str, str]  # by operating system: the package that installs it
    oldest: tuple[int, ...] = ()
    need = Need.NONE
    without = ""  # what cannot be measured without it, for people to read
    version_argv: tuple[str, ...]
    version_of: re.Pattern[str]  # finds the version numbers in what `version_argv` prints
    own_version: re.Pattern[str] | None = None  # finds its version in what it prints in a trial
    peer_version: re.Pattern[str] | None = None  # finds that of the other end's program there
    harmless: tuple[str, ...] = ()  # patterns of lines that it prints on stderr although all is well

    protocols: tuple[Protocol, ...]  # the first is the default if a plan names none
    keys: Mapping[Protocol, frozenset[str]]  # what an experiment may set besides the keys that all may set

    telling: Mapping[str, str] = {}  # what the options of its commands set, for people; options after "--" as "-- -m"

    generators: tuple[Generator, ...] = ()  # ways to send with one stream that may be the fastest, the default first

    enough_by: signal.Signals | None = None  # the signal that ends its client early, with all its figures

    loads = True  # it tries to fill the path, so both ends are watched, and a ping may run beside it
    every_second = False  # it prints every second, so a silent process hangs
    server_tells = False  # only its server's output tells what arrived
    afterthought = 0.05  # seconds after its clients have ended in which a server may still print its last figures

    def version(self, text: str) -> str:
        """The version in what `version_argv` printed, such as '2.1.8', or 'present'; '' if it is another program's."""
        return _dotted(self.version_of, text)

    def versions_printed(self, text: str) -> tuple[str, str]:
        """Its own version and that of the other end's program, as a trial's output has them; '' where it does not."""
        return _dotted(self.own_version, text), _dotted(self.peer_version, text)

    @abstractmethod
    def layout(self, exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
        """Decide which end runs what; raises Unavailable with the reason if the ends cannot do it."""

    def server_argv(self, exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
        """The server's command for the end that has these `versions`; () if the tool has no server."""
        return ()

    @abstractmethod
    def client_argv(
        self, exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int
    ) -> tuple[str, ...]:
        """The command of client `index`; `local` is the address of the end that runs it, `remote` the other's."""

    def guarded(self, argv: tuple[str, ...], key: str) -> tuple[str, ...]:
        """The command of a server or client with the trial's passphrase added, if the tool supports one."""
        return argv

    def listens(self, exp: Experiment) -> Literal["tcp", "udp"]:
        """The protocol in which its server listens on its port at the start."""
        return "tcp"

    def data_ports(self, exp: Experiment, port: int) -> tuple[int, ...]:
        """The ports at the server of the TCP connections that carry a trial's payload."""
        return ()

    def seconds(self, exp: Experiment) -> float:
        """How long the clients run."""
        return exp.warmup + exp.duration

    def soonest(self, exp: Experiment) -> float:
        """How long they run at best."""
        return self.seconds(exp)

    def waits(self, exp: Experiment) -> float:
        """For how many of these seconds the clients are connected before they send anything."""
        return 0.0

    def latest(self, exp: Experiment) -> float:
        """How many seconds after the first client the last one may start, for clients that run until `enough`."""
        return 0.0

    def enough(self, exp: Experiment, spans: Sequence[tuple[float, float] | None]) -> bool:
        """Whether all clients that run until they are told to end have run at once for the planned time."""
        return False

    def longest(self, exp: Experiment) -> float:
        """How many seconds a trial may last so that all output of a process is kept."""
        printed = self.printed(exp)
        return OUTPUT_LIMIT / printed - exp.warmup if printed else math.inf

    def printed(self, exp: Experiment) -> int:
        """The most characters that a process prints each second; 0 if it does not print every second."""
        return 0

    def memory(self, exp: Experiment) -> int:
        """The most bytes that one of its processes may have; more are a peer's doing, who says what he likes to it."""
        return MEMORY + exp.streams * (OF_A_STREAM + 2 * (exp.write_size or 0))

    def accountable(self, exp: Experiment) -> bool:
        """Whether its bytes can be compared with what the interfaces counted."""
        return False

    def label(self, exp: Experiment) -> tuple[str, ...]:
        """The words with which the id of an experiment begins."""
        return self.name, exp.protocol.value

    @abstractmethod
    def reading(self) -> Reading:
        """What reads its output; imported only when called, since an agent starts tools but reads no output."""
