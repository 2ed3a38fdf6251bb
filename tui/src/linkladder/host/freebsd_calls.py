"""Reads sysctls and interface counters by FreeBSD's C library, without starting a process."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property, partial

from linkladder.model import SocketStat

INTERFACES = (ctypes.c_int * 6)(4, 17, 0, 18, 5, 0)  # CTL_NET, PF_ROUTE, 0, AF_LINK, NET_RT_IFLISTL, all
MESSAGE = struct.Struct("<HBBiiHHHH")  # struct if_msghdrl up to ifm_data_off (net/if.h)
RTM_IFINFO = 14
NAME_AT = 8  # of struct sockaddr_dl, whose byte 5 is the name's length (net/if_dl.h)
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
COUNTS = struct.Struct("<i4x3i")  # t_state, t_sndzerowin, t_sndrexmitpack, t_rcvoopack
RECEIVE_BUFFER_AT, SEND_BUFFER_AT = 188, 224  # sb_hiwat of so_rcv and so_snd
ENDS_AT, VERSION_AT, STACK_AT, CONGESTION_AT, COUNTS_AT, WINDOWS_AT = 260, 400, 408, 504, 568, 616
IPV6 = 2
TCP_STATES = ("CLOSED", "LISTEN", "SYN_SENT", "SYN_RCVD", "ESTABLISHED", "CLOSE_WAIT", "FIN_WAIT_1", "CLOSING",
              "LAST_ACK", "FIN_WAIT_2", "TIME_WAIT")  # fmt: skip


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
        self._sizes: dict[str, int] = {}  # of what was read before, which is then read without asking for its size

    def raw(self, name: str) -> bytes | None:
        """A sysctl's bytes; None if there is no such sysctl."""
        return self._read(name, partial(self._libc.sysctlbyname, name.encode()))

    def _read(self, name: str, call: Callable[..., int]) -> bytes | None:
        for _ in range(4):  # the value may have grown
            size = ctypes.c_size_t(self._sizes.get(name, 0))
            if not size.value:
                if call(None, ctypes.byref(size), None, ctypes.c_size_t(0)):
                    return None
                size.value = self._sizes[name] = max(1, size.value)
            buffer = ctypes.create_string_buffer(size.value)
            if not call(buffer, ctypes.byref(size), None, ctypes.c_size_t(0)):
                return ctypes.string_at(buffer, size.value)
            if ctypes.get_errno() != errno.ENOMEM:
                return None
            self._sizes.pop(name, None)  # threads read at the same time
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

    def connections(self, ports: Collection[int]) -> tuple[SocketStat, ...] | None:
        """The TCP connections over these ports; None where the kernel lists them in another form."""
        return connections(self.raw("net.inet.tcp.pcblist") or b"", ports)

    def _counter(self, name: str, at: int) -> int | None:
        raw = self.raw(name) or b""
        return int.from_bytes(raw[at : at + 8], "little") if len(raw) >= at + 8 else None

    def core_ticks(self) -> tuple[list[tuple[int, ...]], int]:
        """Each core's ticks by state, and ticks per second."""
        raw = self.raw("kern.cp_times") or b""
        longs = struct.unpack(f"<{len(raw) // 8}q", raw[: len(raw) // 8 * 8])
        cores = [tuple(longs[i : i + STATES]) for i in range(0, len(longs) - STATES + 1, STATES)]
        return cores[: self._cores], self._hertz  # the kernel's table has room for more cores than exist

    @cached_property
    def _cores(self) -> int:
        return self.number("hw.ncpu") or os.cpu_count() or 1

    @cached_property
    def _hertz(self) -> int:
        clock = self.raw("kern.clockrate") or b""
        if len(clock) < CLOCKINFO.size:
            return 128
        hz, _, _, stathz, _ = CLOCKINFO.unpack_from(clock)
        return stathz or hz or 128

    def links(self, names: Collection[str] | None = None) -> list[Link]:
        """Every interface, or those of these names, with its counters."""
        call = partial(self._libc.sysctl, INTERFACES, ctypes.c_uint(len(INTERFACES)))
        return links(self._read("the interfaces", call) or b"", names)


def links(raw: bytes, names: Collection[str] | None = None) -> list[Link]:
    """What the kernel's list of interfaces tells of each, or of those of these names."""
    found, at = [], 0
    while at + MESSAGE.size <= len(raw):
        length, _, kind, _, flags, _, _, head, data_at = MESSAGE.unpack_from(raw, at)
        one = raw[at : at + length]
        if length < MESSAGE.size or len(one) < length:
            break
        if kind == RTM_IFINFO and data_at + LINK_DATA.size <= length and head + NAME_AT <= length:
            name = one[head + NAME_AT : head + NAME_AT + one[head + 5]].decode("ascii", "replace")
            if names is None or name in names:
                found.append(link(name, flags, one[data_at:]))
        at += length
    return found


def link(name: str, flags: int, data: bytes) -> Link:
    """The link that a struct if_data describes."""
    v = LINK_DATA.unpack_from(data)
    mtu, _metric, baudrate = v[7:10]
    ipackets, ierrors, opackets, oerrors, _collisions, ibytes, obytes, _im, _om, iqdrops, oqdrops = v[10:21]
    return Link(name, flags, mtu, baudrate, ipackets, ierrors, opackets, oerrors, ibytes, obytes, iqdrops, oqdrops)


def connections(raw: bytes, ports: Collection[int]) -> tuple[SocketStat, ...] | None:
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
            v6 = one[VERSION_AT] & IPV6
            state, stalls, resent, disordered = COUNTS.unpack_from(one, COUNTS_AT)
            cwnd, ssthresh, mss = WINDOWS.unpack_from(one, WINDOWS_AT)
            found.append(
                SocketStat(
                    _address(local, v6),
                    local_port,
                    _address(remote, v6),
                    remote_port,
                    state=TCP_STATES[state] if 0 <= state < len(TCP_STATES) else "",
                    retransmits=resent,
                    out_of_order=disordered,
                    zero_window=stalls,
                    send_buffer=_whole(one, SEND_BUFFER_AT),
                    receive_buffer=_whole(one, RECEIVE_BUFFER_AT),
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


def _whole(raw: bytes, at: int) -> int:
    return int.from_bytes(raw[at : at + 4], "little")


def _name(raw: bytes, at: int, size: int) -> str:
    return raw[at : at + size].split(b"\0", 1)[0].decode("ascii", "replace")
