"""Decides which end pings, and builds the exact commands for both operating systems."""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment, Protocol
from linkladder.tools.address_family import family, number
from linkladder.tools.records import Layout, ToolVersions, Unavailable

ICMP_OVERHEAD = {4: 28, 6: 48}  # IP and ICMP headers
PROBE_COUNT = 3
PROBE_INTERVAL = 0.2
PROBE_WAIT = 1.0  # seconds for the last answer of a probe
ECHO_WAIT = 2.0
FREEBSD_INTERVAL = 1.0  # the shortest interval in seconds that FreeBSD allows an ordinary user


def layout(exp: Experiment, near: ToolVersions, far: ToolVersions) -> Layout:
    if exp.protocol not in (Protocol.ECHO, Protocol.DF):
        raise Unavailable(f"ping does echo and df, not {exp.protocol}")
    if exp.direction == Direction.DUPLEX:
        raise Unavailable("a ping goes there and back by itself: choose forward or reverse")
    client, versions = (End.NEAR, near) if exp.direction == Direction.FORWARD else (End.FAR, far)
    if versions.of("ping") is None:
        raise Unavailable(f"ping is not installed at the {client} end")
    freebsd = versions.os == "FreeBSD"
    if exp.protocol == Protocol.ECHO:
        return Layout(None, client, privileged=freebsd and exp.interval < FREEBSD_INTERVAL)
    if not exp.sizes:
        raise Unavailable("no MTU to probe was named")
    return Layout(None, client, clients=len(exp.sizes), together=False, privileged=freebsd)


def ping_argv(
    os: str, local: str, remote: str, count: int, interval: float, mtu: int | None = None, dscp: int = 0
) -> tuple[str, ...]:
    """The ping command. FreeBSD takes -W in milliseconds, -D and -S; Linux takes -W in seconds, -M do and -I.

    Without a `local` address the system chooses the source address.
    """
    ip = family(remote)
    freebsd = os == "FreeBSD"
    wait = ECHO_WAIT
    if mtu is not None:
        count, interval, wait = PROBE_COUNT, PROBE_INTERVAL, PROBE_WAIT
    argv = ["ping", f"-{ip}", "-n", "-c", str(count), "-i", number(interval)]
    argv += ["-W", number(wait * 1000) if freebsd else number(wait)]
    argv += ["-S" if freebsd else "-I", local] if local else []
    if dscp:
        argv += ["-z" if freebsd else "-Q", str(dscp << 2)]
    if mtu is not None:
        argv += [*(["-D"] if freebsd else ["-M", "do"]), "-s", str(max(0, mtu - ICMP_OVERHEAD[ip]))]
    return (*argv, remote)


def seconds(exp: Experiment, unanswered: float = 0.5) -> float:
    """How long a ping runs, if this share of the sizes that are probed gets no answer."""
    if exp.protocol == Protocol.DF:
        return len(exp.sizes) * ((PROBE_COUNT - 1) * PROBE_INTERVAL + PROBE_WAIT * unanswered)
    return max(0, exp.count - 1) * exp.interval


def default_mtus(contract_mtu: int) -> tuple[int, ...]:
    below = (576, 1280, 1400, 1450, 1476, 1492, 1500, 4470, 8950, 9000)
    return tuple(
        sorted({m for m in (*below, contract_mtu - 50, contract_mtu - 8) if 576 <= m < contract_mtu} | {contract_mtu})
    )
