"""What a measuring tool is to the rest of the house: every question that anybody asks of one, and nothing else."""

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

TEST_PORTS = range(5301, 5401)  # documented: what a firewall between the ends must let through
OUTPUT_LIMIT = 32 << 20  # characters that are kept of what one process prints
UDP_PAYLOAD = {4: 1470, 6: 1450}  # bytes of a datagram where a plan names none: iperf's own default, fitting 1500


class Need(Enum):
    """How much is lost where a tool is missing."""

    ALL = "every plan wants it"
    SOME = "built-in plans go on without it, and say what they left out"
    NONE = "only plans that name it want it"


class Live:
    """One process's lines as they come: provisional, cheap, and never an exception.

    A parser of its own for every process; each gives the sum over the flows that its process *receives*, once every
    flow has reported the second, so that with both ends' lines each direction comes exactly once.
    """

    @property
    def span(self) -> tuple[float, float] | None:
        """From when to when it has told of, on the clock of the machine that it runs on; None: of nothing yet."""
        return None

    @property
    def complete(self) -> bool:
        """Has this process told all that it will of every flow?  Then there is nothing to wait for."""
        return False

    def feed(self, line: str) -> list[Interval]:
        """The seconds that this line makes whole."""
        return []

    def round_trip(self, line: str) -> float | None:
        """The round trip in ms that this line tells of."""
        return None


class Reading(ABC):
    """How the output of a tool is read: its lines while it runs, all of it at the end, and what somebody saved."""

    def live(self, exp: Experiment, where: Layout, end: End) -> Live:
        return Live()

    @abstractmethod
    def finish(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation
    ) -> Outcome:
        """The verdict on one trial, of what server and clients printed on stdout and stderr."""

    def second(self, line: str, exp: Experiment) -> float | None:
        """When the second began that a line tells of; None where it tells of none, and so is always kept."""
        return None

    @abstractmethod
    def read_saved(self, text: str, demands: Demands) -> Outcome:
        """Output that somebody saved, of either end."""


def lines_a_second(exp: Experiment) -> int:
    """One for each stream and one for their sum, each way."""
    return (2 if exp.direction is Direction.DUPLEX else 1) * (exp.streams + 1)


class Tool(ABC):
    """One measuring program.  A room of `linkladder.tools` has one of these, and `registry` one line for it."""

    name: str  # in plans, documents and requests, and the program whose version counts
    aliases: tuple[str, ...] = ()  # other names on the command line
    companions: tuple[str, ...] = ()  # programs that must be there too
    packages: Mapping[str, str]  # by system: what brings it
    oldest: tuple[int, ...] = ()
    need = Need.NONE
    without = ""  # what cannot be measured without it, in words
    version_argv: tuple[str, ...]
    version_of: re.Pattern[str]  # its numbers, in what that prints
    harmless: tuple[str, ...] = ()  # patterns of what it says on stderr though all is well

    protocols: tuple[Protocol, ...]  # the first is meant where a plan names none
    keys: Mapping[Protocol, frozenset[str]]  # what an experiment may say besides what every one may

    telling: Mapping[str, str] = {}  # options by which its commands say what is measured; those after "--" as "-- -m"

    generators: tuple[Generator, ...] = ()  # with one stream: ways to send that may be the strongest, the default first

    enough_by: signal.Signals | None = None  # what ends its client in mid-run, with all its figures

    loads = True  # it fills the path, or tries to: both ends are watched, and a ping may go beside it
    every_second = False  # it prints each second, so that one that is silent hangs
    server_tells = False  # only its server's output says what arrived
    afterthought = 0.05  # seconds in which a server may still tell its last figures after its clients have ended

    def version(self, text: str) -> str:
        """'2.1.8' of what `version_argv` printed; '' where that is not this tool; 'present' where it tells none."""
        match = self.version_of.search(text)
        return ".".join(str(int(n)) for n in match.groups() if n is not None) if match else ""

    @abstractmethod
    def layout(self, exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
        """Which end runs what; Unavailable says why it cannot be."""

    def server_argv(self, exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
        """The server's command, at the end whose versions these are; () where there is no server."""
        return ()

    @abstractmethod
    def client_argv(
        self, exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int
    ) -> tuple[str, ...]:
        """The command of client `index`; `local` is the address of the end that runs it, `remote` the other's."""

    def guarded(self, argv: tuple[str, ...], key: str) -> tuple[str, ...]:
        """A server's or a client's command with the trial's passphrase, where the tool knows one."""
        return argv

    def listens(self, exp: Experiment) -> Literal["tcp", "udp"]:
        """What its server's port is open for first."""
        return "tcp"

    def data_ports(self, exp: Experiment, port: int) -> tuple[int, ...]:
        """The server's ports of a trial's TCP connections that carry payload."""
        return ()

    def seconds(self, exp: Experiment) -> float:
        """How long the clients run."""
        return exp.warmup + exp.duration

    def waits(self, exp: Experiment) -> float:
        """For how long of it they are connected before they send anything."""
        return 0.0

    def latest(self, exp: Experiment) -> float:
        """By how many seconds the last of its clients may begin after the first, where each goes on until `enough`."""
        return 0.0

    def enough(self, exp: Experiment, spans: Sequence[tuple[float, float] | None]) -> bool:
        """Whether clients that go on until they are told have had the time that was asked for, all at once."""
        return False

    def longest(self, exp: Experiment) -> float:
        """How many seconds a trial may last so that all that a process prints of it is kept."""
        printed = self.printed(exp)
        return OUTPUT_LIMIT / printed - exp.warmup if printed else math.inf

    def printed(self, exp: Experiment) -> int:
        """Characters that a process prints each second, at most; 0: it tells no seconds."""
        return 0

    def accountable(self, exp: Experiment) -> bool:
        """Whether its bytes can be held against what the interfaces counted."""
        return False

    def label(self, exp: Experiment) -> tuple[str, ...]:
        """How an experiment's id begins."""
        return self.name, exp.protocol.value

    @abstractmethod
    def reading(self) -> Reading:
        """What reads its output; imported only here, since an agent starts tools and reads nothing of them."""
