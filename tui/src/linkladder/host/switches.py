"""Reads the settings that an appliance's operator may change, and the USB sticks that could take a report."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from linkladder.host.backends import backend
from linkladder.host.disks import Disk, Part, attached
from linkladder.host.programs import output, read

SYSTEM = Path("/state/system")
EXPORT = Path("/state/export")  # linkladder writes there what the operator is to fetch
STICK = Path("/media/usb")  # where the privileged helper mounts a stick
FAT = ("ms-basic-data", "efi", "!1", "!4", "!6", "!11", "!12", "!14")  # gpart's names for such partitions, besides fat*


@dataclass(frozen=True)
class Stick:
    """A FAT partition, or a whole disk without partitions, that is not in use."""

    device: str  # such as da1s1
    size: int = 0
    name: str = ""  # the maker's name for it


@dataclass(frozen=True)
class Appliance:
    """The appliance's settings; `why_not` says why they cannot be changed here, or is ''."""

    why_not: str = ""
    zone: str = ""
    ssh: bool | None = None  # None if this is not an appliance
    keys: int = 0
    password: bool = False
    kernel: str = ""  # the running kernel's folder under /boot
    kernels: tuple[str, ...] = ()
    next_kernel: str = ""  # the kernel for the next boot only
    management: str = ""  # the adapter by which the operator connects
    tests_on_management: bool = False  # a peer may test over it although there is another adapter


def appliance() -> Appliance:
    """Read the settings, from a few small files and one sysctl."""
    name = backend().name
    if name != "FreeBSD":
        return Appliance(f"this is {name}, which its owner sets up; only an appliance changes these", zone())
    if not SYSTEM.is_dir():
        return Appliance("this FreeBSD is no appliance: its owner sets it up", zone())
    settings = dict(line.partition("=")[::2] for line in read(str(SYSTEM / "rc.conf")).splitlines())
    keys = [line for line in read(str(SYSTEM / "ssh" / "operator_keys")).splitlines() if line.strip()]
    return Appliance(
        zone=zone(),
        ssh=settings.get("sshd_enable", "").strip('"').upper() == "YES",
        keys=len(keys),
        password=bool(read(str(SYSTEM / "ssh" / "sshd_config.d" / "password.conf"))),
        kernel=Path(output(["sysctl", "-n", "kern.bootfile"]).strip()).parent.name,
        kernels=tuple(sorted(path.parent.name for path in Path("/boot").glob("*/kernel"))),
        next_kernel=next_kernel(read("/boot/nextboot.conf")),
        management=settings.get("linkladder_management", "").strip('"'),
        tests_on_management=settings.get("linkladder_tests_on_management", "").strip('"') == "YES",
    )


def zone() -> str:
    """The time zone, such as 'Europe/Prague', or the clock's abbreviation of it."""
    try:
        _, found, name = os.readlink("/etc/localtime").partition("zoneinfo/")
    except OSError:
        found = name = ""
    return name if found else time.tzname[0]


def next_kernel(text: str) -> str:
    """The kernel that nextboot.conf names for the next boot; '' if there is none or that boot is over."""
    settings = dict(line.partition("=")[::2] for line in text.splitlines())
    return settings.get("kernel", "").strip('"') if "YES" in settings.get("nextboot_enable", "").upper() else ""


def sticks() -> tuple[Stick, ...]:
    """The USB sticks that are plugged in, on FreeBSD; () elsewhere."""
    return sticks_of(attached())


def sticks_of(disks: tuple[Disk, ...]) -> tuple[Stick, ...]:
    """The sticks among these disks that are not in use."""
    found = []
    for disk in disks:
        if disk.name.startswith("da") and not disk.used:
            whole = (Part("fat", disk.size, device=disk.name),)  # without a partition table it may be one file system
            for part in disk.parts if disk.partitioned else whole:
                if part.kind in FAT or part.kind.startswith("fat"):
                    found.append(Stick(part.device, part.size, disk.maker))
    return tuple(found)


def mounted_stick() -> str:
    """A folder on a stick that is already mounted and writable, or ''."""
    for root in (Path("/mnt/usb"), STICK.parent):
        for place in (root, *(sorted(root.iterdir()) if root.is_dir() else ())):
            if place.is_dir() and os.path.ismount(place) and os.access(place, os.W_OK):
                return str(place)
    return ""
