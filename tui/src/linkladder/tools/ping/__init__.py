"""ping: measures round trips, and finds the path's MTU with packets that must not be fragmented (DF).

It has no server. A DF trial runs one ping for each MTU, one after the other. A Linux end remembers for ten minutes the
MTU that a router reported, and its DF probes report that one again.
"""

from __future__ import annotations

import re

from linkladder.model import Experiment, Protocol
from linkladder.tools.contract import Need, Reading, Tool
from linkladder.tools.ping import argv
from linkladder.tools.records import Layout, ToolVersions


class Ping(Tool):
    name = "ping"
    packages = {"FreeBSD": "", "Linux": "iputils-ping"}
    need = Need.ALL
    without = "nothing can be measured without it"
    version_argv = ("ping", "-V")
    version_of = re.compile(r"iputils[- ]?s?(\d{1,10})")
    harmless = (r"^ping: Warning: ",)  # on Linux, about clock steps and the like; the answers themselves are counted
    protocols = (Protocol.ECHO, Protocol.DF)
    keys = {Protocol.ECHO: frozenset({"count", "interval"}), Protocol.DF: frozenset({"sizes"})}
    loads = False

    def version(self, text: str) -> str:
        return super().version(text) or "present"

    def layout(self, exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
        return argv.layout(exp, near, far)

    def client_argv(
        self, exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int, index: int
    ) -> tuple[str, ...]:
        mtu = exp.sizes[index] if exp.protocol == Protocol.DF else None
        return argv.ping_argv(versions.os, local, remote, exp.count, exp.interval, mtu, exp.dscp)

    def seconds(self, exp: Experiment) -> float:
        return argv.seconds(exp)

    def soonest(self, exp: Experiment) -> float:
        return argv.seconds(exp, unanswered=0.0)

    def label(self, exp: Experiment) -> tuple[str, ...]:
        return ("path-mtu" if exp.protocol == Protocol.DF else "round-trip",)

    def reading(self) -> Reading:
        from linkladder.tools.ping.output import PingOutput

        return PingOutput()
