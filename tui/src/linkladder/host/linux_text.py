"""Pure functions that read what Linux prints and has in /proc."""

from __future__ import annotations

import ipaddress
import re
import struct
import sys
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from linkladder.host.addresses import Address
from linkladder.model import CoreTimes, NicCounters, SocketStat, TcpCounters

TCP_LISTEN, UDP_UNCONNECTED = "0A", "07"
PAUSE_RX = re.compile(
    r"^(port\.)?(rx_pause|rx_pause_ctrl_phy|rx_flow_control_xo(n|ff)|link_xo(n|ff)_rx|rx_xo(n|ff)(_frames)?)$"
)
PAUSE_TX = re.compile(
    r"^(port\.)?(tx_pause|tx_pause_ctrl_phy|tx_flow_control_xo(n|ff)|link_xo(n|ff)_tx|tx_xo(n|ff)(_frames)?)$"
)
CRC = re.compile(r"^(port\.)?(rx_)?(crc_errors?|crc_errors_phy|fcs_errors|csum_error_phy)(_nic)?$")
_PAIR = re.compile(r"([a-z_]+):(\S+)")


def core_times(stat: str, ticks: float) -> list[tuple[CoreTimes, float]]:
    """Each core's times and the seconds stolen from it; the four times do not include stolen time."""
    found = []
    for line in stat.splitlines():
        words = line.split()
        if words and re.fullmatch(r"cpu\d+", words[0]):
            n = [int(w) / ticks for w in words[1:]] + [0.0] * 8
            found.append((CoreTimes(n[0] + n[1], n[2], n[5] + n[6], n[3] + n[4]), n[7]))
    return found


def cgroups(own: str) -> list[tuple[str, int]]:
    """(path, version) of each group that may hold a CPU quota on this process."""
    found = []
    for line in own.splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0":
            found.append((path, 2))
        elif "cpu" in controllers.split(","):
            found.append((path, 1))
    return found


def throttled(stat: str) -> float:
    """Seconds that a control group's quota withheld."""
    for key, scale in (("throttled_usec", 1e-6), ("throttled_time", 1e-9)):
        if match := re.search(rf"^{key} (\d+)$", stat, re.MULTILINE):
            return int(match[1]) * scale
    return 0.0


def memory(meminfo: str) -> tuple[int, int]:
    values = {
        m[1]: int(m[2]) * 1024 for m in re.finditer(r"^(MemTotal|MemAvailable):\s+(\d+) kB", meminfo, re.MULTILINE)
    }
    total = values.get("MemTotal", 0)
    return total, total - values.get("MemAvailable", total)


def nic_counters(dev: str, names: Collection[str] | None = None) -> dict[str, NicCounters]:
    """Read /proc/net/dev, of all or of these names; its drop column includes what a full ring dropped."""
    found = {}
    for line in dev.splitlines()[2:]:
        name, _, rest = line.strip().rpartition(":")
        if names is not None and name not in names:
            continue
        n = [int(word) for word in rest.split() if word.isdecimal()]
        if name and len(n) >= 12:
            found[name] = NicCounters(name, n[0], n[8], n[1], n[9], n[2], n[10], n[3], n[11])
    return found


def with_driver(counters: NicCounters, own: dict[str, int]) -> NicCounters:
    """The counters with the driver's CRC errors and pause frames, whose names differ between drivers."""
    return replace(counters, crc_errors=_sum(own, CRC), rx_pause=_sum(own, PAUSE_RX), tx_pause=_sum(own, PAUSE_TX))


def _sum(own: dict[str, int], names: re.Pattern[str]) -> int | None:
    found = [value for name, value in own.items() if names.match(name)]
    return sum(found) if found else None


def tcp_counters(snmp: str, netstat: str) -> TcpCounters:
    tcp, ext = _table(snmp, "Tcp"), _table(netstat, "TcpExt")
    return TcpCounters(
        segments_sent=tcp.get("OutSegs"),
        retransmits=tcp.get("RetransSegs"),
        out_of_order=ext.get("TCPOFOQueue"),
        zero_window_sent=ext.get("TCPToZeroWindowAdv"),
        zero_window_probes=ext.get("TCPWinProbe"),
        came_twice=_of(ext, "TCPDSACKOldSent", "TCPDSACKOfoSent"),
        reorderings=_of(ext, "TCPSACKReorder", "TCPTSReorder", "TCPRenoReorder"),
        # Segments if the kernel counts them, as one DSACK may report many.
        dsacks=ext.get("TCPDSACKRecvSegs", ext.get("TCPDSACKRecv")),
    )


def _of(table: dict[str, int], *names: str) -> int | None:
    """The sum of those counters that the kernel has; None if it has none of them."""
    found = [table[name] for name in names if name in table]
    return sum(found) if found else None


def udp_dropped(snmp: str, snmp6: str) -> int | None:
    """Datagrams of both IP versions that were dropped because their socket was full."""
    four = _table(snmp, "Udp").get("RcvbufErrors")
    six = re.search(r"^Udp6RcvbufErrors\s+(\d+)", snmp6, re.MULTILINE)
    return None if four is None else four + (int(six[1]) if six else 0)


def _table(text: str, name: str) -> dict[str, int]:
    rows = [line.split()[1:] for line in text.splitlines() if line.startswith(name + ":")]
    return {k: int(v) for k, v in zip(rows[0], rows[1], strict=False)} if len(rows) >= 2 else {}


def sockets(text: str) -> tuple[SocketStat, ...]:
    """Read the lines of `ss -tainmOH`."""
    return tuple(found for line in text.splitlines() if (found := _socket(line)) is not None)


def _socket(line: str) -> SocketStat | None:
    words = line.split()
    if len(words) < 5:
        return None
    (local, local_port), (remote, remote_port) = _endpoint(words[3]), _endpoint(words[4])
    rest = " ".join(words[5:])
    pairs = dict(_PAIR.findall(rest))
    mss, cwnd = _whole(pairs.get("mss")), _whole(pairs.get("cwnd"))
    buffers = dict(re.findall(r"\b(rb|tb)(\d+)", pairs.get("skmem", "")))
    established = "cwnd" in pairs and words[0] != "LISTEN"
    return SocketStat(
        local=local,
        local_port=local_port,
        remote=remote,
        remote_port=remote_port,
        state={"ESTAB": "ESTABLISHED"}.get(words[0], words[0]),
        # ss does not print zeros
        retransmits=_whole(pairs.get("retrans", "0/0").rpartition("/")[2]) if established else None,
        out_of_order=_whole(pairs.get("rcv_ooopack", "0")) if established else None,
        rtt_ms=_number(pairs.get("rtt", "").partition("/")[0]),
        cwnd_bytes=cwnd * mss if cwnd is not None and mss is not None else None,
        mss=mss,
        sent_bytes=_whole(pairs.get("bytes_sent")),
        received_bytes=_whole(pairs.get("bytes_received")),
        send_buffer=_whole(buffers.get("tb")),
        receive_buffer=_whole(buffers.get("rb")),
        receiver_limited_ms=_milliseconds(pairs.get("rwnd_limited", "0ms")) if "busy" in pairs else None,
        congestion=words[5] if established and len(words) > 5 and ":" not in words[5] else _algorithm(words[5:]),
    )


def _algorithm(words: list[str]) -> str:
    known = ("cubic", "reno", "bbr", "dctcp", "htcp", "vegas", "bic", "westwood", "illinois")
    return next((word for word in words if word in known), "")


def _endpoint(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]").removeprefix("::ffff:"), int(port) if port.isdecimal() else 0


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _milliseconds(text: str) -> float | None:
    """Read the milliseconds of a word such as '120ms(4.2%)'."""
    return _number(text.partition("(")[0].removesuffix("ms"))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def bound(table: str, port: int, udp: bool, address: Address | None) -> bool:
    """Whether /proc/net/{tcp,udp}[6] shows a listener on this port, at this address or at all addresses."""
    wanted = UDP_UNCONNECTED if udp else TCP_LISTEN
    for line in table.splitlines()[1:]:
        words = line.split()
        if len(words) < 4 or words[3] != wanted:
            continue
        raw, _, number = words[1].partition(":")
        if int(number, 16) == port and (address is None or _covers(_address(raw), address)):
            return True
    return False


def _covers(bound_to: Address, address: Address) -> bool:
    if isinstance(bound_to, ipaddress.IPv6Address) and bound_to.ipv4_mapped is not None:
        bound_to = bound_to.ipv4_mapped
    if bound_to == ipaddress.IPv6Address("::"):
        return True  # also accepts IPv4, unless the program has disabled that
    return bound_to == address or (bound_to.is_unspecified and bound_to.version == address.version)


def _address(raw: str) -> Address:
    """Read an address that the kernel prints as machine words."""
    words = [int(raw[i : i + 8], 16) for i in range(0, len(raw), 8)]
    order = "<" if sys.byteorder == "little" else ">"
    return ipaddress.ip_address(struct.pack(f"{order}{len(words)}I", *words))


def answered(neighbours: Any) -> bool | None:
    """Whether an entry of `ip -j neigh` has a hardware address and has not failed; None if none has."""
    for entry in neighbours if isinstance(neighbours, list) else ():
        if entry.get("lladdr") and "FAILED" not in entry.get("state", ()):
            return True
    return None


def release(os_release: str) -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', os_release, re.MULTILINE)
    return match[1] if match else ""


def cpu_model(cpuinfo: str) -> str:
    match = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else ""


def virtual(cpuinfo: str) -> bool:
    return re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE) is not None


def cores_of_mask(text: str) -> tuple[int, ...]:
    """The cores of a mask such as '00000000,00000005', which is 0 and 2."""
    try:
        mask = int(text.replace(",", "") or "0", 16)
    except ValueError:
        return ()
    return tuple(core for core in range(mask.bit_length()) if mask >> core & 1)


def cores_of_list(text: str) -> tuple[int, ...]:
    """The cores of a list such as '0-2,5', which is 0, 1, 2 and 5."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            return ()
        found.update(range(int(first), min(int(last or first), int(first) + 4096) + 1))
    return tuple(sorted(found))


def in_force_first(now: str, available: str) -> tuple[str, ...]:
    """The available names with the one in use first: for 'cubic' and 'reno cubic' it is cubic, reno; () if unknown."""
    return tuple(dict.fromkeys((now.strip(), *available.split()))) if now.strip() else ()
