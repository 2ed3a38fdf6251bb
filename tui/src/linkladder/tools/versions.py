"""Which versions there are, and who runs what with them."""

from __future__ import annotations

import re
from typing import Literal

from linkladder.model import Direction, End, Experiment, Protocol, Tool
from linkladder.tools.face import Layout, ToolVersions, Unavailable

OLDEST_IPERF = (2, 0, 13)
BOTH_WAYS = (2, 1)  # -R and --full-duplex came with it
OLDEST_NETPERF = (2, 7)
FREEBSD_PING_INTERVAL = 1.0  # what an ordinary user may do there

VERSION = {
    Tool.IPERF: re.compile(r"iperf version (\d{1,4})\.(\d{1,4})\.(\d{1,4})"),
    Tool.NETPERF: re.compile(r"[Nn]etperf [Vv]ersion (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?"),
    Tool.PING: re.compile(r"iputils[- ]?s?(\d{1,10})"),
}


def version_command(tool: Tool) -> tuple[str, ...]:
    return {Tool.IPERF: ("iperf", "-v"), Tool.NETPERF: ("netperf", "-V"), Tool.PING: ("ping", "-V")}[tool]


def versions_of(found: dict[str, str], system: str) -> ToolVersions:
    """What an end has, of what it said of each tool: '2.1.8'."""

    def numbers(tool: Tool) -> tuple[int, ...] | None:
        text = found.get(tool.value)
        return tuple(int(n) for n in text.split(".") if n.isdigit()) if text else None

    return ToolVersions(numbers(Tool.IPERF), numbers(Tool.NETPERF), Tool.PING.value in found, system)


def parse_version(tool: Tool, text: str) -> tuple[int, ...] | None:
    match = VERSION[tool].search(text)
    return tuple(int(n) for n in match.groups() if n is not None) if match else None


def layout(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.direction == Direction.BOTH:
        raise Unavailable("'both' is a word for plans; a trial goes one way or is full duplex")
    if exp.tool == Tool.PING:
        return _ping(exp, near, far)
    if exp.tool == Tool.NETPERF:
        return _netperf(exp, near, far)
    return _iperf(exp, near, far)


def _iperf(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.protocol not in (Protocol.TCP, Protocol.UDP):
        raise Unavailable(f"iperf measures tcp and udp, not {exp.protocol}")
    for end, versions in ((End.NEAR, near), (End.FAR, far)):
        if versions.iperf is None:
            raise Unavailable(f"iperf is not installed at the {end} end")
        if versions.iperf < OLDEST_IPERF:
            raise Unavailable(f"iperf {_dotted(versions.iperf)} at the {end} end is too old: 2.0.13 or newer is needed")
        if versions.iperf >= (3,):
            raise Unavailable(f"the {end} end has iperf {_dotted(versions.iperf)}: iperf 2 is needed")
    udp = exp.protocol == Protocol.UDP
    if udp and not exp.udp_rate_bps:
        raise Unavailable("UDP needs a rate: iperf would send its default of 1 Mb/s")
    port: Literal["tcp", "udp"] = "udp" if udp else "tcp"
    modern = min(near.iperf or (), far.iperf or ()) >= BOTH_WAYS
    if exp.direction == Direction.DUPLEX:
        if udp:
            raise Unavailable("full duplex is measured with TCP only")
        if not modern:
            old = near if (near.iperf or ()) < BOTH_WAYS else far
            raise Unavailable(f"full duplex needs iperf 2.1 at both ends; one has {_dotted(old.iperf or ())}")
        if exp.window is not None:
            raise Unavailable(
                "iperf sets a socket buffer only for the way from client to server, so that full duplex "
                "would have it one way and the system's own the other: ask for the default buffer"
            )
        return Layout(End.FAR, End.NEAR, protocol_port=port)
    if exp.direction == Direction.FORWARD:
        return Layout(End.FAR, End.NEAR, protocol_port=port)
    if modern and not udp and exp.window is None and not exp.dscp:
        return Layout(End.FAR, End.NEAR, reverse_flag=True, protocol_port=port)
    return Layout(End.NEAR, End.FAR, protocol_port=port)


def _netperf(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.protocol not in (Protocol.TCP, Protocol.RR):
        raise Unavailable(f"netperf is used for tcp and rr, not {exp.protocol}")
    for end, versions in ((End.NEAR, near), (End.FAR, far)):
        if versions.netperf is None:
            raise Unavailable(f"netperf is not installed at the {end} end")
        if versions.netperf < OLDEST_NETPERF:
            raise Unavailable(f"netperf {_dotted(versions.netperf)} at the {end} end is too old: 2.7 is needed")
    if exp.direction == Direction.DUPLEX:
        raise Unavailable("netperf measures one way at a time: use iperf for full duplex")
    forward = exp.direction == Direction.FORWARD
    if exp.protocol == Protocol.RR:
        client, server = (End.NEAR, End.FAR) if forward else (End.FAR, End.NEAR)
        return Layout(server, client, clients=max(1, exp.sessions), protocol_port="tcp")
    client, server = (End.FAR, End.NEAR) if forward else (End.NEAR, End.FAR)  # netperf at the receiver
    return Layout(server, client, clients=max(1, exp.streams), protocol_port="tcp")


def _ping(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.protocol not in (Protocol.ECHO, Protocol.DF):
        raise Unavailable(f"ping does echo and df, not {exp.protocol}")
    if exp.direction == Direction.DUPLEX:
        raise Unavailable("a ping goes there and back by itself: choose forward or reverse")
    client, versions = (End.NEAR, near) if exp.direction == Direction.FORWARD else (End.FAR, far)
    if not versions.ping:
        raise Unavailable(f"ping is not installed at the {client} end")
    freebsd = versions.os == "FreeBSD"
    if exp.protocol == Protocol.ECHO:
        return Layout(None, client, privileged=freebsd and exp.interval < FREEBSD_PING_INTERVAL)
    if not exp.sizes:
        raise Unavailable("no MTU to probe was named")
    return Layout(None, client, clients=len(exp.sizes), together=False, privileged=freebsd)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "none"
