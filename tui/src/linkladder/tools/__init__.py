"""iperf2, netperf and ping: an experiment to commands, a line to a sample, a text to a result or a reason.

Pure: nothing here starts a process or touches a file.  A trial goes like this:

    where = layout(exp, near, far)                 # Unavailable says why not
    argv = server_argv(exp, versions, bind, port)  # of the end `where.server`; () when there is no server
    argv = client_argv(exp, versions, where, local, remote, port, index)   # index 0 .. where.clients - 1
    live = LiveParser(exp, where, end)             # one for each process; feed it stdout's lines
    outcome = finish(exp, where, server_out, server_err, client_outs, client_errs, expect)

Addresses: in `server_argv` `bind` is the server's own.  In `client_argv` and `ping_argv` `local` is the address of
the end that runs the command and `remote` the other's.  In `Expectation` they are the near and the far end's.

Layout.  FORWARD: iperf's client is near, its server far.  REVERSE: TCP with iperf 2.1 or newer at both ends and
the default socket buffer uses -R from near.  With a window the roles are swapped instead (client far, server near),
because iperf sets only the send buffer at its client and the receive buffer at its server, so that -R would leave
the receiver's alone.  UDP and older iperfs are swapped too.  DUPLEX needs --full-duplex (2.1 at both ends, TCP, the
default buffer).  netperf's TCP_STREAM runs netperf at the *receiver* (as TCP_MAERTS), so that its interim results
are what arrived; TCP_RR runs where the requests start.  ping has no server; DF is one ping for each MTU, one after
the other.
Time.  A client runs for `expected_seconds(exp)`: warm-up plus duration, without a tail, since the receiver's clock
starts with the connection and always outlasts the sender's.  Whole intervals from the warm-up on are counted, the
last one may be partial.  UDP rates are payload bits per second (iperf's -b) and total: each stream gets its share.

Live.  LiveParser gives, for each direction that its process *receives*, the sum of all flows once every flow has
reported the second; feed every process's lines to a parser of its own and each direction comes exactly once.

Verdict.  Outcome.ok, or a fault with a reason.  TOOL: refused, bad option, wrong address, window not granted, crash,
flows missing, figures that contradict each other.  PATH: connected and then nothing, a stall, everything lost.

netperf's percentiles cannot be added up over sessions.  With one session they are exact; with more they are the
largest of the sessions' figures, which the true one cannot exceed.  Mean, minimum and maximum are exact.
"""

from __future__ import annotations

from linkladder.model import End, Experiment, Interval, PathMtu, Tool
from linkladder.tools.face import Expectation, Layout, Outcome, ToolVersions, Unavailable

__all__ = [
    "Expectation",
    "Layout",
    "LiveParser",
    "Outcome",
    "ToolVersions",
    "Unavailable",
    "client_argv",
    "default_mtus",
    "expected_seconds",
    "finish",
    "layout",
    "parse_saved",
    "parse_version",
    "path_mtu",
    "ping_argv",
    "server_argv",
    "version_command",
]


def version_command(tool: Tool) -> tuple[str, ...]:
    """What to run to learn a tool's version; () where it tells none (FreeBSD's ping: being there is enough)."""
    raise NotImplementedError


def parse_version(tool: Tool, text: str) -> tuple[int, ...] | None:
    """The version in stdout plus stderr of version_command; the exit status says nothing (iperf's is 1)."""
    raise NotImplementedError


def layout(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    """Which end runs what; raises Unavailable."""
    raise NotImplementedError


def server_argv(exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
    """The server's command at the end that has the address `bind`; () for ping."""
    raise NotImplementedError


def client_argv(
    exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int = 0
) -> tuple[str, ...]:
    """The client's command: `local` is its own address, `remote` the server's; a ping experiment's pings too."""
    raise NotImplementedError


def ping_argv(
    os: str, local: str, remote: str, count: int, interval: float, mtu: int | None = None, dscp: int = 0
) -> tuple[str, ...]:
    """A ping from `local` to `remote`: of 56 bytes, or, with `mtu`, as big as the MTU with DF set."""
    raise NotImplementedError


def default_mtus(contract_mtu: int) -> tuple[int, ...]:
    """The MTUs a DF probe tries for a contract: itself, what tunnels leave of it, the usual ones below."""
    raise NotImplementedError


def expected_seconds(exp: Experiment) -> float:
    """How long the clients run when all goes well (DF probes: all of them, some failing)."""
    raise NotImplementedError


class LiveParser:
    """Lines of one process to intervals, as they come: sums over the flows this process receives; never raises."""

    def __init__(self, exp: Experiment, where: Layout, end: End) -> None:
        raise NotImplementedError

    def feed(self, line: str) -> list[Interval]:
        """Seconds that are complete with this line (in order, each once)."""
        raise NotImplementedError

    def round_trip(self, line: str) -> float | None:
        """The round trip in ms of one line of ping."""
        raise NotImplementedError


def finish(
    exp: Experiment,
    where: Layout,
    server_out: str,
    server_err: str,
    client_outs: tuple[str, ...],
    client_errs: tuple[str, ...],
    expect: Expectation,
) -> Outcome:
    """The verdict on one trial."""
    raise NotImplementedError


def path_mtu(probes: tuple[tuple[int, str, str], ...]) -> PathMtu:
    """(MTU, stdout, stderr) of each DF probe to what the path takes."""
    raise NotImplementedError


def parse_saved(
    tool: Tool,
    text: str,
    flows: int | None = None,
    seconds: float | None = None,
    local: str | None = None,
    window: int | None = None,
) -> Outcome:
    """A tool's saved output of either end, the kind found from the text."""
    raise NotImplementedError
