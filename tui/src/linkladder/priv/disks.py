"""Checks which disks may be written to: existing ones that the running system does not use."""

from __future__ import annotations

import os

from linkladder.priv.checks import DIGITS, LETTERS, Refused, word
from linkladder.priv.running import capture

# What GENERIC's drivers call their disks: most by CAM (da, ada, nda), controllers with volumes of their own otherwise.
DRIVERS = ("da", "ada", "nda", "nvd", "vtbd", "mmcsd", "mfid", "mfisyspd", "xbd", "aacd", "ipsd", "idad", "mlxd")
DEVICES = "/dev"


def split(text: str, field: str) -> tuple[str, str]:
    """The disk and the partition in a name, ('da1', 'p2') for da1p2."""
    word(text, field, LETTERS + DIGITS, 24)
    driver = text[: len(text) - len(text.lstrip(LETTERS))]
    rest = text[len(driver) :]
    unit = rest[: len(rest) - len(rest.lstrip(DIGITS))]
    if driver not in DRIVERS or not unit:
        raise Refused(field, f"not a disk: {text}")
    return driver + unit, rest[len(unit) :]


def unused_disk(text: str, field: str = "disk") -> str:
    """An existing whole disk that is not in use."""
    disk, part = split(text, field)
    if part:
        raise Refused(field, f"name the whole disk, {disk}")
    _present(text, field)
    if disk in in_use():
        raise Refused(field, f"{disk} holds the running system or is mounted")
    return disk


def usb_partition(text: str) -> str:
    """A partition, or the whole, of an existing USB or SCSI disk that is not in use."""
    disk, part = split(text, "partition")
    if not disk.startswith("da"):
        raise Refused("partition", f"{disk} is no USB disk")
    kind, digits = part[:1], part[1:]
    if part and (kind not in "sp" or not digits or digits.strip(DIGITS)):
        raise Refused("partition", f"not a partition: {text}")
    _present(text, "partition")
    if disk in in_use():
        raise Refused("partition", f"{disk} holds the running system or is mounted already")
    return text


def _present(name: str, field: str) -> None:
    if not os.path.exists(f"{DEVICES}/{name}"):
        raise Refused(field, f"there is no {name}")


def in_use() -> set[str]:
    """Every disk with a mounted file system, swap or a ZFS pool on it."""
    mounts = capture(["/sbin/mount", "-p"])
    swap = capture(["/usr/sbin/swapinfo"])
    labels = capture(["/sbin/glabel", "status", "-s"])
    pools = capture(["/sbin/zpool", "status", "-LP"]) if "\tzfs\t" in mounts or " zfs " in mounts else ""
    return disks_of(mounts, swap, labels, pools)


def disks_of(mounts: str, swap: str, labels: str, pools: str) -> set[str]:
    """The disks that the outputs of these programs name; labels are resolved to their disks."""
    bearers = {words[0]: words[-1] for line in labels.splitlines() if len(words := line.split()) >= 3}
    named = [line.split()[0] for text in (mounts, swap, pools) for line in text.splitlines() if line.split()]
    found = set()
    for name in named:
        plain = name.removeprefix("/dev/")
        plain = bearers.get(plain, plain)
        try:
            found.add(split(plain, "")[0])
        except Refused:
            continue
    return found
