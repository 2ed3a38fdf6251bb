"""Pure functions that read what FreeBSD's programs print."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from linkladder.host.addresses import parse
from linkladder.host.freebsd_queues import cores
from linkladder.model import NicCounters, SocketStat, TcpCounters
from linkladder.model.settings import SettingKind, adaptive_moderation, moderation

OFFLOADS = {"TSO4": "tso", "TSO6": "tso6", "LRO": "lro", "RXCSUM": "rxcsum", "TXCSUM": "txcsum"}
OFFLOADS |= {"RXCSUM_IPV6": "rxcsum6", "TXCSUM_IPV6": "txcsum6"}
CRC = re.compile(r"\.(crc_errs|crc_errors|crc_align_errors)$")
PAUSE_RX = re.compile(r"\.(xo(n|ff)_recvd|rx_pause_frames|pause_ctrl_rx)$")
LINK_DOWN = re.compile(r"(\w+): link state changed to DOWN")
PAUSE_TX = re.compile(r"\.(xo(n|ff)_txd|tx_pause_frames|pause_ctrl_tx)$")
NO_BUFFER = re.compile(r"\.hstats\.nobuffer$")
# Which pause frames an adapter is set to: one sysctl for both directions, or one for each (mlx5en, bnxt).
PAUSES = {"0": "off", "1": "receive", "2": "send", "3": "both"}
PAUSE_WAY = re.compile(r"\.(?:(rx|tx)_pauseframe_control|fc\.(rx|tx))$")
# A group of cores in kern.sched.topology_spec, with the flags that say why it is one.
_GROUP = re.compile(r"<cpu [^>]*>([\d, ]*)</cpu>\s*(<flags>.*?</flags>)?")
_THREADED = re.compile(r'name="(HTT|THREAD|SMT)"')
_MEDIA_SPEED = re.compile(r"\((\d+(?:\.\d+)?)(G?)(?:base|Base)")
_DEVICE = re.compile(r"^([a-z][a-z0-9_]*?)(\d+)$")


@dataclass(frozen=True)
class Interface:
    """An interface as one paragraph of ifconfig describes it."""

    name: str
    flags: tuple[str, ...] = ()
    mtu: int = 0
    mac: str = ""
    options: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    media: str = ""
    speed_bps: float | None = None
    carrier: bool | None = None
    offloads: dict[str, bool] = field(default_factory=dict)


def ifconfig(text: str) -> dict[str, Interface]:
    """Read the interfaces from `ifconfig -a` or `ifconfig -am`."""
    found: dict[str, Interface] = {}
    for paragraph in re.split(r"^(?=\S+: flags=)", text, flags=re.MULTILINE):
        head = re.match(r"(\S+): flags=\w+<([^>]*)>.*?\bmtu (\d+)", paragraph)
        if head:
            found[head[1]] = _interface(head[1], head[2], int(head[3]), paragraph)
    return found


def _interface(name: str, flags: str, mtu: int, paragraph: str) -> Interface:
    def words(key: str) -> tuple[str, ...]:
        match = re.search(rf"^\s+{key}=\w+<([^>]*)>", paragraph, re.MULTILINE)
        return tuple(match[1].split(",")) if match else ()

    ether = re.search(r"^\s+ether (\S+)", paragraph, re.MULTILINE)
    media = re.search(r"^\s+media: (.*)$", paragraph, re.MULTILINE)
    status = re.search(r"^\s+status: (.*)$", paragraph, re.MULTILINE)
    options, capabilities = words("options"), words("capabilities")
    return Interface(
        name=name,
        flags=tuple(flags.split(",")),
        mtu=mtu,
        mac=ether[1] if ether else "",
        options=options,
        capabilities=capabilities,
        addresses=tuple(re.findall(r"^\s+inet6? ([0-9a-fA-F.:]+)", paragraph, re.MULTILINE)),
        media=media[1] if media else "",
        speed_bps=_speed(media[1]) if media else None,
        carrier={"active": True, "no carrier": False}.get(status[1]) if status else None,
        offloads={ours: theirs in options for theirs, ours in OFFLOADS.items() if theirs in (*capabilities, *options)},
    )


def threads(topology: str) -> tuple[tuple[int, ...], ...]:
    """The hardware threads of each physical core by kern.sched.topology_spec; a core that has no siblings is alone."""
    groups = [(tuple(map(int, filter(None, cpus.split(",")))), flags) for cpus, flags in _GROUP.findall(topology)]
    siblings = {core: cpus for cpus, flags in groups if _THREADED.search(flags) for core in cpus}
    return tuple(sorted({siblings.get(core, (core,)) for cpus, _ in groups for core in cpus}))


def rx_usecs(interface: str, values: dict[str, str]) -> int | None:
    """How many microseconds the card waits after a packet before it interrupts; None if its driver does not tell, or if
    the card adapts it by itself.
    """
    if not (found := moderation(interface)):
        return None
    count = values.get(found.name, "")
    by_itself = values.get(found.adaptive) in found.adaptive_values
    return int(count) * found.microseconds if count.isdecimal() and not by_itself else None


def adaptive(interface: str, values: dict[str, str]) -> dict[str, bool]:
    """Whether the card adapts that by itself, as one of its switches; {} if its driver does not tell, or is told to do
    so for low latency, which is neither on nor off.
    """
    state = values.get(adaptive_moderation(interface))
    return {SettingKind.ADAPTIVE_MODERATION: state == "1"} if state in ("0", "1") else {}


def _speed(media: str) -> float | None:
    match = _MEDIA_SPEED.search(media)
    return float(match[1]) * (1e9 if match[2] else 1e6) if match else None


def device(name: str) -> tuple[str, str]:
    """The driver and unit of an interface, ('vmx', '0') for vmx0; ('', '') for a name of another form."""
    match = _DEVICE.match(name)
    return (match[1], match[2]) if match else ("", "")


def sysctls(text: str) -> dict[str, str]:
    """Read the name=value lines of `sysctl -e`; further lines of a value are joined to it."""
    found: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        match = re.match(r"([a-zA-Z][\w.%-]*\.[\w.%-]+)=(.*)$", line)
        if match:
            last = match[1]
            found[last] = match[2].strip()
        elif last:
            found[last] = f"{found[last]} {line.strip()}".strip()
    return found


def queues(values: dict[str, str], side: str) -> int | None:
    """How many receive ('rxq') or transmit ('txq') queues a driver's sysctls show."""
    found = {m[1] for name in values if (m := re.search(rf"\.{side}_?(\d+)\.", name))}
    return len(found) or None


def queue_cores(values: dict[str, str]) -> tuple[int, ...]:
    """The cores that a driver's receive queues are bound to."""
    return tuple(sorted(set(cores(values, "rxq").values())))


def registered(table: str) -> tuple[str, ...]:
    """Read the names of the table 'CCmod D PCB count' or 'Stack D Alias PCB count', the default (D is *) first."""
    rows = [line.split() for line in table.splitlines() if line.strip() and not line.startswith(("CCmod", "Stack"))]
    return tuple(row[0] for row in sorted(rows, key=lambda row: row[1:2] != ["*"]))


def flow_control(values: dict[str, str], media: str) -> str:
    """The driver's setting of flow control, and what the link agreed on, as far as they are told; else ""."""
    ways = {m[1] or m[2]: value for name, value in values.items() if (m := PAUSE_WAY.search(name))}
    asked = str((ways.get("rx") == "1") + 2 * (ways.get("tx") == "1")) if ways else ""
    asked = next((value[:1] for name, value in values.items() if name.endswith(".fc")), asked)
    link = ("rxpause" in media) + 2 * ("txpause" in media)
    words = (f"set to {PAUSES[asked]}" if asked in PAUSES else "", f"link has {PAUSES[str(link)]}" if link else "")
    return ", ".join(filter(None, words))


def with_driver(counters: NicCounters, values: dict[str, str]) -> NicCounters:
    """The counters with those of the driver: CRC errors, pause frames, packets dropped because a ring was full."""
    return replace(
        counters,
        crc_errors=_sum(values, CRC),
        rx_pause=_sum(values, PAUSE_RX),
        tx_pause=_sum(values, PAUSE_TX),
        rx_drops=max(counters.rx_drops, _sum(values, NO_BUFFER) or 0),
    )


def carriers_lost(messages: str) -> Counter[str]:
    """How often each card has lost its link, from the kernel's messages, as the kernel has no counter for it."""
    return Counter(LINK_DOWN.findall(messages))


def _sum(values: dict[str, str], names: re.Pattern[str]) -> int | None:
    found = [int(value) for name, value in values.items() if names.search(name) and value.isdecimal()]
    return sum(found) if found else None


def tcp_counters(found: Any) -> TcpCounters:
    """Read `netstat --libxo json -s -p tcp`."""
    tcp = _dict(_dict(found).get("statistics")).get("tcp")
    values = _dict(tcp)
    return TcpCounters(
        segments_sent=_whole(values.get("sent-packets")),
        retransmits=_whole(values.get("sent-retransmitted-packets")),
        out_of_order=_whole(values.get("received-out-of-order")),
        zero_window_sent=None,  # counted per socket only
        zero_window_probes=_whole(values.get("sent-window-probe-packets")),
        came_twice=_whole(values.get("received-completely-duplicate-packets")),
        duplicate_acks=_whole(values.get("received-duplicate-acks")),
        dsacks=_whole(values.get("received-with-dsack-packets")),
        retransmitted_bytes=_whole(values.get("sent-retransmitted-bytes")),
        needless_bytes=_whole(values.get("received-with-dsack-bytes")),
    )


def sockets(counts: Any, buffers: Any, windows: Any, ports: range) -> tuple[SocketStat, ...]:
    """Read `netstat --libxo json -p tcp` with -nT, with -nx for buffers and -ncC for windows, matched by addresses."""
    sizes = {_ends(entry): entry for entry in _sockets(buffers)}
    sending = {_ends(entry): entry for entry in _sockets(windows)}
    found = []
    for entry in _sockets(counts):
        local, local_port, remote, remote_port = _ends(entry)
        if local_port in ports or remote_port in ports:
            size = sizes.get((local, local_port, remote, remote_port), {})
            seen = sending.get((local, local_port, remote, remote_port), {})
            found.append(
                SocketStat(
                    local,
                    local_port,
                    remote,
                    remote_port,
                    retransmits=_whole(entry.get("sent-retransmit-packets")),
                    out_of_order=_whole(entry.get("received-out-of-order-packets")),
                    zero_window=_whole(entry.get("sent-zero-window")),
                    send_buffer=_whole(size.get("send-high-water")),
                    receive_buffer=_whole(size.get("receive-high-water")),
                    state=str(seen.get("tcp-state", "")).strip(),
                    cwnd_bytes=_whole(seen.get("snd-cwnd")),
                    ssthresh_bytes=_whole(seen.get("snd-ssthresh")),
                    mss=_whole(seen.get("t-maxseg")),
                    congestion=str(seen.get("cc", "")).strip(),
                    stack=str(seen.get("stack", "")).strip(),
                )
            )
    return tuple(found)


def bound(found: Any, port: int, udp: bool, address: str) -> bool:
    """Whether `netstat --libxo json -an -p tcp|udp` shows a listener on this port, at this address or at all."""
    wanted = parse(address)
    for entry in _sockets(found):
        local, local_port, _, remote_port = _ends(entry)
        listens = remote_port == 0 if udp else str(entry.get("tcp-state", "")).strip() == "LISTEN"
        if local_port != port or not listens:
            continue
        protocol = str(entry.get("protocol", ""))
        if wanted is None or parse(local) == wanted:
            return True
        if local == "*" and (protocol.endswith("46") or protocol.endswith(str(wanted.version))):
            return True
    return False


def _sockets(found: Any) -> list[dict[str, Any]]:
    entries = _dict(_dict(found).get("statistics")).get("socket", [])
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _ends(entry: dict[str, Any]) -> tuple[str, int, str, int]:
    local, remote = _dict(entry.get("local")), _dict(entry.get("remote"))
    return str(local.get("address", "")), _port(local), str(remote.get("address", "")), _port(remote)


def _port(end: dict[str, Any]) -> int:
    text = str(end.get("port", ""))
    return int(text) if text.isdecimal() else 0


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def route(text: str) -> tuple[str, str]:
    """Read the interface and the gateway from `route -n get`."""
    interface = re.search(r"^\s*interface: (\S+)", text, re.MULTILINE)
    gateway = re.search(r"^\s*gateway: (\S+)", text, re.MULTILINE)
    return (interface[1] if interface else "", gateway[1] if gateway and parse(gateway[1]) is not None else "")


def answered(found: Any, address: str) -> bool | None:
    """Whether `arp --libxo json -an` shows a hardware address for this address of another host; None if unknown."""
    wanted = parse(address)
    entries = _dict(_dict(found).get("arp")).get("arp-cache", [])
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and parse(str(entry.get("ip-address", ""))) == wanted and not entry.get("permanent"):
            return True if entry.get("mac-address") and not entry.get("incomplete") else None
    return None


def answered6(text: str, address: str) -> bool | None:
    """Whether `ndp -an` shows a hardware address for this IPv6 address; None if unknown."""
    wanted = parse(address)
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 2 and parse(words[0]) == wanted and re.fullmatch(r"[0-9a-f:]{11,17}", words[1]):
            return True
    return None
