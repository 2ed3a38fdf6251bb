"""iperf 3, from 3.12 on: an additional tool, for plans that ask for it.

It carries a server's and a client's settings over a connection of its own, so that a window, a datagram's size and
the class of service hold at both ends, -R and --bidir measure with a window too, and UDP goes both ways at once.
From 3.17 on at an end its output is a stream of events and is seen as it comes; before, one JSON text at the end.
It counts whole seconds only, and one port serves all its connections.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from linkladder.model import End, Experiment, Fault, Protocol
from linkladder.tools import acceptance, complaints, saved
from linkladder.tools.contract import Live, Tool
from linkladder.tools.iperf3 import argv, events
from linkladder.tools.iperf3.live import Intervals
from linkladder.tools.records import Demands, Expectation, Layout, Outcome, ToolVersions

STREAMS = frozenset({"streams", "window", "write_size", "duration", "warmup", "ping_under_load", "client_port"})
VERSION = re.compile(r"^iperf (3)\.(\d{1,4})(?:\.(\d{1,4}))?", re.M)


MIDWAY = re.compile(r"unable to (?:write to|read from) stream socket")
ENDED = re.compile(r"^(?:interrupt - )?the (server|client) has terminated")
BROKEN_LOCK = re.compile(r"^iperf_\w+: pthread_mutex_\w+: ")  # a server of 3.16 that was told to end


class Iperf3(Tool):
    name = "iperf3"
    packages = {"FreeBSD": "iperf3", "Linux": "iperf3"}
    oldest = argv.OLDEST
    without = "plans that name it cannot be measured"
    version_argv = ("iperf3", "-v")
    protocols = (Protocol.TCP, Protocol.UDP)
    keys = {Protocol.TCP: STREAMS, Protocol.UDP: STREAMS | {"udp_rate", "udp_percent"}}
    afterthought = 0.5

    def version(self, text: str) -> str:
        match = VERSION.search(text)
        return ".".join(str(int(n)) for n in match.groups() if n is not None) if match else ""

    def layout(self, exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
        return argv.layout(exp, near, far)

    def server_argv(self, exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
        return argv.server(versions, bind, port)

    def client_argv(
        self, exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int
    ) -> tuple[str, ...]:
        return argv.client(exp, versions, where, local, remote, port)

    def data_ports(self, exp: Experiment, port: int) -> tuple[int, ...]:
        return (port,) if exp.protocol == Protocol.TCP else ()

    def seconds(self, exp: Experiment) -> float:
        return float(math.ceil(exp.warmup + exp.duration))

    def accountable(self, exp: Experiment) -> bool:
        return True

    def label(self, exp: Experiment) -> tuple[str, ...]:
        return f"iperf3-{exp.protocol}", f"{exp.streams}s"

    def live(self, exp: Experiment, where: Layout, end: End) -> Live:
        return Intervals(exp, where, end)

    def finish(
        self,
        exp: Experiment,
        where: Layout,
        server: tuple[str, str],
        clients: tuple[tuple[str, str], ...],
        expect: Expectation,
    ) -> Outcome:
        served = events.parse(server[0], "server")
        asked = events.parse("".join(out for out, _ in clients), "client")
        said = complaints.listen(_stderr(server[1]), *(err for _, err in clients), _words(served, asked, expect))
        if any(MIDWAY.search(line) for line in said.lines):
            said.fault, said.plain = Fault.PATH, "the way to the other end was lost while it ran"
        if said.lines:  # its exit status says no more than its words do
            expect = replace(expect, exit_codes=())
        if reason := events.disagreement(exp, asked):
            said.lines.append(reason)
            said.fault, said.plain = said.fault or Fault.TOOL, said.plain or "it did not do as it was told"
        return acceptance.finish(exp, where, served.output, asked.output, said, expect)

    def read_saved(self, text: str, demands: Demands) -> Outcome:
        report = events.parse(text)
        if report.runs > 1:
            return saved.no_result(f"it holds {report.runs} runs: one at a time can be read")
        report.output.foreign += [e for e in report.errors if report.output.role != "server" or not ENDED.match(e)]
        return saved.read(report.output, demands, report.system)


def _words(served: events.Report, asked: events.Report, expect: Expectation) -> list[str]:
    """What both ends complain of, but for what they say of being ended by us."""
    ours = {"server", "client"} if expect.watchdog else {"server"}
    return [e for e in (*served.errors, *asked.errors) if not ((by := ENDED.match(e)) and by[1] in ours)]


def _stderr(text: str) -> list[str]:
    return [line for line in text.splitlines() if not BROKEN_LOCK.match(line)]
