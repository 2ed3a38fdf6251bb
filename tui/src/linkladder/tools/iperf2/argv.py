"""Decides which end runs iperf as what, and builds its exact commands."""

from __future__ import annotations

from typing import Literal

from linkladder.model import Direction, End, Experiment, Protocol
from linkladder.tools.address_family import family, number
from linkladder.tools.contract import UDP_PAYLOAD
from linkladder.tools.records import Layout, ToolVersions, Unavailable

OLDEST = (2, 0, 13)
BOTH_WAYS = (2, 1)  # -R and --full-duplex came with it


def layout(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.protocol not in (Protocol.TCP, Protocol.UDP):
        raise Unavailable(f"iperf measures tcp and udp, not {exp.protocol}")
    have = {End.NEAR: near.of("iperf"), End.FAR: far.of("iperf")}
    for end, version in have.items():
        if version is None:
            raise Unavailable(f"iperf is not installed at the {end} end")
        if version < OLDEST:
            raise Unavailable(f"iperf {_dotted(version)} at the {end} end is too old: 2.0.13 or newer is needed")
        if version >= (3,):
            raise Unavailable(f"the {end} end has iperf {_dotted(version)}: iperf 2 is needed")
    udp = exp.protocol == Protocol.UDP
    if udp and not exp.udp_rate_bps:
        raise Unavailable("UDP needs a rate: iperf would send its default of 1 Mb/s")
    port = listens(exp)
    older = min(version or () for version in have.values())
    modern = older >= BOTH_WAYS
    if exp.client_port is not None and not modern:
        raise Unavailable(f"ports of the client's choice need iperf 2.1 at both ends; one has {_dotted(older)}")
    if exp.direction == Direction.DUPLEX:
        if udp:
            raise Unavailable("full duplex is measured with TCP only")
        if not modern:
            raise Unavailable(f"full duplex needs iperf 2.1 at both ends; one has {_dotted(older)}")
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


def listens(exp: Experiment) -> Literal["tcp", "udp"]:
    return "udp" if exp.protocol == Protocol.UDP else "tcp"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "none"


def server(exp: Experiment, bind: str, port: int) -> tuple[str, ...]:
    return ("iperf", "-s", "-B", bind, "-p", str(port), "-e", "-i", "1", "-f", "b", *_both_ends(exp, bind))


def client(exp: Experiment, where: Layout, local: str, remote: str, port: int) -> tuple[str, ...]:
    argv = ["iperf", "-c", remote, "-B", _from(exp, local), "-p", str(port), "-e", "-i", "1", "-f", "b"]
    argv += ["-t", number(exp.warmup + exp.duration), "-P", str(exp.streams), *_both_ends(exp, local)]
    if exp.protocol == Protocol.UDP:
        argv += ["-b", str(stream_rate(exp))]
    if exp.direction == Direction.DUPLEX:
        argv.append("--full-duplex")
    if exp.client_port is not None and exp.streams > 1:
        argv.append("--incr-srcport")
    if where.reverse_flag:
        argv.append("-R")
    return tuple(argv)


def _from(exp: Experiment, local: str) -> str:
    if exp.client_port is None:
        return local
    return f"[{local}]:{exp.client_port}" if family(local) == 6 else f"{local}:{exp.client_port}"


def _both_ends(exp: Experiment, address: str) -> list[str]:
    """The options that both ends need: iperf's -w, -l, -S and -V hold only for the end where they are given."""
    argv = ["-V"] if family(address) == 6 else []
    if exp.protocol == Protocol.UDP:
        argv += ["-u", "-l", str(exp.write_size or UDP_PAYLOAD[family(address)])]
    elif exp.write_size is not None:
        argv += ["-l", str(exp.write_size)]
    if exp.window is not None:
        argv += ["-w", str(exp.window)]
    if exp.dscp:
        argv += ["-S", str(exp.dscp << 2)]
    return argv


def stream_rate(exp: Experiment) -> int:
    """The rate in bits per second for each stream, as iperf's -b is per stream."""
    return max(1, round((exp.udp_rate_bps or 0.0) / max(1, exp.streams)))
