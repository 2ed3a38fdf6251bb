"""Says what to set where: a staircase's winners as commands for FreeBSD, Linux and ESXi, with the end of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linkladder.model import KERNEL, Direction, End, Experiment, HostFacts, Path, Setting, SettingKind
from linkladder.model.settings import FREEBSD, LINUX, adaptive_moderation, moderation, tunables_of_queues
from linkladder.phrases.arms import setting, streams, window
from linkladder.phrases.ways import way

ESXI, VCENTER = "ESXi host", "vCenter (PowerCLI)"
OF_GUESTS = {  # what an ESXi host does for an offload of its vmxnet3 guests, for all of them: its advanced settings
    SettingKind.TSO: ("UseHwTSO", "UseHwTSO6"),
    SettingKind.LRO: ("Vmxnet3HwLRO", "Vmxnet3SwLRO"),
}
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
MAXSOCKBUF, RMEM, WMEM = "kern.ipc.maxsockbuf", "net.core.rmem_max", "net.core.wmem_max"
Line = tuple[str, str]  # the system, and what to type there
Step = tuple[str, str, str]  # what, where, and what to do there


def to_set(kept: Sequence[Experiment], paths: Sequence[Path], hosts: Sequence[HostFacts] = ()) -> tuple[str, ...]:
    """A line for each system and each change that the staircases kept, with the directions in which it was kept.

    Such as 'To set, MTU 9000, at both ends, Linux: ip link set dev eth0 mtu 9000'. `hosts`: the run's ends, none of
    whose buffers a line lowers.
    """
    found: dict[tuple[str, str, str, str], list[Direction]] = {}
    for p in kept:
        for what, where, (system, line) in (one for path in paths or (Path(),) for one in _lines(p, path, hosts)):
            ways = found.setdefault((what, where, system, line), [])
            if p.direction not in ways:
                ways.append(p.direction)
    return tuple(
        f"To set, {what}{_won(ways, len(kept))}, {where}{f', {system}' if system else ''}: {line}"
        for (what, where, system, line), ways in found.items()
    )


def for_application(kept: Sequence[Experiment]) -> tuple[str, ...]:
    """What an application has to do itself, as '2 streams, at the end that connects: let the application open ...'."""
    steps = (step for p in kept for step in _of_application(p))
    return tuple(dict.fromkeys(f"{what}, {where}: {line}" for what, where, line in steps))


def _won(ways: Sequence[Direction], staircases: int) -> str:
    return "" if len(ways) == staircases else f" ({', '.join(map(way, ways))} only)"


def _lines(p: Experiment, path: Path, hosts: Sequence[HostFacts]) -> Iterator[tuple[str, str, Line]]:
    for one in p.settings:
        what = setting(one).removesuffix(f" at the {one.ends[0]} end")
        for where, card in _cards(one, path):
            yield from ((what, where, line) for line in _of_setting(one, card, hosts))
    if p.window:
        yield from ((_window(p.window), "at both ends", line) for line in _buffers(p.window, hosts))
    yield from ((what, where, ("", line)) for what, where, line in _of_application(p))


def _of_application(p: Experiment) -> Iterator[Step]:
    """The application's part of a load, whether a step of the staircase won it or it began with it."""
    if p.tool != Experiment.tool:
        yield f"sending as {p.tool} does", "at both ends", "no promise for an application that sends otherwise"
    if p.window:
        yield _window(p.window), "at both ends", f"let the application ask for {p.window} bytes (SO_SNDBUF, SO_RCVBUF)"
    if p.write_size:
        yield f"writes of {window(p.write_size)}", "at the sender", f"let it write {p.write_size} bytes at a time"
    if p.zero_copy:
        yield "zero copy", "at the sender", "let the application hand the kernel a file (sendfile) instead of a copy"
    if p.streams > 1:
        yield streams(p.streams), "at the end that connects", f"let the application open {p.streams} connections"


def _window(size: int) -> str:
    return f"socket buffers of {window(size)}"


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


def _of_setting(one: Setting, card: str, hosts: Sequence[HostFacts]) -> Iterator[Line]:
    if one.kind is SettingKind.MTU:
        yield from _on_adapter(card, f"mtu {one.value}")
        yield LINUX, f"ip link set dev {card} mtu {one.value}"
        example = "  # vSwitch0 is an example: esxcli network vswitch standard list names them"
        yield ESXI, f"esxcli network vswitch standard set --vswitch-name=vSwitch0 --mtu={one.value}{example}"
        yield VCENTER, f"Set-VDSwitch -VDSwitch NAME -Mtu {one.value}  # a distributed switch, on all its hosts"
    elif one.of_bundle:
        yield FREEBSD, f"ifconfig lagg0 create laggproto {one.value} laggport {card} laggport OTHER up"
    elif one.of_machine:
        yield from _of_kernel(one, hosts)
    elif one.kind is SettingKind.MODERATION:
        if found := moderation(card):
            yield from _assigned(f"{found.name}={found.value(one.value)}")
        else:
            yield LINUX, f"ethtool -C {card} rx-usecs {one.value}"
    elif one.kind is SettingKind.ADAPTIVE_MODERATION:
        if name := adaptive_moderation(card):
            yield from _assigned(f"{name}={int(one.value == 'on')}")
    elif one.kind in QUEUES:
        for variable, number in tunables_of_queues(one.kind, card, one.value).items():
            yield f"{FREEBSD} at boot", f"echo '{variable}=\"{number}\"' >>/boot/loader.conf"
        if line := QUEUES[one.kind].format(card=card, value=one.value):
            yield LINUX, line
    elif one.kind in ETHTOOL:
        if one.kind in IFCONFIG:
            yield from _on_adapter(card, f"{'' if one.value == 'on' else '-'}{one.kind}")
        yield LINUX, f"ethtool -K {card} {ETHTOOL[one.kind]} {one.value}"
        if one.value == "on" and any("vmware" in host.virtual.lower() for host in hosts):
            for name in OF_GUESTS.get(one.kind, ()):
                known = "  # as by default; after a change reboot the host"
                yield ESXI, f"esxcli system settings advanced set -o /Net/{name} -i 1{known}"


def _assigned(to_sysctl: str) -> Iterator[Line]:
    yield FREEBSD, f"sysctl {to_sysctl}"
    yield f"{FREEBSD} at boot", f"echo '{to_sysctl}' >>/etc/sysctl.conf"


def _on_adapter(card: str, words: str) -> Iterator[Line]:
    yield FREEBSD, f"ifconfig {card} {words}"
    yield f"{FREEBSD} at boot", f'sysrc ifconfig_{card}+=" {words}"'


def _of_kernel(one: Setting, hosts: Sequence[HostFacts]) -> Iterator[Line]:
    for system, name in KERNEL[one.kind].sysctls.items():
        present = next((value for host in hosts if (value := host.sysctls.get(name, ""))), "")
        before = (present or BEFORE_IT[one.kind]) if system == LINUX and one.kind in BEFORE_IT else ""
        value = one.in_kernel(system, before)
        if module := _module(one, system):
            yield system, f"{'kldload -n' if system == FREEBSD else 'modprobe'} {module}"
        assigned = f'{name}="{value}"' if " " in value else f"{name}={value}"
        if system == FREEBSD:
            if one.kind in BEFORE_IT and int(one.value) > LET:
                yield system, f"sysctl {MAXSOCKBUF}={_at_least(2 * int(one.value), MAXSOCKBUF, hosts)}"
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


def _buffers(size: int, hosts: Sequence[HostFacts]) -> Iterator[Line]:
    """The system's ceilings for what an application asks for."""
    if size > LET:
        ceiling = f"{MAXSOCKBUF}={_at_least(2 * size, MAXSOCKBUF, hosts)}"
        yield FREEBSD, f"sysctl {ceiling}"
        yield f"{FREEBSD} at boot", f"echo '{ceiling}' >>/etc/sysctl.conf"
    if size > LET_BY_LINUX:
        ceilings = {name: _at_least(size, name, hosts) for name in (RMEM, WMEM)}
        yield LINUX, f"sysctl -w {' '.join(f'{name}={most}' for name, most in ceilings.items())}"
        for name, most in ceilings.items():
            yield f"{LINUX} at boot", f"echo '{name} = {most}' >>/etc/sysctl.d/90-linkladder.conf"


def _at_least(wanted: int, name: str, hosts: Sequence[HostFacts]) -> int:
    """The wanted ceiling, or the highest that an end has already."""
    return max(wanted, *(int(has) for host in hosts if (has := host.sysctls.get(name, "")).isdigit()), 0)
