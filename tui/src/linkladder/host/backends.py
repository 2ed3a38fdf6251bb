"""What each operating system's module must offer, and which one this machine needs."""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import cache
from typing import Protocol

from linkladder.errors import EnvironmentFault
from linkladder.model import Bundle, CoreTimes, HostFacts, NicCounters, QueueCounters, SocketStat, TcpCounters


class Backend(Protocol):
    """What linux.py and freebsd.py each offer; the package's functions explain the methods."""

    name: str
    sockets_source: str

    def facts(self) -> HostFacts: ...
    def core_times(self) -> tuple[CoreTimes, ...]: ...
    def starvation(self) -> float | None: ...
    def memory(self) -> tuple[int, int]: ...
    def nic_counters(self, detail: bool, names: Collection[str] | None = None) -> dict[str, NicCounters]: ...
    def queues(self, name: str) -> tuple[tuple[QueueCounters, ...], tuple[QueueCounters, ...]]: ...
    def tcp_counters(self) -> TcpCounters: ...
    def udp_dropped(self) -> int | None: ...
    def retransmits(self) -> int | None: ...  # cheap enough for every second
    def sockets(self, first: int, last: int) -> tuple[SocketStat, ...]: ...
    def connections(self, ports: Collection[int]) -> tuple[SocketStat, ...] | None: ...  # None: by a program alone
    def listening(self, port: int, udp: bool, address: str) -> bool: ...
    def interface_of(self, address: str) -> str: ...
    def route(self, remote: str, local: str) -> tuple[str, str]: ...  # interface, gateway ('' when direct)
    def bundle(self, name: str) -> Bundle | None: ...
    def below(self, name: str) -> frozenset[str]: ...
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


def hops_from_ttl(ttl: int) -> int | None:
    """How many routers a reply crossed, from its remaining TTL; senders start at 64, 128 or 255."""
    if not 0 < ttl <= 255:
        return None
    return next(start for start in (64, 128, 255) if ttl <= start) - ttl
