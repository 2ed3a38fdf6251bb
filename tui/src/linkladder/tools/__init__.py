"""The measuring tools: turns an experiment into commands, lines of output into samples, and outputs into a result.

Pure: nothing here starts a process or touches a file. Each tool has its own package and implements `contract.Tool`,
which `named(exp.tool)` returns; code outside never asks which tool it is. A trial goes like this:

    where = layout(exp, near, far)                 # raises Unavailable with the reason if it cannot be done
    argv = server_argv(exp, versions, bind, port)  # of the end `where.server`; () when there is no server
    argv = client_argv(exp, versions, where, local, remote, port, index)   # index 0 .. where.clients - 1
    live = live_parser(exp, where, end)            # one for each process; feed it the lines of stdout
    outcome = finish(exp, where, server, clients, expect)

Addresses: in `server_argv` `bind` is the server's own. In `client_argv` `local` is the address of the end that runs
the command and `remote` that of the other end. In `Expectation` they are the addresses of the near and the far end.

Time: a client runs for `expected_seconds(exp)`, the warm-up plus the duration. No extra time is needed at the end,
since the receiver's clock starts with the connection and always outlasts the sender's. Whole intervals from the
warm-up on are counted; the last one may be partial. UDP rates are payload bits per second over all streams, and each
stream gets its share. Clients of a tool with `enough_by` run until they are told to end, as the last of many may start
late on a busy machine.

Verdict: Outcome.ok, or a fault with a reason. TOOL: refused, bad option, wrong address, window not granted, crash,
flows missing, figures that contradict each other. PATH: connected and then nothing, a stall, everything lost.

A trial that failed by the tool's fault keeps its flows and seconds for a person to look at, but no rate. UDP keeps the
rate that the senders put out (`offered_bps`), and counts datagrams sent after the last arrival as lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from linkladder import model
from linkladder.model import Direction, End, Experiment, Fault
from linkladder.tools.contract import OUTPUT_LIMIT, TEST_PORTS, UDP_PAYLOAD, Live, Need, Tool
from linkladder.tools.ping.argv import default_mtus, ping_argv
from linkladder.tools.records import Demands, Expectation, Layout, Texts, ToolVersions, Unavailable
from linkladder.tools.registry import SPOKEN, TOOLS, named

if TYPE_CHECKING:
    from linkladder.model import Outcome, Rtt

__all__ = [
    "OUTPUT_LIMIT",
    "SPOKEN",
    "TEST_PORTS",
    "TOOLS",
    "Demands",
    "Expectation",
    "Layout",
    "Live",
    "Need",
    "Texts",
    "Tool",
    "ToolVersions",
    "Unavailable",
    "can",
    "client_argv",
    "default_datagram",
    "default_mtus",
    "expected_seconds",
    "finish",
    "layout",
    "live_parser",
    "longest",
    "named",
    "parse_saved",
    "ping_argv",
    "ping_holes",
    "ping_ttl",
    "pinged",
    "ports_of",
    "rtt_of",
    "server_argv",
    "soonest_seconds",
    "takers",
]


def default_datagram(ip_version: int) -> int:
    """Payload bytes of a UDP datagram if the plan names no size."""
    return UDP_PAYLOAD[ip_version]


def layout(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    """Decide which end runs what; raises Unavailable with the reason if the ends cannot do it."""
    if exp.direction == Direction.BOTH:
        raise Unavailable("'both' is a word for plans; a trial goes one way or is full duplex")
    return named(exp.tool).layout(exp, near, far)


def takers(exp: Experiment) -> tuple[str, ...]:
    """The tools that can do it where both ends have their newest version."""
    newest = ToolVersions({name: f"{tool.oldest[0]}.99" for name, tool in TOOLS.items() if tool.oldest})
    return tuple(name for name in newest.found if can(replace(exp, tool=name), newest, newest))


def can(exp: Experiment, near: ToolVersions, far: ToolVersions) -> bool:
    try:
        layout(exp, near, far)
    except Unavailable:
        return False
    return True


def server_argv(exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
    return named(exp.tool).server_argv(exp, versions, bind, port)


def client_argv(
    exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int = 0
) -> tuple[str, ...]:
    return named(exp.tool).client_argv(exp, versions, where, local, remote, port, index)


def ports_of(exp: Experiment, port: int = TEST_PORTS.start) -> int:
    """How many test ports one leg takes, with those of its data connections."""
    return len({port, *named(exp.tool).data_ports(exp, port)})


def expected_seconds(exp: Experiment) -> float:
    return named(exp.tool).seconds(exp)


def soonest_seconds(exp: Experiment) -> float:
    return named(exp.tool).soonest(exp)


def longest(exp: Experiment) -> float:
    """How many seconds a trial may last so that all its output is kept, whichever generator proves to be strongest."""
    if not exp.strongest:
        return named(exp.tool).longest(exp)
    most = replace(exp, streams=2 * exp.streams + 1)  # one stream for each core, as `streams` is half the cores
    return min(tool.longest(most) for tool in TOOLS.values() if tool.generators)


def live_parser(exp: Experiment, where: Layout, end: End) -> Live:
    return named(exp.tool).reading().live(exp, where, end)


def finish(exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation) -> Outcome:
    """The verdict on one trial, from what the server and the clients printed on stdout and stderr."""
    return named(exp.tool).reading().finish(exp, where, server, clients, expect)


def written(exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...]) -> Mapping[Direction, int]:
    """How many bytes the senders of one trial say they wrote each way, as far as they tell."""
    return named(exp.tool).reading().written(exp, where, server, clients)


def ping_ttl(text: str) -> int | None:
    """The time to live (TTL) that was left in the first answer of a ping."""
    from linkladder.tools.ping import lines  # imported late, as an agent reads no output

    return lines.ttl(text)


def rtt_of(samples: tuple[float, ...], sent: int) -> Rtt:
    """The statistics of round trips in ms, of `sent` packets."""
    from linkladder.tools.ping import lines

    return lines.rtt_of(samples, sent)


def pinged(text: str, errors: str = "") -> Rtt:
    """The statistics of the round trips that a ping printed."""
    from linkladder.tools.ping import lines

    return lines.rtt(lines.parse(text, errors))


def ping_contradiction(text: str, errors: str = "") -> str:
    """How the summary that a ping printed contradicts its answers; '' if it does not."""
    from linkladder.tools.ping import lines

    return lines.contradiction(lines.parse(text, errors))


def ping_holes(text: str, errors: str = "") -> list[int]:
    """The numbers of the pings that were not answered, the first ping's being 0."""
    from linkladder.tools.ping import lines

    return lines.holes(lines.parse(text, errors))


def ping_doubled(text: str) -> bool:
    """Whether an answer to a ping came more than once."""
    from linkladder.tools.ping import lines

    return lines.parse(text).twice


def parse_saved(name: str, text: str, demands: Demands = Demands()) -> Outcome:  # noqa: B008  (it is frozen)
    """Read a tool's saved output, of either end; `name` may be an alias of the tool."""
    text = text.replace("\ufeff", "")  # some editors put it before the first line
    if "\0" in text:
        return model.Outcome(False, Fault.TOOL, "it holds zero bytes, as after a crash: a part of it is missing")
    if not text.strip():
        return model.Outcome(False, Fault.TOOL, "the file is empty")
    return SPOKEN[name].reading().read_saved(text, demands)
