"""The two slots for a system on a disk, and which of them is running, was tried, or starts next.

They are partitions of one disk with the labels below. The boot program of either firmware (gptboot, gptboot.efi) starts
the one that is marked `bootme`. One that is also marked `bootonce` is started once: its `bootme` is removed before the
start, and if it is not confirmed before the next start, it is marked `bootfailed` and the other one starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

LABELS = ("llroot", "llroot2")


@dataclass(frozen=True)
class Slot:
    """One partition for a system."""

    device: str  # such as vtbd0p3
    index: int
    size: int
    uuid: str
    label: str
    marks: frozenset[str]  # bootme, bootonce, bootfailed


@dataclass(frozen=True)
class Slots:
    """The slot of the running system, and the other slot if this disk has one."""

    disk: str
    running: Slot
    other: Slot | None

    @property
    def on_trial(self) -> bool:
        """Whether the running system was started once and is not confirmed yet."""
        return "bootonce" in self.running.marks and "bootme" not in self.running.marks

    @property
    def failed(self) -> bool:
        """Whether the other slot's system was started but not confirmed, so that this one runs again."""
        return self.other is not None and "bootfailed" in self.other.marks


def slots_of(confxml: str, root: str) -> Slots | None:
    """The slots, from the kernel's XML description of its disks and the device of /; None if / is not on a slot."""
    try:
        mesh = ElementTree.fromstring(confxml.strip("\0\n "))
    except ElementTree.ParseError:
        return None
    wanted = root.removeprefix("/dev/")
    for geom in mesh.findall("./class[name='LABEL']/geom"):
        if any(provider.findtext("name") == wanted for provider in geom.findall("provider")):
            wanted = geom.findtext("name", "")
            break
    for geom in mesh.findall("./class[name='PART']/geom"):
        found = [_slot(one) for one in geom.findall("provider") if one.findtext("config/type") == "freebsd-ufs"]
        running = next((slot for slot in found if slot.device == wanted), None)
        if running is not None:
            others = [slot for slot in found if slot is not running and slot.label in LABELS]
            return Slots(geom.findtext("name", ""), running, others[0] if len(others) == 1 else None)
    return None


def _slot(provider: ElementTree.Element) -> Slot:
    return Slot(
        provider.findtext("name", ""),
        int(provider.findtext("config/index", "0")),
        int(provider.findtext("mediasize", "0")),
        provider.findtext("config/rawuuid", ""),
        provider.findtext("config/label", ""),
        frozenset(one.text or "" for one in provider.findall("config/attrib")),
    )
