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

A failed trial of the tool's fault keeps its flows and seconds for a person to look at, but no rate.  UDP keeps what
the senders put out (`offered_bps`) and counts what was sent after the last arrival as lost.

Ports.  netperf's data connections use the ports after the control port, one for each session and all inside the
documented range.  An iperf trial uses its one port.  A Linux end remembers for ten minutes what a router said of an
MTU, and its DF probes repeat it.

netperf's percentiles cannot be added up over sessions.  With one session they are exact; with more they are the
largest of the sessions' figures, which the true one cannot exceed.  Mean, minimum and maximum are exact.
"""

from __future__ import annotations

from linkladder.model import Experiment, Protocol, Tool
from linkladder.tools import iperf_lines, iperf_result, netperf, ping, saved, words
from linkladder.tools.commands import (
    UDP_PAYLOAD,
    client_argv,
    data_port,
    default_mtus,
    expected_seconds,
    ping_argv,
    server_argv,
)
from linkladder.tools.face import Expectation, Layout, Outcome, ToolVersions, Unavailable
from linkladder.tools.live import LiveParser
from linkladder.tools.ping import path_mtu, rtt_of
from linkladder.tools.ping import ttl as ping_ttl
from linkladder.tools.versions import OLDEST_IPERF, layout, parse_version, version_command, versions_of

__all__ = [
    "OLDEST_IPERF",
    "Expectation",
    "Layout",
    "LiveParser",
    "Outcome",
    "ToolVersions",
    "Unavailable",
    "client_argv",
    "data_ports",
    "default_datagram",
    "default_mtus",
    "expected_seconds",
    "finish",
    "layout",
    "parse_saved",
    "parse_version",
    "path_mtu",
    "ping_argv",
    "ping_ttl",
    "rtt_of",
    "server_argv",
    "version_command",
    "versions_of",
]


def default_datagram(ip_version: int) -> int:
    """Payload bytes of a UDP datagram where a plan names none."""
    return UDP_PAYLOAD[ip_version]


def data_ports(exp: Experiment, port: int) -> tuple[int, ...]:
    """The server's ports of a trial's TCP connections that carry payload."""
    if exp.tool == Tool.NETPERF:
        return tuple(data_port(port, index) for index in range(exp.sessions))
    return (port,) if exp.tool == Tool.IPERF and exp.protocol == Protocol.TCP else ()


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
    if exp.tool == Tool.PING:
        return ping.finish(exp.protocol, exp.sizes, where, client_outs, client_errs, expect)
    said = words.listen(server_err, *client_errs)
    if exp.tool == Tool.NETPERF:
        return netperf.finish(exp, where, client_outs, said, expect)
    server, client = iperf_lines.parse(server_out, "server"), iperf_lines.parse("".join(client_outs), "client")
    return iperf_result.finish(exp, where, server, client, said, expect)


def parse_saved(
    tool: Tool,
    text: str,
    flows: int | None = None,
    seconds: float | None = None,
    local: str | None = None,
    window: int | None = None,
) -> Outcome:
    """A tool's saved output of either end, the kind found from the text."""
    return saved.parse_saved(tool, text, flows, seconds, local, window)
