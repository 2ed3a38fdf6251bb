"""The disks of a FreeBSD machine and what is on them, for installing and for saving a report."""

from __future__ import annotations

import os
from dataclasses import dataclass

from linkladder import units
from linkladder.host.backends import backend
from linkladder.host.programs import output

SET = "/usr/freebsd-dist/MANIFEST"  # what an installation unpacks; only the live media and the images have it


@dataclass(frozen=True)
class Part:
    """A partition, or a whole disk that has a file system without partitions."""

    kind: str  # such as freebsd-ufs, efi, ms-basic-data; '' for a whole disk
    size: int
    label: str = ""
    device: str = ""  # such as da1s1


@dataclass(frozen=True)
class Disk:
    """A whole disk; `used` if the running system or a mounted file system is on it."""

    name: str
    size: int
    maker: str = ""
    parts: tuple[Part, ...] = ()
    used: bool = False
    partitioned: bool = False  # it has a partition table, which may be empty
    sector: int = 512  # bytes

    @property
    def title(self) -> str:
        """The disk's name, size and maker, such as 'da0, 12 GB, QEMU HARDDISK', and what is odd about its sectors."""
        odd = f"sectors of {self.sector} bytes" if self.sector != 512 else ""
        return ", ".join(word for word in (self.name, units.size(self.size), self.maker, odd) if word)

    @property
    def content(self) -> str:
        """What is on the disk, according to its partition table and labels."""
        if not self.parts:
            return "no partitions and no label"
        partitions = [
            f"{part.kind or 'a file system on the whole disk,'} {units.size(part.size)}"
            + (f" ({part.label})" if part.label else "")
            for part in self.parts
        ]
        return partitions[0] if not self.parts[0].kind else f"partitions {', '.join(partitions)}"


def disks() -> tuple[Disk, ...]:
    """All disks to install onto, including those in use; () if this system cannot install."""
    return attached() if os.path.exists(SET) else ()


def attached() -> tuple[Disk, ...]:
    """All disks that are attached now, on FreeBSD; () elsewhere."""
    if backend().name != "FreeBSD":
        return ()
    from linkladder.priv.disks import in_use

    return disks_of(output(["sysctl", "-b", "kern.geom.confxml"]), in_use())


def disks_of(text: str, used: set[str]) -> tuple[Disk, ...]:
    """The disks in the kernel's XML description; `used` names those in use."""
    from xml.etree import ElementTree  # imported late, as it is seldom needed

    from linkladder.priv.checks import Refused
    from linkladder.priv.disks import DRIVERS, split

    try:
        mesh = ElementTree.fromstring(text.strip("\0\n "))
    except ElementTree.ParseError:
        return ()
    labels = {
        geom.findtext("name", ""): provider.findtext("name", "").rpartition("/")[2]
        for geom in mesh.findall("./class[name='LABEL']/geom")
        for provider in geom.findall("provider")
        if not provider.findtext("name", "").startswith(("gptid/", "diskid/"))
    }
    parts: dict[str, list[Part]] = {}
    for geom in mesh.findall("./class[name='PART']/geom"):
        mine = parts.setdefault(geom.findtext("name", ""), [])
        for provider in geom.findall("provider"):
            name = provider.findtext("name", "")
            label = provider.findtext("config/label", "") or labels.get(name, "")
            kind = provider.findtext("config/type", "")
            mine.append(Part(kind, int(provider.findtext("mediasize", "0")), label, name))
    found = []
    for provider in mesh.findall("./class[name='DISK']/geom/provider"):
        name, size = provider.findtext("name", ""), int(provider.findtext("mediasize", "0"))
        try:
            whole = split(name, "disk") == (name, "")
        except Refused:  # such as a CD
            continue
        if whole and size:
            maker = " ".join(provider.findtext("config/descr", "").split())
            on_it = parts.get(name) or ([Part("", size, labels[name], name)] if name in labels else [])
            sector = int(provider.findtext("sectorsize", "512"))
            found.append(Disk(name, size, maker, tuple(on_it), name in used, name in parts, sector))
    return tuple(sorted(found, key=lambda disk: (DRIVERS.index(disk.name.rstrip("0123456789")), disk.name)))
