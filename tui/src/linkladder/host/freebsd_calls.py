"""Reads sysctls and interface counters by FreeBSD's C library, without starting a process."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from linkladder.model import SocketStat

AF_LINK = 18
IFF_UP, IFF_LOOPBACK = 0x1, 0x8
LINK_DATA = struct.Struct("6BHII15Q")  # struct if_data up to ifi_hwassist
CLOCKINFO = struct.Struct("5i")  # hz, tick, spare, stathz, profhz
TCPSTAT_RESENT = 20 * 8  # tcps_sndrexmitpack in struct tcpstat, of 64-bit counters (netinet/tcp_var.h)
UDPSTAT_FULL = 7 * 8  # udps_fullsock in struct udpstat (netinet/udp_var.h)
STATES = 5  # user, nice, system, interrupt, idle
LIST = 64  # bytes of struct xinpgen, before and after the connections (netinet/in_pcb.h)
CONNECTION = 744  # of struct xtcpcb, which keeps its form by spare fields (netinet/tcp_var.h)
ENDS = struct.Struct(">2H16s16s")  # of struct in_endpoints: ports and addresses, the remote ones first
WINDOWS = struct.Struct("<3I")  # t_snd_cwnd, t_snd_ssthresh, t_maxseg
ENDS_AT, VERSION_AT, STACK_AT, CONGESTION_AT, STATE_AT, WINDOWS_AT = 260, 400, 408, 504, 568, 616
IPV6 = 2
TCP_STATES = ("CLOSED", "LISTEN", "SYN_SENT", "SYN_RCVD", "ESTABLISHED", "CLOSE_WAIT", "FIN_WAIT_1", "CLOSING",
              "LAST_ACK", "FIN_WAIT_2", "TIME_WAIT")  # fmt: skip


class _SockAddr(ctypes.Structure):
    _fields_ = [("sa_len", ctypes.c_uint8), ("sa_family", ctypes.c_uint8)]


class _IfAddrs(ctypes.Structure):
    pass


_IfAddrs._fields_ = [
    ("ifa_next", ctypes.POINTER(_IfAddrs)),
    ("ifa_name", ctypes.c_char_p),
    ("ifa_flags", ctypes.c_uint),
    ("ifa_addr", ctypes.POINTER(_SockAddr)),
    ("ifa_netmask", ctypes.c_void_p),
    ("ifa_dstaddr", ctypes.c_void_p),
    ("ifa_data", ctypes.c_void_p),
]


@dataclass(frozen=True)
class Link:
    """The kernel's counters of one interface."""

    name: str
    flags: int
    mtu: int
    baudrate: int
    rx_packets: int
    rx_errors: int
    tx_packets: int
    tx_errors: int
    rx_bytes: int
    tx_bytes: int
    rx_drops: int
    tx_drops: int


class Calls:
    """The few calls of the C library that are needed; it is loaded once."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def raw(self, name: str) -> bytes | None:
        """A sysctl's bytes; None if there is no such sysctl."""
        for _ in range(4):  # the value may grow between reading its size and reading it
            size = ctypes.c_size_t(0)
            if self._libc.sysctlbyname(name.encode(), None, ctypes.byref(size), None, ctypes.c_size_t(0)):
                return None
            buffer = ctypes.create_string_buffer(max(1, size.value))
            if not self._libc.sysctlbyname(name.encode(), buffer, ctypes.byref(size), None, ctypes.c_size_t(0)):
                return buffer.raw[: size.value]
            if ctypes.get_errno() != errno.ENOMEM:
                return None
        return None

    def text(self, name: str) -> str:
        value = self.raw(name)
        return value.split(b"\0", 1)[0].decode("utf-8", "replace") if value else ""

    def number(self, name: str) -> int | None:
        value = self.raw(name)
        return int.from_bytes(value, "little") if value and len(value) in (4, 8) else None

    def retransmits(self) -> int | None:
        """TCP segments retransmitted since boot."""
        return self._counter("net.inet.tcp.stats", TCPSTAT_RESENT)

    def udp_dropped(self) -> int | None:
        """Datagrams of both IP versions that were dropped because their socket was full, since boot."""
        return self._counter("net.inet.udp.stats", UDPSTAT_FULL)

    def windows(self, ports: range) -> tuple[SocketStat, ...] | None:
        """The windows of the TCP connections over these ports; None where the kernel lists them in another form."""
        return windows(self.raw("net.inet.tcp.pcblist") or b"", ports)

    def _counter(self, name: str, at: int) -> int | None:
        raw = self.raw(name) or b""
        return int.from_bytes(raw[at : at + 8], "little") if len(raw) >= at + 8 else None

    def core_ticks(self) -> tuple[list[tuple[int, ...]], int]:
        """Each core's ticks by state, and ticks per second."""
        raw, clock = self.raw("kern.cp_times") or b"", self.raw("kern.clockrate")
        hertz = 128
        if clock and len(clock) >= CLOCKINFO.size:
            hz, _, _, stathz, _ = CLOCKINFO.unpack_from(clock)
            hertz = stathz or hz or hertz
        count = self.number("hw.ncpu") or os.cpu_count() or 1
        longs = struct.unpack(f"<{len(raw) // 8}q", raw[: len(raw) // 8 * 8])
        cores = [tuple(longs[i : i + STATES]) for i in range(0, len(longs) - STATES + 1, STATES)]
        return cores[:count], hertz  # the kernel's table has room for more cores than exist

    def links(self) -> Iterator[Link]:
        """Yield every interface with its counters, read by getifaddrs."""
        first = ctypes.POINTER(_IfAddrs)()
        if self._libc.getifaddrs(ctypes.byref(first)):
            return
        try:
            entry = first
            while entry:
                one = entry.contents
                if one.ifa_addr and one.ifa_data and one.ifa_addr.contents.sa_family == AF_LINK:
                    yield link(one.ifa_name.decode(), one.ifa_flags, ctypes.string_at(one.ifa_data, LINK_DATA.size))
                entry = one.ifa_next
        finally:
            self._libc.freeifaddrs(first)


def link(name: str, flags: int, data: bytes) -> Link:
    """The link that a struct if_data describes."""
    v = LINK_DATA.unpack_from(data)
    mtu, _metric, baudrate = v[7:10]
    ipackets, ierrors, opackets, oerrors, _collisions, ibytes, obytes, _im, _om, iqdrops, oqdrops = v[10:21]
    return Link(name, flags, mtu, baudrate, ipackets, ierrors, opackets, oerrors, ibytes, obytes, iqdrops, oqdrops)


def windows(raw: bytes, ports: range) -> tuple[SocketStat, ...] | None:
    """What net.inet.tcp.pcblist tells of the connections over these ports; None if it has another form."""
    found = []
    if (at := int.from_bytes(raw[:8], "little")) != LIST:
        return None
    while (length := int.from_bytes(raw[at : at + 8], "little")) != LIST:
        one = raw[at : at + CONNECTION]
        if length != CONNECTION or len(one) < CONNECTION:
            return None
        remote_port, local_port, remote, local = ENDS.unpack_from(one, ENDS_AT)
        if remote_port and (local_port in ports or remote_port in ports):  # one that listens has no other end
            v6, state = one[VERSION_AT] & IPV6, int.from_bytes(one[STATE_AT : STATE_AT + 4], "little")
            cwnd, ssthresh, mss = WINDOWS.unpack_from(one, WINDOWS_AT)
            found.append(
                SocketStat(
                    _address(local, v6),
                    local_port,
                    _address(remote, v6),
                    remote_port,
                    state=TCP_STATES[state] if state < len(TCP_STATES) else "",
                    cwnd_bytes=cwnd,
                    ssthresh_bytes=ssthresh,
                    mss=mss,
                    congestion=_name(one, CONGESTION_AT, 16),
                    stack=_name(one, STACK_AT, 32),
                )
            )
        at += length
    return tuple(found)


def _address(raw: bytes, v6: int) -> str:
    """An IPv4 address is in the last of the 16 bytes."""
    return socket.inet_ntop(socket.AF_INET6, raw) if v6 else socket.inet_ntop(socket.AF_INET, raw[12:])


def _name(raw: bytes, at: int, size: int) -> str:
    return raw[at : at + size].split(b"\0", 1)[0].decode("ascii", "replace")
