"""Says what to set where: a staircase's winners as commands for FreeBSD, Linux and ESXi, with the end of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linkladder.model import KERNEL, Direction, End, Experiment, Path, Setting, SettingKind
from linkladder.model.settings import FREEBSD, LINUX, moderation, tunables_of_queues
from linkladder.phrases.arms import setting, streams, window
from linkladder.phrases.ways import way

ESXI = "ESXi host"
ETHTOOL = {  # what an offload is to ethtool -K
    SettingKind.TSO: "tso",
    SettingKind.LRO: "lro",
    SettingKind.GSO: "gso",
    SettingKind.GRO: "gro",
    SettingKind.RXCSUM: "rx",
    SettingKind.TXCSUM: "tx",
}
QUEUES = {  # Linux's command
    SettingKind.QUEUES: "ethtool -L {card} combined {value}",
    SettingKind.RING: "ethtool -G {card} rx {value} tx {value}",
    SettingKind.QUEUE_CORE: "",
}
IFCONFIG = frozenset(ETHTOOL) - {SettingKind.GSO, SettingKind.GRO}  # FreeBSD has no such offloads
BUILT_IN = {FREEBSD: {"cubic", "freebsd"}, LINUX: {"cubic", "reno"}}  # by every kernel of that system, without a module
SENT, RECEIVED = "4096 16384 4194304", "4096 131072 6291456"  # Linux's own defaults of three numbers to a buffer
BEFORE_IT = {
    SettingKind.SEND_BUFFER: SENT,
    SettingKind.SEND_DEFAULT: SENT,
    SettingKind.RECEIVE_BUFFER: RECEIVED,
    SettingKind.RECEIVE_DEFAULT: RECEIVED,
}
LET = (2 << 20) * 8 // 9  # bytes that a socket gets of FreeBSD's kern.ipc.maxsockbuf as it is: less needs no line
LET_BY_LINUX = 212992
Line = tuple[str, str]  # the system, and what to type there


def to_set(kept: Sequence[Experiment], paths: Sequence[Path]) -> tuple[str, ...]:
    """A line for each system and each change that the staircases kept, with the directions in which it was kept.

    Such as 'To set, MTU 9000, at both ends, Linux: ip link set dev eth0 mtu 9000'.
    """
    found: dict[tuple[str, str, str, str], list[Direction]] = {}
    for p in kept:
        for what, where, (system, line) in (one for path in paths or (Path(),) for one in _lines(p, path)):
            ways = found.setdefault((what, where, system, line), [])
            if p.direction not in ways:
                ways.append(p.direction)
    return tuple(
        f"To set, {what}{_won(ways, len(kept))}, {where}{f', {system}' if system else ''}: {line}"
        for (what, where, system, line), ways in found.items()
    )


def _won(ways: Sequence[Direction], staircases: int) -> str:
    return "" if len(ways) == staircases else f" ({', '.join(map(way, ways))} only)"


def _lines(p: Experiment, path: Path) -> Iterator[tuple[str, str, Line]]:
    for one in p.settings:
        what = setting(one).removesuffix(f" at the {one.ends[0]} end")
        for where, card in _cards(one, path):
            yield from ((what, where, line) for line in _of_setting(one, card))
    if p.window:
        what = f"socket buffers of {window(p.window)}"
        yield from ((what, "at both ends", line) for line in _buffers(p.window))
        yield what, "at both ends", ("", f"let the application ask for {p.window} bytes (SO_SNDBUF, SO_RCVBUF)")
    if p.write_size:
        yield f"writes of {window(p.write_size)}", "at the sender", ("", f"let it write {p.write_size} bytes at a time")
    if p.streams > 1:
        yield streams(p.streams), "at the end that connects", ("", f"let the application open {p.streams} connections")


def _cards(one: Setting, path: Path) -> Iterator[tuple[str, str]]:
    """The ends that a setting is for, and the card there; both at once where the line is the same."""
    names = {End.NEAR: path.local_interface, End.FAR: path.remote_interface}
    cards = {end: names[end] or "IFACE" for end in one.ends}
    if len(cards) == 2 and (one.of_machine or len(set(cards.values())) == 1):
        yield "at both ends", cards[End.NEAR]
        return
    for end, card in cards.items():
        peer = f", {path.peer}" if path.peer and end is End.FAR else ""
        yield f"at the {end} end{peer}", card


def _of_setting(one: Setting, card: str) -> Iterator[Line]:
    if one.kind is SettingKind.MTU:
        yield from _on_adapter(card, f"mtu {one.value}")
        yield LINUX, f"ip link set dev {card} mtu {one.value}"
        yield ESXI, f"esxcli network vswitch standard set --vswitch-name=vSwitch0 --mtu={one.value}"
    elif one.of_bundle:
        yield FREEBSD, f"ifconfig lagg0 create laggproto {one.value} laggport {card} laggport OTHER up"
    elif one.of_machine:
        yield from _of_kernel(one)
    elif one.kind is SettingKind.MODERATION:
        if found := moderation(card):
            assigned = f"{found.name}={found.value(one.value)}"
            yield FREEBSD, f"sysctl {assigned}"
            yield f"{FREEBSD} at boot", f"echo '{assigned}' >>/etc/sysctl.conf"
        else:
            yield LINUX, f"ethtool -C {card} rx-usecs {one.value}"
    elif one.kind in QUEUES:
        for variable, number in tunables_of_queues(one.kind, card, one.value).items():
            yield f"{FREEBSD} at boot", f"echo '{variable}=\"{number}\"' >>/boot/loader.conf"
        if line := QUEUES[one.kind].format(card=card, value=one.value):
            yield LINUX, line
    elif one.kind in ETHTOOL:
        if one.kind in IFCONFIG:
            yield from _on_adapter(card, f"{'' if one.value == 'on' else '-'}{one.kind}")
        yield LINUX, f"ethtool -K {card} {ETHTOOL[one.kind]} {one.value}"


def _on_adapter(card: str, words: str) -> Iterator[Line]:
    yield FREEBSD, f"ifconfig {card} {words}"
    yield f"{FREEBSD} at boot", f'sysrc ifconfig_{card}+=" {words}"'


def _of_kernel(one: Setting) -> Iterator[Line]:
    for system, name in KERNEL[one.kind].sysctls.items():
        before = BEFORE_IT.get(one.kind, "") if system == LINUX else ""
        value = one.in_kernel(system, before)
        if module := _module(one, system):
            yield system, f"{'kldload -n' if system == FREEBSD else 'modprobe'} {module}"
        assigned = f'{name}="{value}"' if " " in value else f"{name}={value}"
        if system == FREEBSD:
            if one.kind in BEFORE_IT and int(one.value) > LET:
                yield system, f"sysctl kern.ipc.maxsockbuf={2 * int(one.value)}"
            yield system, f"sysctl {assigned}"
            if module:
                yield f"{system} at boot", f"sysrc -f /boot/loader.conf {module}_load=YES"
            yield f"{system} at boot", f"echo '{name}={value}' >>/etc/sysctl.conf"
        else:
            yield system, f"sysctl -w {assigned}"
            if module:
                yield f"{system} at boot", f"echo {module} >>/etc/modules-load.d/linkladder.conf"
            yield f"{system} at boot", f"echo '{name} = {value}' >>/etc/sysctl.d/90-linkladder.conf"


def _module(one: Setting, system: str) -> str:
    """The kernel module that brings a named value, '' where the kernel has it by itself."""
    if not KERNEL[one.kind].names or one.in_kernel(system, "") in BUILT_IN[system]:
        return ""
    return one.module(system) or f"tcp_{one.in_kernel(system, '')}"


def _buffers(size: int) -> Iterator[Line]:
    """The system's ceilings for what an application asks for."""
    if size > LET:
        yield FREEBSD, f"sysctl kern.ipc.maxsockbuf={2 * size}"
        yield f"{FREEBSD} at boot", f"echo 'kern.ipc.maxsockbuf={2 * size}' >>/etc/sysctl.conf"
    if size > LET_BY_LINUX:
        yield LINUX, f"sysctl -w net.core.rmem_max={size} net.core.wmem_max={size}"
        for name in ("rmem_max", "wmem_max"):
            yield f"{LINUX} at boot", f"echo 'net.core.{name} = {size}' >>/etc/sysctl.d/90-linkladder.conf"
