"""The two places on a disk for a system, and which of them runs, was tried, or comes next.

They are partitions of one disk with these labels; the boot program of either firmware (gptboot, gptboot.efi) starts the
one that is marked `bootme`.  One that is marked `bootonce` too is started once: before it is, its `bootme` is taken
away, and if nobody has confirmed it by the next start, that is remembered as `bootfailed` and the other one starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

LABELS = ("llroot", "llroot2")


@dataclass(frozen=True)
class Slot:
    """One partition for a system."""

    device: str  # vtbd0p3
    index: int
    size: int
    uuid: str
    label: str
    marks: frozenset[str]  # bootme, bootonce, bootfailed


@dataclass(frozen=True)
class Slots:
    """The one that runs, and the other one if this disk has it."""

    disk: str
    running: Slot
    other: Slot | None

    @property
    def on_trial(self) -> bool:
        """It was started once, and is not confirmed yet."""
        return "bootonce" in self.running.marks and "bootme" not in self.running.marks

    @property
    def failed(self) -> bool:
        """The other one was started, and this one is back."""
        return self.other is not None and "bootfailed" in self.other.marks


def slots_of(confxml: str, root: str) -> Slots | None:
    """From the kernel's description of its disks and the device that / lies on; None where / is no slot."""
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
