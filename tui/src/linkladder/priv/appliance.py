"""The operator's verbs: what the console user may change on a FreeBSD appliance."""

from __future__ import annotations

import os
from collections.abc import Callable

from linkladder.priv import modules, sysctls
from linkladder.priv.checks import (
    DIGITS,
    LETTERS,
    Refused,
    exactly,
    host_name,
    interface,
    one_of,
    word,
)
from linkladder.priv.disks import unused_disk, usb_partition
from linkladder.priv.running import capture

Step = list[str] | Callable[[], None]
SERVICE, SHUTDOWN = "/usr/sbin/service", "/sbin/shutdown"
SYSTEM = "/state/system"
IDENTITY = "/usr/local/libexec/linkladder-machine"
RC_CONF = f"{SYSTEM}/rc.conf"  # the settings of this one machine, which /etc/rc.conf reads last
MOUNT_POINT = "/media/usb"
INSTALLER = "/usr/local/libexec/linkladder-install"
UPGRADER = "/usr/local/libexec/linkladder-upgrade"
ZONES = "/usr/share/zoneinfo"
BOOT = "/boot"
FRAMES = ("1500", "9000")
OFFLOADS = ("tso", "lro", "rxcsum", "txcsum")
CONGESTION = "net.inet.tcp.cc.algorithm"


def assign(assignment: str) -> list[str]:
    return ["/usr/sbin/sysrc", "-f", RC_CONF, assignment]


def forget(*names: str) -> list[Step]:
    """Remove the variables that are there, as sysrc fails over one that is not."""
    there = [name for name in names if setting(name)]
    return [["/usr/sbin/sysrc", "-f", RC_CONF, "-x", *there]] if there else []


def setting(name: str) -> str:
    """The last value of a variable in this machine's own rc.conf, or ''."""
    try:
        with open(RC_CONF, encoding="utf-8") as file:
            found = [line.strip().partition("=")[2] for line in file if line.startswith(f"{name}=")]
    except OSError:
        return ""
    return found[-1].strip('"') if found else ""


def measuring_adapter(text: str) -> str:
    """Any interface except the operator's, as a change that their network does not support would lock them out."""
    return not_management(interface(text))


def not_management(name: str) -> str:
    kept = setting("linkladder_management")
    if kept and name == kept:
        raise Refused("interface", f"{name} is the management adapter, which stays as it is")
    if kept and name in below(kept):
        raise Refused("interface", f"{name} carries the management adapter {kept}, and stays as it is")
    return name


def below(name: str) -> set[str]:
    """The cards on which an interface stands: of a VLAN (vmx0 of vmx0.10), of a bundle, or of one upon another."""
    import re  # imported late, as most verbs start faster without it

    shown = capture(["/sbin/ifconfig", name])
    found = {name.partition(".")[0], *re.findall(r"^\s+(?:laggport|member): (\S+)", shown, re.MULTILINE)}
    found |= set(re.findall(r"^\s+vlan: .*parent interface: (\S+)", shown, re.MULTILINE))
    found -= {name, "<none>"}
    return found.union(*map(below, found))


def host_name_steps(args: list[str]) -> list[Step]:
    """hostname NAME"""
    exactly(args, "name")
    name = host_name(args[0])
    return [assign(f"hostname={name}"), ["/bin/hostname", name]]


def in_rc_conf(name: str) -> str:
    """The name as part of a variable in rc.conf, with an underscore for each character that is not allowed there."""
    return "".join(c if c in LETTERS + DIGITS else "_" for c in name)


def frames_steps(args: list[str]) -> list[Step]:
    """frames INTERFACE 1500 | 9000: now and after every boot (lltune reads it)"""
    exactly(args, "interface", "mtu")
    name, size = measuring_adapter(args[0]), one_of(args[1], "mtu", FRAMES)
    return [["/sbin/ifconfig", name, "mtu", size], assign(f"linkladder_mtu_{in_rc_conf(name)}={size}")]


def offloads_steps(args: list[str]) -> list[Step]:
    """offloads INTERFACE FLAG=on|off ...: now and after every boot, beside those kept before (lltune reads it)"""
    exactly(args[:2], "interface", "offload")
    name = measuring_adapter(args[0])
    kept = f"linkladder_offloads_{in_rc_conf(name)}"
    wanted = {word.removeprefix("-"): word for word in setting(kept).split()}
    for text in args[1:]:
        flag, _, state = text.partition("=")
        one_of(flag, "offload", OFFLOADS)
        wanted[flag] = flag if one_of(state, "offload", ("on", "off")) == "on" else f"-{flag}"
    return [["/sbin/ifconfig", name, *wanted.values()], assign(f"{kept}={' '.join(wanted.values())}")]


def congestion_steps(args: list[str]) -> list[Step]:
    """congestion ALGORITHM: for new TCP connections, now and after every boot (lltune reads it)"""
    exactly(args, "algorithm")
    name = sysctls.check("FreeBSD", CONGESTION, args[0])
    return [*modules.loading(name), ["/sbin/sysctl", f"{CONGESTION}={name}"], assign(f"linkladder_congestion={name}")]


def tests_on_management_steps(args: list[str]) -> list[Step]:
    """tests-on-management yes | no: whether a peer's tests may use the management adapter"""
    exactly(args, "allowed")
    return [assign(f"linkladder_tests_on_management={one_of(args[0], 'allowed', ('yes', 'no')).upper()}")]


def time_zone_steps(args: list[str]) -> list[Step]:
    """timezone NAME, such as Europe/Prague"""
    exactly(args, "zone")
    name = word(args[0], "zone", LETTERS + DIGITS + "/_+-", 64)
    if any(not part[:1].isalpha() for part in name.split("/")) or not os.path.isfile(f"{ZONES}/{name}"):
        raise Refused("zone", f"there is none of the name {name}")
    # The link is lost with an upgrade of the system; llstate makes it again from the setting at every boot.
    return [assign(f"linkladder_timezone={name}"), ["/bin/ln", "-sf", f"{ZONES}/{name}", "/etc/localtime"]]


def mount_steps(args: list[str]) -> list[Step]:
    """usb-mount PARTITION"""
    exactly(args, "partition")
    if os.path.ismount(MOUNT_POINT):
        raise Refused("partition", "a stick is mounted already")
    device = usb_partition(args[0])
    options = "nosuid,noexec,-u=linkladder,-g=linkladder,-m=600,-M=700"  # FAT knows no owners: the console's alone
    return [
        lambda: os.makedirs(MOUNT_POINT, mode=0o755, exist_ok=True),
        ["/sbin/mount", "-t", "msdosfs", "-o", options, f"/dev/{device}", MOUNT_POINT],
    ]


def unmount_steps(args: list[str]) -> list[Step]:
    """usb-unmount"""
    exactly(args)
    return [["/sbin/umount", MOUNT_POINT]]


def kernel_steps(args: list[str]) -> list[Step]:
    """kernel-next NAME: for the next boot only, so that a power cycle gets rid of a kernel that does not boot."""
    exactly(args, "kernel")
    given = word(args[0], "kernel", LETTERS + DIGITS + "._-", 64)
    for name in (given, f"kernel.{given}", f"kernel.{given.upper()}"):
        if not name.startswith(".") and os.path.isfile(f"{BOOT}/{name}/kernel"):
            return [["/sbin/nextboot", "-k", name]]
    raise Refused("kernel", f"there is none of the name {given}")


def usual_kernel_steps(args: list[str]) -> list[Step]:
    """kernel-usual: forget what kernel-next chose, so that the next boot takes the kernel that any boot takes"""
    exactly(args)
    return [["/sbin/nextboot", "-D"]]


def install_steps(args: list[str]) -> list[Step]:
    """install DISK"""
    exactly(args, "disk")
    return [[INSTALLER, unused_disk(args[0])]]


def upgrade_steps(args: list[str]) -> list[Step]:
    """upgrade FILE [downgrade]: the upgrade program trusts only the file's signature"""
    exactly(args[:1], "file")
    if len(args) > 1:
        exactly(args, "file", "downgrade")
        one_of(args[1], "downgrade", ("downgrade",))
    path = word(args[0], "file", LETTERS + DIGITS + "/._+-", 1024)
    if not path.startswith("/") or ".." in path.split("/") or not path.endswith(".upgrade"):
        raise Refused("file", "is named from the root, without .., and ends in .upgrade")
    return [[UPGRADER, path, *args[1:]]]


def reboot_steps(args: list[str]) -> list[Step]:
    """reboot"""
    exactly(args)
    return [[SHUTDOWN, "-r", "now"]]


def reset_identity_steps(args: list[str]) -> list[Step]:
    """reset-identity: reboot, then make new keys and know no peers"""
    exactly(args)
    return [[IDENTITY, "--forget", SYSTEM], [SHUTDOWN, "-r", "now"]]


def shutdown_steps(args: list[str]) -> list[Step]:
    """shutdown"""
    exactly(args)
    return [[SHUTDOWN, "-p", "now"]]
