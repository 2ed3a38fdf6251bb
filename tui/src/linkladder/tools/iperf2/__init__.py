"""iperf 2, from 2.0.13 on.

In the forward direction the client is near and the server far. In reverse, TCP with 2.1 or newer at both ends, the
default socket buffer and no DSCP class uses -R from near. With a window the roles are swapped instead (client far,
server near), because iperf sets only the send buffer at its client and the receive buffer at its server, so -R would
not set the receiver's. UDP, a class and older versions swap the roles too. Duplex needs --full-duplex (2.1 at both
ends, TCP, the default buffer). A trial uses one port.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from linkladder.model import Experiment, Generator, Protocol
from linkladder.tools.contract import Need, Reading, Tool, lines_a_second
from linkladder.tools.iperf2 import argv
from linkladder.tools.records import Layout, ToolVersions

LINE = 160  # the most characters in a line
STREAMS = frozenset({"streams", "window", "write_size", "duration", "warmup", "ping_under_load", "client_port"})


class Iperf2(Tool):
    name = "iperf"
    aliases = ("iperf2",)
    packages = {"FreeBSD": "iperf", "Linux": "iperf"}
    oldest = argv.OLDEST
    need = Need.ALL
    without = "nothing can be measured without it"
    version_argv = ("iperf", "-v")
    version_of = re.compile(r"iperf version (\d{1,4})\.(\d{1,4})\.(\d{1,4})")
    peer_version = re.compile(r"\(peer (\d{1,4})\.(\d{1,4})\.")  # the third is kept by hand in its source
    harmless = (
        # printed by a server that is ended while a connection is still open; the engine ends it only after the clients
        r"^Waiting for server threads to complete",
        # all data has arrived; the connection was gone when the socket was shut after the last byte
        r"shutdown failed: (?:Transport endpoint|Socket) is not connected",
        # UDP: the server had closed when its client acknowledged the last report, which has arrived
        r"write[- ]?ackfin failed",
        # UDP: the last report got lost on its way back; only the receiver's own output is used
        r"WARNING: (?:did not receive ack|ack) of last datagram",
        # 2.1.8 prints it even if -B was given with a port, and uses the right ports
        r"WARN: option of --incr-srcport requires -B bind option",
        # FreeBSD, once for each UDP server: the kernel's arrival time did not fit, so iperf uses its own clock
        r"WARN: recvmsg MSG_CTRUNC",
    )
    protocols = (Protocol.TCP, Protocol.UDP)
    keys = {Protocol.TCP: STREAMS, Protocol.UDP: STREAMS | {"udp_rate", "udp_percent"}}
    telling: Mapping[str, str] = {
        "-P": "streams", "-u": "UDP", "-b": "the rate", "-l": "the size of writes", "-w": "the socket buffer",
        "-S": "the class", "-V": "IPv6", "--full-duplex": "both ways at once", "-n": "an amount in place of a time",
        "-Z": "the congestion control", "-t": "the duration", "-M": "the size of segments",
    }  # fmt: skip
    every_second = True
    server_tells = True
    afterthought = 0.5
    generators = (
        Generator("iperf"),
        Generator("iperf", write_size=1 << 20),
        Generator("iperf", write_size=1 << 20, window=4 << 20),
    )

    def layout(self, exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
        return argv.layout(exp, near, far)

    def server_argv(self, exp: Experiment, versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
        return argv.server(exp, bind, port)

    def client_argv(
        self, exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int
    ) -> tuple[str, ...]:
        return argv.client(exp, where, local, remote, port)

    def listens(self, exp: Experiment) -> Literal["tcp", "udp"]:
        return argv.listens(exp)

    def data_ports(self, exp: Experiment, port: int) -> tuple[int, ...]:
        return (port,) if exp.protocol == Protocol.TCP else ()

    def printed(self, exp: Experiment) -> int:
        return LINE * lines_a_second(exp)

    def accountable(self, exp: Experiment) -> bool:
        return True

    def label(self, exp: Experiment) -> tuple[str, ...]:
        return exp.protocol.value, f"{exp.streams}s"

    def reading(self) -> Reading:
        from linkladder.tools.iperf2.output import Iperf2Output

        return Iperf2Output()
