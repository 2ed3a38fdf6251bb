"""iperf 3, from 3.12 on: an additional tool, for plans that name it.

Client and server agree on the settings over a control connection, so a window, a datagram size and a class of service
hold at both ends, -R and --bidir work with a window too, and UDP can go both ways at once. From 3.17 on its output is a
stream of events that can be read while it runs; older versions print one JSON text at the end. It counts whole seconds
only, and uses one port for all its connections.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from linkladder.model import Experiment, Generator, Protocol
from linkladder.tools.contract import Reading, Tool, lines_a_second
from linkladder.tools.iperf3 import argv
from linkladder.tools.records import Layout, ToolVersions

LINE = 600  # the most characters that one second of a stream takes in JSON, indented or not
STREAMS = frozenset({"streams", "window", "write_size", "duration", "warmup", "ping_under_load", "client_port"})


class Iperf3(Tool):
    name = "iperf3"
    packages = {"FreeBSD": "iperf3", "Linux": "iperf3"}
    oldest = argv.OLDEST
    without = "plans that name it cannot be measured"
    version_argv = ("iperf3", "-v")
    version_of = re.compile(r"^iperf (3)\.(\d{1,4})(?:\.(\d{1,4}))?", re.M)
    own_version = re.compile(r'"version":\s*"iperf (3)\.(\d{1,4})(?:\.(\d{1,4}))?')
    # it compares the datagram size with a TCP segment's payload, which TCP timestamps make smaller
    harmless = (r"warning: UDP block size \d+ exceeds TCP MSS",)
    protocols = (Protocol.TCP, Protocol.UDP)
    keys = {Protocol.TCP: STREAMS | {"zero_copy"}, Protocol.UDP: STREAMS | {"udp_rate", "udp_percent"}}
    telling: Mapping[str, str] = {
        "-P": "streams", "-u": "UDP", "-b": "the rate", "-l": "the size of writes", "-w": "the socket buffer",
        "-S": "the class", "-4": "IPv4", "-6": "IPv6", "-R": "the other way", "--bidir": "both ways at once",
        "-O": "seconds left out", "-n": "an amount in place of a time", "-C": "the congestion control",
        "-t": "the duration", "-M": "the size of segments",
    }  # fmt: skip
    afterthought = 0.5
    generators = (
        Generator("iperf3"),
        Generator("iperf3", write_size=1 << 20),
        Generator("iperf3", window=4 << 20, write_size=1 << 20, zero_copy=True),
        Generator("iperf3", write_size=1 << 20, zero_copy=True),
    )

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

    def printed(self, exp: Experiment) -> int:
        return LINE * lines_a_second(exp)

    def accountable(self, exp: Experiment) -> bool:
        return True

    def label(self, exp: Experiment) -> tuple[str, ...]:
        return f"iperf3-{exp.protocol}", f"{exp.streams}s"

    def reading(self) -> Reading:
        from linkladder.tools.iperf3.output import Iperf3Output

        return Iperf3Output()
