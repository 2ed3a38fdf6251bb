"""The verbs: which user may use each, and the steps into which its checked arguments are turned."""

from __future__ import annotations

from collections.abc import Callable

from linkladder.priv import access, appliance, firewall, modules, ping, sysctls
from linkladder.priv.checks import LIMIT, Refused, cpus, exactly, number, one_of, shown

# A step is a command line whose program is an absolute path, or a function that needs no process.
Step = list[str] | Callable[[], None]
Builder = Callable[[str, list[str]], list[Step]]

MEASURE, OPERATOR = "measure", "operator"
CLASSES = (MEASURE, OPERATOR)
FLAGS = ("tso", "lro", "rxcsum", "txcsum")
ADAPTIVE = "adaptive-moderation"  # of interrupts: no flag of ifconfig, but a sysctl of the driver
FREEBSD_FLAGS = (*FLAGS, "tso4", "tso6", "rxcsum6", "txcsum6", ADAPTIVE)
LINUX_FLAGS = {"tso": "tso", "lro": "lro", "gso": "gso", "gro": "gro", "rxcsum": "rx", "txcsum": "tx"}
MAX_ARGUMENTS = 128


def build(cls: str, verb: str, args: list[str], system: str) -> list[Step]:
    """Check a request and return its steps, or raise Refused; nothing has been done when this returns."""
    one_of(cls, "class", CLASSES)
    if verb not in VERBS:
        raise Refused("verb", f"there is no {shown(verb)}")
    owner, builder = VERBS[verb]
    if owner == OPERATOR and cls != OPERATOR:
        raise Refused("verb", f"{verb} is for the operator at the console only")
    if len(args) > MAX_ARGUMENTS:
        raise Refused("arguments", f"more than {MAX_ARGUMENTS}")
    for position, text in enumerate(args, 1):
        if len(text) > LIMIT or not text.isascii() or not text.isprintable():
            raise Refused(f"argument {position}", f"too long, or holds a character that is not allowed: {shown(text)}")
    if owner == OPERATOR and system != "FreeBSD":
        raise Refused("verb", f"{verb} changes an appliance; this is {system}, which its owner sets up")
    return builder(system, args)


def _iface_flags(system: str, args: list[str]) -> list[Step]:
    exactly(args[:2], "interface", "flags")
    name = appliance.measuring_adapter(args[0])
    known = FREEBSD_FLAGS if system == "FreeBSD" else tuple(LINUX_FLAGS)
    flags = [(one_of(text.removeprefix("-"), "flags", known), not text.startswith("-")) for text in args[1:]]
    if system == "FreeBSD":
        options = [flag if on else f"-{flag}" for flag, on in flags if flag != ADAPTIVE]
        assigned = [sysctls.adaptive_moderation(name, on) for flag, on in flags if flag == ADAPTIVE]
        made: list[Step] = [["/sbin/ifconfig", name, *options]] if options else []
        return [*made, *(["/sbin/sysctl", one] for one in assigned)]
    words = [word for flag, on in flags for word in (LINUX_FLAGS[flag], "on" if on else "off")]
    return [["/usr/sbin/ethtool", "-K", name, *words]]


def _mtu(system: str, args: list[str]) -> list[Step]:
    exactly(args, "interface", "mtu")
    name, size = appliance.measuring_adapter(args[0]), number(args[1], "mtu", 576, 65536)
    if system == "FreeBSD":
        return [["/sbin/ifconfig", name, "mtu", size]]
    return [["/usr/sbin/ip", "link", "set", "dev", name, "mtu", size]]


def _moderation(system: str, args: list[str]) -> list[Step]:
    """How many microseconds a card waits after a packet before it interrupts; on FreeBSD that is a driver's sysctl."""
    exactly(args, "interface", "microseconds")
    name, usecs = appliance.measuring_adapter(args[0]), number(args[1], "microseconds", 0, 65535)
    if system == "FreeBSD":
        raise Refused("verb", "the drivers of FreeBSD have sysctls for it")
    return [["/usr/sbin/ethtool", "-C", name, "rx-usecs", usecs]]


def _sysctl(system: str, args: list[str]) -> list[Step]:
    exactly(args, "name", "value")
    name, value = args[0], sysctls.check(system, args[0], args[1])
    if name.startswith("dev."):
        appliance.not_management("".join(name.split(".")[1:3]))
    if system == "FreeBSD":
        return [["/sbin/sysctl", f"{name}={value}"]]
    return [lambda: _write("/proc/sys/" + name.replace(".", "/"), value)]


def _lagg(system: str, args: list[str]) -> list[Step]:
    from linkladder.priv import lagg  # imported late, so that other verbs start faster

    return lagg.lagg_steps(system, args)


def _of_queues(kind: str) -> Builder:
    def build_steps(system: str, args: list[str]) -> list[Step]:
        from linkladder.priv import queues  # imported late, for the same reason

        return [*queues.steps(kind, system, args)]

    return build_steps


def _member(system: str, args: list[str]) -> list[Step]:
    from linkladder.priv import members  # imported late, for the same reason

    return [*members.member_steps(system, args)]


def _undo(system: str, args: list[str]) -> list[Step]:
    from linkladder.priv import undo  # imported late, for the same reason

    return undo.undo_steps(args, lambda verb, words: build(MEASURE, verb, words, system))


def _cpuset(system: str, args: list[str]) -> list[Step]:
    """Set which cores serve an interrupt; a user's own processes can be bound to cores without root."""
    exactly(args, "irq", "cpus")
    irq, where = number(args[0], "irq", 0, 65535), cpus(args[1])
    if system == "FreeBSD":
        return [["/usr/bin/cpuset", "-l", where, "-x", irq]]
    return [lambda: _write(f"/proc/irq/{irq}/smp_affinity_list", where)]


def _address(args: list[str]) -> list[Step]:
    from linkladder.priv import interface_addresses  # imported late, for the same reason

    return interface_addresses.address_steps(args)


def _accept(args: list[str]) -> list[Step]:
    from linkladder.priv import accepted  # imported late, for the same reason

    return accepted.accept_steps(args)


def _ping(system: str, args: list[str]) -> list[Step]:
    return [["/sbin/ping" if system == "FreeBSD" else "/usr/bin/ping", *ping.parse(system, args)]]


def _write(path: str, value: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(value)


def _operator(build_steps: Callable[[list[str]], list[Step]]) -> tuple[str, Builder]:
    return OPERATOR, lambda _system, args: build_steps(args)


VERBS: dict[str, tuple[str, Builder]] = {
    "iface-flags": (MEASURE, _iface_flags),
    "mtu": (MEASURE, _mtu),
    "moderation": (MEASURE, _moderation),
    "queues": (MEASURE, _of_queues("queues")),
    "ring": (MEASURE, _of_queues("ring")),
    "queue-core": (MEASURE, _of_queues("queue-core")),
    "lagg": (MEASURE, _lagg),
    "member": (MEASURE, _member),
    "sysctl": (MEASURE, _sysctl),
    "undo": (MEASURE, _undo),
    "module": (MEASURE, modules.steps),
    "cpuset": (MEASURE, _cpuset),
    "ping": (MEASURE, _ping),
    "trial-open": (MEASURE, firewall.open_steps),
    "trial-close": (MEASURE, firewall.close_steps),
    "hostname": _operator(appliance.host_name_steps),
    "address": _operator(_address),
    "frames": _operator(appliance.frames_steps),
    "offloads": _operator(appliance.offloads_steps),
    "congestion": _operator(appliance.congestion_steps),
    "tests-on-management": _operator(appliance.tests_on_management_steps),
    "accept-settings": _operator(_accept),
    "timezone": _operator(appliance.time_zone_steps),
    "ssh": _operator(access.ssh_steps),
    "usb-mount": _operator(appliance.mount_steps),
    "usb-unmount": _operator(appliance.unmount_steps),
    "kernel-next": _operator(appliance.kernel_steps),
    "kernel-usual": _operator(appliance.usual_kernel_steps),
    "install": _operator(appliance.install_steps),
    "reset-identity": _operator(appliance.reset_identity_steps),
    "upgrade": _operator(appliance.upgrade_steps),
    "reboot": _operator(appliance.reboot_steps),
    "shutdown": _operator(appliance.shutdown_steps),
}
