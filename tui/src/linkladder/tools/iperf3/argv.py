"""Decides which end runs iperf3 as what, and builds its exact commands."""

from __future__ import annotations

import math

from linkladder.model import Direction, End, Experiment, Protocol
from linkladder.tools.address_family import family
from linkladder.tools.contract import UDP_PAYLOAD
from linkladder.tools.records import Layout, ToolVersions, Unavailable

OLDEST = (3, 12)
STREAMING = (3, 17)  # --json-stream came with it


def layout(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.protocol not in (Protocol.TCP, Protocol.UDP):
        raise Unavailable(f"iperf3 measures tcp and udp, not {exp.protocol}")
    for end, versions in ((End.NEAR, near), (End.FAR, far)):
        version = versions.of("iperf3")
        if version is None:
            raise Unavailable(f"iperf3 is not installed at the {end} end")
        if version < OLDEST:
            raise Unavailable(f"iperf3 {'.'.join(map(str, version))} at the {end} end is too old: 3.12 is needed")
    if exp.protocol == Protocol.UDP and not exp.udp_rate_bps:
        raise Unavailable("UDP needs a rate: iperf3 would send its default of 1 Mb/s")
    # The control connection is TCP, so the port must be open for TCP; datagrams use the same port number.
    return Layout(End.FAR, End.NEAR, reverse_flag=exp.direction == Direction.REVERSE, protocol_port="tcp")


def server(versions: ToolVersions, bind: str, port: int) -> tuple[str, ...]:
    """The server's command; all other settings come from the client."""
    return ("iperf3", "-s", f"-{family(bind)}", "-B", bind, "-p", str(port), "-i", "1", _json(versions))


def client(
    exp: Experiment, versions: ToolVersions, where: Layout, local: str, remote: str, port: int
) -> tuple[str, ...]:
    ip = family(local)
    argv = ["iperf3", "-c", remote, f"-{ip}", "-B", local, "-p", str(port), "-i", "1", _json(versions)]
    argv += ["-t", str(math.ceil(exp.warmup + exp.duration)), "-P", str(exp.streams)]
    if exp.protocol == Protocol.UDP:
        rate = max(1, round((exp.udp_rate_bps or 0.0) / max(1, exp.streams)))  # -b is per stream
        argv += ["-u", "-l", str(exp.write_size or UDP_PAYLOAD[ip]), "-b", str(rate)]
    elif exp.write_size is not None:
        argv += ["-l", str(exp.write_size)]
    if exp.zero_copy:
        argv.append("-Z")
    if exp.window is not None:
        argv += ["-w", str(exp.window)]
    if exp.dscp:
        argv += ["-S", str(exp.dscp << 2)]
    if exp.client_port is not None:
        argv += ["--cport", str(exp.client_port)]
    if exp.direction == Direction.DUPLEX:
        argv.append("--bidir")
    if where.reverse_flag:
        argv.append("-R")
    return tuple(argv)


def _json(versions: ToolVersions) -> str:
    return "--json-stream" if (versions.of("iperf3") or ()) >= STREAMING else "-J"
