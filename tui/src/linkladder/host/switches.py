"""What the operator of an appliance may change, as it stands, and the USB sticks that could take a report."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from linkladder.host.commands import output, read
from linkladder.host.system import backend

SYSTEM = Path("/state/system")
EXPORT = Path("/state/export")  # the operator reads there what linkladder writes
STICK = Path("/media/usb")  # where the privileged helper mounts one
OPERATOR = "admin"
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
    )


def zone() -> str:
    """'Europe/Prague', or what the clock calls itself."""
    try:
        _, found, name = os.readlink("/etc/localtime").partition("zoneinfo/")
    except OSError:
        found = name = ""
    return name if found else time.tzname[0]


def next_kernel(text: str) -> str:
    """Of nextboot.conf, unless the boot that it was for has been."""
    settings = dict(line.partition("=")[::2] for line in text.splitlines())
    return settings.get("kernel", "").strip('"') if "YES" in settings.get("nextboot_enable", "").upper() else ""


def sticks() -> tuple[Stick, ...]:
    """Those that are in, as FreeBSD sees them; () elsewhere."""
    if backend().name != "FreeBSD":
        return ()
    from linkladder.priv.disks import in_use

    return sticks_of(output(["sysctl", "-b", "kern.geom.confxml"]), in_use())


def sticks_of(text: str, used: set[str]) -> tuple[Stick, ...]:
    """Those in the kernel's description of its disks, less those that are in use."""
    from xml.etree import ElementTree  # late: seldom needed

    try:
        mesh = ElementTree.fromstring(text.strip("\0\n "))
    except ElementTree.ParseError:
        return ()
    parted: dict[str, list[Stick]] = {}
    for geom in mesh.findall("./class[name='PART']/geom"):
        found = parted.setdefault(geom.findtext("name", ""), [])
        for provider in geom.findall("provider"):
            kind = provider.findtext("config/type", "")
            if kind in FAT or kind.startswith("fat"):
                found.append(Stick(provider.findtext("name", ""), int(provider.findtext("mediasize", "0"))))
    out = []
    for provider in mesh.findall("./class[name='DISK']/geom/provider"):
        disk, size = provider.findtext("name", ""), int(provider.findtext("mediasize", "0"))
        maker = " ".join(provider.findtext("config/descr", "").split())
        if disk.startswith("da") and disk not in used and size:
            for one in parted.get(disk, [Stick(disk, size)]):
                out.append(Stick(one.device, one.size, maker))
    return tuple(out)


def mounted_stick() -> str:
    """A folder on a stick that is mounted already and can be written, or ''."""
    for root in (Path("/mnt/usb"), STICK.parent):
        for place in (root, *(sorted(root.iterdir()) if root.is_dir() else ())):
            if place.is_dir() and os.path.ismount(place) and os.access(place, os.W_OK):
                return str(place)
    return ""
