"""What the host tells beyond the shared vocabulary, and the face that each operating system fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from linkladder.model import CoreTimes, HostFacts, NicCounters, TcpCounters


@dataclass(frozen=True)
class SocketStat:
    """One TCP connection; None where the system does not tell."""

    local: str
    local_port: int
    remote: str
    remote_port: int
    state: str = ""  # LISTEN, ESTABLISHED ... as the system writes it, in capitals
    retransmits: int | None = None
    out_of_order: int | None = None
    zero_window: int | None = None  # windows of zero that this end announced
    rtt_ms: float | None = None
    cwnd_bytes: int | None = None
    mss: int | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None
    send_buffer: int | None = None  # its present ceiling
    receive_buffer: int | None = None
    congestion: str = ""


class Backend(Protocol):
    """What linux.py and freebsd.py each offer; the package's functions say what they mean."""

    name: str

    def facts(self) -> HostFacts: ...
    def core_times(self) -> tuple[CoreTimes, ...]: ...
    def starvation(self) -> float | None: ...
    def memory(self) -> tuple[int, int]: ...
    def nic_counters(self, detail: bool) -> dict[str, NicCounters]: ...
    def tcp_counters(self) -> TcpCounters: ...
    def retransmits(self) -> int | None: ...  # cheap enough for every second
    def sockets(self, port: int) -> tuple[SocketStat, ...]: ...
    def listening(self, port: int, udp: bool, address: str) -> bool: ...
    def interface_of(self, address: str) -> str: ...
    def route(self, remote: str, local: str) -> tuple[str, str]: ...  # interface, gateway ('' when direct)
    def same_subnet(self, local: str, remote: str) -> bool: ...
    def arp_direct(self, remote: str) -> bool | None: ...
    def setting(self, kind: str, target: str) -> str | None: ...
    def boot_id(self) -> str: ...
