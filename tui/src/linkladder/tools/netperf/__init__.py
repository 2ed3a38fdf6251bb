"""netperf, from 2.7 on: TCP_STREAM and TCP_RR.

For a stream netperf runs at the *receiver* (as TCP_MAERTS), so its interim results tell what arrived; TCP_RR runs
where the requests start. Each session is a separate process, and its data connection uses a port after the control
port, inside the documented range.

Percentiles cannot be added up over sessions. With one session they are exact; with more, the largest figure of the
sessions is used, which the true one cannot exceed. Mean, minimum and maximum are exact.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence

from linkladder.model import Experiment, Protocol
from linkladder.tools.contract import Need, Reading, Tool
from linkladder.tools.netperf import argv
from linkladder.tools.records import Layout, ToolVersions

LINES = 160  # the most characters that a process prints each second
ALWAYS = frozenset({"window", "duration", "warmup", "ping_under_load"})


class Netperf(Tool):
    name = "netperf"
    companions = ("netserver",)
    packages = {"FreeBSD": "netperf", "Linux": "netperf"}
    oldest = argv.OLDEST
    need = Need.SOME
    without = "transaction tests are left out"
    enough_by = signal.SIGALRM  # the signal of its own timer
    version_argv = ("netperf", "-V")
    version_of = re.compile(r"[Nn]etperf [Vv]ersion (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")
    protocols = (Protocol.TCP, Protocol.RR)
    keys = {
        Protocol.TCP: ALWAYS | {"streams", "write_size", "incompressible"},
        Protocol.RR: ALWAYS | {"sessions", "request", "response"},
    }
    telling: Mapping[str, str] = {
        "-t": "the test", "-Y": "the class", "-4": "IPv4", "-6": "IPv6", "-- -m": "the size of writes",
        "-- -s": "the socket buffer", "-- -r": "the sizes of requests",
        "-l": "the duration", "-- -M": "the size of reads",
        "-- -S": "the other end's socket buffer",
    }  # fmt: skip

    def layout(self, exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
        return argv.layout(exp, near, far)

    def server_argv(self, exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
        return argv.server(bind, port)

    def client_argv(
        self, exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int
    ) -> tuple[str, ...]:
        return argv.client(exp, local, remote, port, index)

    def guarded(self, argv: tuple[str, ...], key: str) -> tuple[str, ...]:
        return (argv[0], "-Z", key, *argv[1:]) if key else argv

    def data_ports(self, exp: Experiment, port: int) -> tuple[int, ...]:
        sessions = exp.sessions if exp.protocol == Protocol.RR else exp.streams
        return tuple(argv.data_port(port, index) for index in range(sessions))

    def seconds(self, exp: Experiment) -> float:
        return argv.seconds(exp) + argv.waits(exp)

    def waits(self, exp: Experiment) -> float:
        return argv.waits(exp)

    def latest(self, exp: Experiment) -> float:
        return argv.latest(exp)

    def enough(self, exp: Experiment, spans: Sequence[tuple[float, float] | None]) -> bool:
        """Whether all sessions have reported the planned time in common; they run on one machine, so on one clock."""
        known = [one for one in spans if one]
        if not argv.latest(exp) or len(known) < len(spans):
            return False
        return min(end for _, end in known) - max(begun for begun, _ in known) >= argv.seconds(exp)

    def printed(self, exp: Experiment) -> int:
        return LINES  # of one session, as each is a separate process

    def memory(self, exp: Experiment) -> int:
        return argv.memory(exp)  # of one session, too

    def accountable(self, exp: Experiment) -> bool:
        return exp.protocol == Protocol.TCP

    def label(self, exp: Experiment) -> tuple[str, ...]:
        if exp.protocol == Protocol.RR:
            return "rr", f"{exp.sessions}x{exp.request}"
        return f"netperf-{exp.protocol}", f"{exp.streams}s"

    def reading(self) -> Reading:
        from linkladder.tools.netperf.output import NetperfOutput

        return NetperfOutput()
