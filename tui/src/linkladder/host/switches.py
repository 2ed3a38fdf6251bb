"""What the operator of an appliance may change, as it stands, and the USB sticks that could take a report."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from linkladder.host.backends import backend
from linkladder.host.disks import Disk, Part, attached
from linkladder.host.programs import output, read

SYSTEM = Path("/state/system")
EXPORT = Path("/state/export")  # the operator reads there what linkladder writes
STICK = Path("/media/usb")  # where the privileged helper mounts one
FAT = ("ms-basic-data", "efi", "!1", "!4", "!6", "!11", "!12", "!14")  # as gpart names such partitions, besides fat*


@dataclass(frozen=True)
class Stick:
    """A FAT partition, or whole disk without any, that nothing uses."""

    device: str  # da1s1
    size: int = 0
    name: str = ""  # the maker's


@dataclass(frozen=True)
class Appliance:
    """Its switches; `why_not` says why they cannot be turned here, '' where they can."""

    why_not: str = ""
    zone: str = ""
    ssh: bool | None = None  # None: not linkladder's to know
    keys: int = 0
    password: bool = False
    kernel: str = ""  # the folder under /boot that the running one came from
    kernels: tuple[str, ...] = ()
    next_kernel: str = ""  # for one boot
    management: str = ""  # the adapter that the operator comes in by
    tests_on_management: bool = False  # a peer may test over it though there is another


def appliance() -> Appliance:
    """Reads a few small files, and asks one sysctl on FreeBSD."""
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
    """'Europe/Prague', or what the clock calls itself."""
    try:
        _, found, name = os.readlink("/etc/localtime").partition("zoneinfo/")
    except OSError:
        found = name = ""
    return name if found else time.tzname[0]


def next_kernel(text: str) -> str:
    """The kernel that nextboot.conf names for the next boot; '' where there is none, or that boot has been."""
    settings = dict(line.partition("=")[::2] for line in text.splitlines())
    return settings.get("kernel", "").strip('"') if "YES" in settings.get("nextboot_enable", "").upper() else ""


def sticks() -> tuple[Stick, ...]:
    """The USB sticks that are in, as FreeBSD sees them; () elsewhere."""
    return sticks_of(attached())


def sticks_of(disks: tuple[Disk, ...]) -> tuple[Stick, ...]:
    """The sticks among these disks that nothing uses."""
    found = []
    for disk in disks:
        if disk.name.startswith("da") and not disk.used:
            whole = (Part("fat", disk.size, device=disk.name),)  # it may be, where there is no table to tell
            for part in disk.parts if disk.partitioned else whole:
                if part.kind in FAT or part.kind.startswith("fat"):
                    found.append(Stick(part.device, part.size, disk.maker))
    return tuple(found)


def mounted_stick() -> str:
    """A folder on a stick that is mounted already and can be written, or ''."""
    for root in (Path("/mnt/usb"), STICK.parent):
        for place in (root, *(sorted(root.iterdir()) if root.is_dir() else ())):
            if place.is_dir() and os.path.ismount(place) and os.access(place, os.W_OK):
                return str(place)
    return ""
