"""What each operating system's module must offer, which one this machine needs, and which cores are counted."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Protocol

from linkladder.errors import EnvironmentFault
from linkladder.model import Affinity, Bundle, CoreTimes, HostFacts, NicCounters, SocketStat, TcpCounters

CORES = "LINKLADDER_CORES"


class Backend(Protocol):
    """What linux.py and freebsd.py each offer; the package's functions explain the methods."""

    name: str
    sockets_source: str

    def facts(self) -> HostFacts: ...
    def core_times(self) -> tuple[CoreTimes, ...]: ...
    def starvation(self) -> float | None: ...
    def memory(self) -> tuple[int, int]: ...
    def nic_counters(self, detail: bool) -> dict[str, NicCounters]: ...
    def tcp_counters(self) -> TcpCounters: ...
    def udp_dropped(self) -> int | None: ...
    def retransmits(self) -> int | None: ...  # cheap enough for every second
    def sockets(self, first: int, last: int) -> tuple[SocketStat, ...]: ...
    def windows(self, first: int, last: int) -> tuple[SocketStat, ...]: ...
    def listening(self, port: int, udp: bool, address: str) -> bool: ...
    def interface_of(self, address: str) -> str: ...
    def route(self, remote: str, local: str) -> tuple[str, str]: ...  # interface, gateway ('' when direct)
    def bundle(self, name: str) -> Bundle | None: ...
    def same_subnet(self, local: str, remote: str) -> bool: ...
    def arp_direct(self, remote: str) -> bool | None: ...
    def setting(self, kind: str, target: str) -> str | None: ...
    def boot_id(self) -> str: ...


@cache
def backend() -> Backend:
    """The backend for this machine, imported here so that the other one is not loaded."""
    if sys.platform.startswith("linux"):
        from linkladder.host.linux import Linux

        return Linux()
    if sys.platform.startswith("freebsd"):
        from linkladder.host.freebsd import FreeBSD

        return FreeBSD()
    raise EnvironmentFault(f"linkladder does not run on {sys.platform}", "it knows Linux and FreeBSD only")


def own_cores(total: int) -> tuple[int, ...]:
    """The cores to count: those named in LINKLADDER_CORES that the machine has, or all without it."""
    text = os.environ.get(CORES, "").strip()
    if not text:
        return tuple(range(total))
    try:
        named = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise EnvironmentFault(f"{CORES}={text[:40]!r} names no cores", "", "write it as 0 or 0,1") from None
    kept = tuple(core for core in named if 0 <= core < total)
    if not kept:
        raise EnvironmentFault(f"{CORES}={text[:40]!r} names no core of this machine", f"it has cores 0 to {total - 1}")
    return kept


def confined(cores: int) -> tuple[str, ...]:
    """The prefix for a command that may use only this many cores; raises ValueError if this end has fewer."""
    mine = own_cores(os.cpu_count() or 1)
    if cores > len(mine):
        raise ValueError(f"{cores} cores were asked for, and this end has {len(mine)}")
    return _on(mine[:cores])


def ours(cores: tuple[int, ...]) -> tuple[int, ...]:
    """Those of these cores that are counted, as LINKLADDER_CORES may name only some."""
    return tuple(core for core in own_cores(os.cpu_count() or 1) if core in cores)


def pinned(affinity: Affinity, queue_cores: tuple[int, ...]) -> tuple[str, ...]:
    """The prefix for a command that must run on the queues' cores or on other cores; ValueError if none is left."""
    if affinity is Affinity.FREE:
        return ()
    mine = own_cores(os.cpu_count() or 1)
    which = tuple(core for core in mine if (core in queue_cores) == (affinity is Affinity.BESIDE))
    if not queue_cores or not which:
        raise ValueError(f"no core of this end lies {affinity} the adapter's queues")
    return _on(which)


def _on(cores: tuple[int, ...]) -> tuple[str, ...]:
    which = ",".join(map(str, cores))
    return ("cpuset", "-l", which) if sys.platform.startswith("freebsd") else ("taskset", "-c", which)


def hops_from_ttl(ttl: int) -> int | None:
    """How many routers a reply crossed, from its remaining TTL; senders start at 64, 128 or 255."""
    if not 0 < ttl <= 255:
        return None
    return next(start for start in (64, 128, 255) if ttl <= start) - ttl
