"""What an experiment changes at its ends, for a trial and not longer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from linkladder.model.hosts import HostFacts, Nic
from linkladder.model.words import End

SMALLEST_MTU, LARGEST_MTU = 1280, 9216  # below the first an adapter loses its IPv6 addresses, which no undo brings back
SWITCH = ("on", "off")
NAME = re.compile(r"[a-z][a-z0-9_]{1,15}")
SMALLEST_BUFFER, LARGEST_BUFFER = 65536, 1 << 30
SMALLEST_FIRST, SMALLEST_CEILING = 8192, 262144
FREEBSD, LINUX = "FreeBSD", "Linux"
BUNDLES = ("roundrobin", "loadbalance", "failover", "lacp")
FEWEST_CARDS, MOST_CARDS = 2, 4  # of a bundle
MOST_MEMBERS = 8  # of one that somebody else has made
LONGEST_TRIAL = 7 * 86400
LONGEST_MODERATION = 1000  # microseconds that a card may wait after a packet
MOST_QUEUES, MOST_CORES = 64, 1024
SMALLEST_RING, LARGEST_RING = 64, 8192  # descriptors


class SettingKind(StrEnum):
    """Each of these can be read, made, read back and put back; what cannot is no setting."""

    MTU = "mtu"
    TSO = "tso"
    LRO = "lro"
    GSO = "gso"
    GRO = "gro"
    RXCSUM = "rxcsum"
    TXCSUM = "txcsum"
    MODERATION = "moderation"  # of a card's interrupts: how many microseconds it waits after a packet has come
    ADAPTIVE_MODERATION = "adaptive-moderation"  # whether it chooses by itself how long, by the packets that come
    QUEUES = "queues"  # of a card, for receiving and as many for sending
    RING = "ring"  # descriptors that each of its queues has
    QUEUE_CORE = "queue-core"  # to which the packets of all its receive queues are steered
    LAGG = "lagg"  # of the adapters of all paths of the rung together
    MEMBER = "member"  # one card of a bundle, down for a part of the trial
    CONGESTION = "congestion"  # this and what follows is the whole machine's, for new TCP connections
    STACK = "stack"
    STACK_TSO = "stack-tso"
    SACK = "sack"
    DELAYED_ACK = "delayed-ack"
    ECN = "ecn"
    INITIAL_WINDOW = "initial-window"
    SEND_BUFFER = "send-buffer"
    RECEIVE_BUFFER = "receive-buffer"
    SEND_DEFAULT = "send-default"
    RECEIVE_DEFAULT = "receive-default"
    SEND_CEILING = "send-ceiling"
    RECEIVE_CEILING = "receive-ceiling"


@dataclass(frozen=True)
class KernelSetting:
    """What people call a setting of the kernel, its sysctl by system (none: that system has it not), and its values."""

    words: str
    sysctls: dict[str, str]
    low: int = 0
    high: int = 0  # 0: no number
    names: str = ""  # such as, where it is a name; neither: a switch
    modules: dict[str, str] = field(default_factory=dict)  # by system: what a name has before it as a kernel module
    number: int = -1  # which one it is, where a system has several to a buffer: the least, the first and the largest


KERNEL = {
    SettingKind.CONGESTION: KernelSetting(
        "congestion control",
        {FREEBSD: "net.inet.tcp.cc.algorithm", LINUX: "net.ipv4.tcp_congestion_control"},
        names="cubic or reno",
        modules={FREEBSD: "cc_"},
    ),
    SettingKind.STACK: KernelSetting(
        "TCP stack",
        {FREEBSD: "net.inet.tcp.functions_default"},
        names="freebsd or rack",
        modules={FREEBSD: "tcp_"},
    ),
    SettingKind.STACK_TSO: KernelSetting("TSO of the TCP stack", {FREEBSD: "net.inet.tcp.tso"}),
    SettingKind.SACK: KernelSetting("SACK", {FREEBSD: "net.inet.tcp.sack.enable", LINUX: "net.ipv4.tcp_sack"}),
    SettingKind.DELAYED_ACK: KernelSetting("delayed ACK", {FREEBSD: "net.inet.tcp.delayed_ack"}),
    SettingKind.ECN: KernelSetting("ECN", {FREEBSD: "net.inet.tcp.ecn.enable", LINUX: "net.ipv4.tcp_ecn"}),
    SettingKind.INITIAL_WINDOW: KernelSetting(
        "initial window in segments", {FREEBSD: "net.inet.tcp.initcwnd_segments"}, 1, 256
    ),
    SettingKind.SEND_BUFFER: KernelSetting(
        "largest send buffer by itself",
        {FREEBSD: "net.inet.tcp.sendbuf_max", LINUX: "net.ipv4.tcp_wmem"},
        SMALLEST_BUFFER,
        LARGEST_BUFFER,
    ),
    SettingKind.RECEIVE_BUFFER: KernelSetting(
        "largest receive buffer by itself",
        {FREEBSD: "net.inet.tcp.recvbuf_max", LINUX: "net.ipv4.tcp_rmem"},
        SMALLEST_BUFFER,
        LARGEST_BUFFER,
    ),
    SettingKind.SEND_DEFAULT: KernelSetting(
        "send buffer at first",
        {FREEBSD: "net.inet.tcp.sendspace", LINUX: "net.ipv4.tcp_wmem"},
        SMALLEST_FIRST,
        LARGEST_BUFFER,
        number=1,
    ),
    SettingKind.RECEIVE_DEFAULT: KernelSetting(
        "receive buffer at first",
        {FREEBSD: "net.inet.tcp.recvspace", LINUX: "net.ipv4.tcp_rmem"},
        SMALLEST_FIRST,
        LARGEST_BUFFER,
        number=1,
    ),
    SettingKind.SEND_CEILING: KernelSetting(  # of FreeBSD it is the ceiling of both
        "largest send buffer on request",
        {FREEBSD: "kern.ipc.maxsockbuf", LINUX: "net.core.wmem_max"},
        SMALLEST_CEILING,
        LARGEST_BUFFER,
    ),
    SettingKind.RECEIVE_CEILING: KernelSetting(
        "largest receive buffer on request", {LINUX: "net.core.rmem_max"}, SMALLEST_CEILING, LARGEST_BUFFER
    ),
}


@dataclass(frozen=True)
class ModerationSysctl:
    """FreeBSD's sysctl for the moderation of a card's interrupts."""

    name: str
    microseconds: int = 1  # to one of its units
    adaptive: str = ""  # the sysctl by which the card finds its own time, which then is no fixed one,
    adaptive_values: tuple[str, ...] = ()  # and its values that mean so

    def value(self, microseconds: str) -> str:
        return str(int(microseconds) // self.microseconds)


MODERATION = {  # by driver, below dev.DRIVER.UNIT; vmx has none, and ix, em, igb and igc no time for the whole card,
    "mce": ModerationSysctl("conf.rx_coalesce_usecs", 1, "conf.rx_coalesce_mode", ("2", "3")),
    "bnxt": ModerationSysctl("intr_coal_rx_usecs"),
    "ixl": ModerationSysctl("rx_itr", 2, "dynamic_rx_itr", ("1",)),
}
# but these, at any time, whether they choose it by themselves. With ix that cannot be put back: switched off, it keeps
# the time that it chose last until it is initialised.
ADAPTIVE = {"em": "enable_aim", "igb": "enable_aim", "igc": "enable_aim"}


def _driver_and_unit(interface: str) -> tuple[str, str]:
    """('ixl', '0') for FreeBSD's ixl0; no unit for a name without a number."""
    driver = interface.rstrip("0123456789")
    return driver, interface.removeprefix(driver)


def moderation(interface: str) -> ModerationSysctl | None:
    """The sysctl that moderates this card, with its whole name; None where FreeBSD's driver has none."""
    driver, unit = _driver_and_unit(interface)
    if not unit or driver not in MODERATION:
        return None
    found, prefix = MODERATION[driver], f"dev.{driver}.{unit}."
    return replace(found, name=prefix + found.name, adaptive=found.adaptive and prefix + found.adaptive)


def adaptive_moderation(interface: str) -> str:
    """The sysctl that switches this card's adaptive moderation; '' where FreeBSD's driver has none that goes back."""
    driver, unit = _driver_and_unit(interface)
    return f"dev.{driver}.{unit}.{ADAPTIVE[driver]}" if unit and driver in ADAPTIVE else ""


def tunables_of_queues(kind: SettingKind, interface: str, value: str) -> dict[str, str]:
    """FreeBSD's loader variables that make a card's queues so, where iflib attaches it; of rings only where known."""
    driver, unit = _driver_and_unit(interface)
    prefix = f"dev.{driver}.{unit}.iflib."
    form = RINGS.get(driver, "") if kind is SettingKind.RING else "{}"
    return {prefix + name: form.format(value) for name in TUNABLES[kind]} if unit and form else {}


TUNABLES = {  # below dev.DRIVER.UNIT.iflib, of receiving and sending
    SettingKind.QUEUES: ("override_nrxqs", "override_ntxqs"),
    SettingKind.RING: ("override_nrxds", "override_ntxds"),
    SettingKind.QUEUE_CORE: ("core_offset",),
}
RINGS = {"vmx": "0,{}", "em": "{}", "igb": "{}"}  # by driver; vmx's first one is of completions, which it counts itself
RENO = {"reno", "newreno"}  # one by two names, Linux's and FreeBSD's
SYNONYMS = {FREEBSD: {"reno": "newreno"}, LINUX: {"newreno": "reno"}}  # of congestion controls


LACKED = {  # names of what an adapter without it lacks
    SettingKind.MODERATION: "fixed moderation of its interrupts",
    SettingKind.ADAPTIVE_MODERATION: "adaptive moderation of its interrupts that could be switched",
    SettingKind.QUEUES: "number of queues that could be set",
    SettingKind.RING: "size of its rings that could be set",
    SettingKind.QUEUE_CORE: "core of its queues that could be set",
}


def both_ways(receiving: int | None, sending: int | None) -> str:
    """Of queues or rings: '4', or '4/2' where the ways differ; '' where the card does not tell."""
    if not receiving or not sending:
        return ""
    return str(receiving) if receiving == sending else f"{receiving}/{sending}"


RANGES = {  # of an adapter's settings that are numbers; the others are switches
    SettingKind.MTU: (SMALLEST_MTU, LARGEST_MTU),
    SettingKind.MODERATION: (0, LONGEST_MODERATION),
    SettingKind.QUEUES: (1, MOST_QUEUES),
    SettingKind.RING: (SMALLEST_RING, LARGEST_RING),
    SettingKind.QUEUE_CORE: (0, MOST_CORES - 1),
}


def kernel_names(system: str) -> tuple[str, ...]:
    """The sysctls of that system which an experiment may change."""
    return tuple(one.sysctls[system] for one in KERNEL.values() if system in one.sysctls)


@dataclass(frozen=True)
class Setting:
    """One change to the path's adapter, or to the machine, at one or both ends."""

    kind: SettingKind
    value: str  # bytes, microseconds, a name for the congestion control, which member from 1 on, else "on" or "off"
    ends: tuple[End, ...] = (End.NEAR, End.FAR)
    since: float = 0.0  # of a member: seconds after the warm-up from which it is down,
    until: float = 0.0  # and at which it comes up again

    @property
    def of_machine(self) -> bool:
        """Whether it is the whole machine's, and no adapter's."""
        return self.kind in KERNEL

    @property
    def of_bundle(self) -> bool:
        """Whether it makes the adapters of all paths one bundle."""
        return self.kind is SettingKind.LAGG

    @property
    def of_member(self) -> bool:
        """Whether it takes one card of a bundle down for a part of the trial."""
        return self.kind is SettingKind.MEMBER

    def sysctl(self, system: str) -> str:
        """Of a machine's setting; '' where that system has it not."""
        return KERNEL[self.kind].sysctls.get(system, "")

    def in_kernel(self, system: str, present: str) -> str:
        """The value as that system writes it; Linux has three numbers to a buffer, of which the others stay."""
        if self.value in SWITCH:
            return str(int(self.value == "on"))
        numbers = present.split() or [""]
        which = KERNEL[self.kind].number if len(numbers) > 1 else 0
        numbers[which] = SYNONYMS.get(system, {}).get(self.value, self.value)
        return " ".join(numbers)

    def module(self, system: str) -> str:
        """The kernel module that brings it where the kernel has not got it by itself; '' where none can."""
        prefix = KERNEL[self.kind].modules.get(system, "")
        return prefix and prefix + self.in_kernel(system, "")

    def in_force(self, host: HostFacts) -> str | None:
        """The machine's present value, by the name that was asked for if it has two; None if there is no such thing."""
        if self.kind is SettingKind.CONGESTION:
            there = [self.value if {self.value, one} <= RENO else one for one in host.congestion_controls]
            return there[0] if self.value in there else "" if not there else None
        if not (name := self.sysctl(host.os)):
            return None
        present = host.sysctls.get(name, None if host.sysctls else "")  # who tells none may have it
        unknown_stack = self.kind is SettingKind.STACK and host.tcp_stacks and self.value not in host.tcp_stacks
        if present is None or unknown_stack:
            return None
        return self.value if present and self.in_kernel(host.os, present) == present else present

    @property
    def lacked(self) -> str:
        """The name of what a machine or adapter without it lacks: 'tso', 'congestion bbr'."""
        if self.kind in LACKED:
            return LACKED[self.kind]
        of_kernel = KERNEL.get(self.kind)
        return f"{self.kind} {self.value}" if of_kernel and of_kernel.names else str(self.kind)

    @property
    def restarts(self) -> bool:
        """Whether the adapter restarts with it, and again when it is put back."""
        return not self.of_machine and not self.of_member

    @property
    def mtu(self) -> int | None:
        """The MTU that it makes."""
        return int(self.value) if self.kind is SettingKind.MTU else None

    def refused(self, host: HostFacts) -> str:
        """Why a machine lends no such thing, '' where it may."""
        if not self.of_bundle:
            return ""
        if host.os != FREEBSD:
            return (
                f"{host.name} runs {host.os or 'another system'}, and bundles are made on loan by FreeBSD's lagg alone"
            )
        if self.value == "lacp" and host.virtual:
            return f"{host.name} is a guest ({host.virtual}), and a hypervisor's switch speaks no LACP with its guests"
        return ""

    def on(self, nic: Nic) -> str | None:
        """The adapter's present value; None where it has no such thing."""
        if self.kind is SettingKind.MTU:
            return str(nic.mtu)
        if self.kind is SettingKind.MODERATION:
            return None if nic.rx_usecs is None else str(nic.rx_usecs)
        if self.kind is SettingKind.QUEUES:
            return (nic.queue_core and both_ways(nic.rx_queues, nic.tx_queues)) or None  # or what serves them were lost
        if self.kind in (SettingKind.RING, SettingKind.QUEUE_CORE):
            return (nic.ring if self.kind is SettingKind.RING else nic.queue_core) or None
        switch = nic.offloads.get(self.kind)
        return None if switch is None else "on" if switch else "off"

    @property
    def label(self) -> str:
        """'mtu-9000', 'tso-off-near': as the name of an experiment tells it."""
        when = (f"{self.since:g}", f"{self.until:g}") if self.of_member else ()
        return "-".join([self.kind, self.value, *when, *(self.ends if len(self.ends) == 1 else ())])

    @property
    def wrong(self) -> str:
        """What was expected of the value instead, '' where it is right."""
        if self.of_bundle:
            return "" if self.value in BUNDLES else f"expected one of {', '.join(BUNDLES)}"
        if self.of_member:
            return self._wrong_member
        if self.since or self.until:
            return "expected no moments of a setting that holds throughout"
        of_kernel = KERNEL.get(self.kind)
        if of_kernel and of_kernel.names:
            return "" if NAME.fullmatch(self.value) else f"expected a name such as {of_kernel.names}"
        low, high = (of_kernel.low, of_kernel.high) if of_kernel else RANGES.get(self.kind, (0, 0))
        if not high:
            return "" if self.value in SWITCH else "expected on or off"
        fits = self.value.isdecimal() and self.value.isascii() and len(self.value) < 11
        fits = fits and self.value == str(int(self.value))  # as an end reads it back: 09000 would never be there
        return "" if fits and low <= int(self.value) <= high else f"expected a whole number from {low} to {high}"

    @property
    def _wrong_member(self) -> str:
        if self.value not in map(str, range(1, MOST_MEMBERS + 1)):
            return f"expected which member it is, from 1 to {MOST_MEMBERS},"
        timed = 0 < self.since < self.until <= LONGEST_TRIAL
        return "" if timed else "expected from and until in seconds after the warm-up, the first before the second,"


def by_end(settings: Iterable[Setting]) -> dict[tuple[SettingKind, End], Setting]:
    """Each setting at each of its ends alone."""
    return {(one.kind, end): replace(one, ends=(end,)) for one in settings for end in one.ends}


def together(alone: Iterable[Setting]) -> tuple[Setting, ...]:
    """Settings of one end each, with what is made alike at both as one setting again."""
    found: dict[Setting, tuple[End, ...]] = {}
    for one in alone:
        same = replace(one, ends=())
        found[same] = (*found.get(same, ()), *one.ends)
    return tuple(replace(one, ends=tuple(end for end in End if end in ends)) for one, ends in found.items())


def merged(before: Iterable[Setting], more: Iterable[Setting]) -> tuple[Setting, ...]:
    """What holds once `more` is made where `before` holds: the rest of it stays, also at the other end."""
    more = tuple(more)
    later = by_end(more)
    return (*_where(before, lambda one: (one.kind, one.ends[0]) not in later), *more)


def beyond(settings: Iterable[Setting], others: Iterable[Setting]) -> tuple[Setting, ...]:
    """What of the first is not among the others, at the end where it is not."""
    there = by_end(others)
    return tuple(_where(settings, lambda one: there.get((one.kind, one.ends[0])) != one))


def _where(settings: Iterable[Setting], so: Callable[[Setting], bool]) -> Iterator[Setting]:
    """The settings at those of their ends at which that is so of them alone."""
    for one in settings:
        if ends := tuple(end for end in one.ends if so(replace(one, ends=(end,)))):
            yield replace(one, ends=ends)
