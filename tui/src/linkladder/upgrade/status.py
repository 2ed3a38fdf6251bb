"""Says in words which system runs, how the last upgrade ended and what starts next, from marks and records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from linkladder import __version__
from linkladder.upgrade import as_root
from linkladder.upgrade.parcel import UpgradeFault, development
from linkladder.upgrade.slots import Slots


@dataclass(frozen=True)
class Status:
    """The state in words; `trouble` is set if a person should be told without asking."""

    words: str
    slot: str = ""
    trouble: bool = False


def status() -> Status:
    """The present state, read from the disk's partition table and two small files."""
    try:
        slots = as_root.here()
    except (UpgradeFault, OSError):
        slots = None
    return status_of(slots, _record(as_root.RECORD), _why(as_root.WHY))


def status_of(slots: Slots | None, record: dict[str, str], why: str, version: str = __version__) -> Status:
    """The state that these marks on the disk and these records mean."""
    if slots is None or slots.other is None:
        return Status(f"{version} runs; this system cannot be upgraded in its place")
    slot, other, to = slots.running.device, slots.other, record.get("to", "a new system")
    before = record.get("from", "the earlier system")
    if slots.on_trial:
        return Status(f"{version} is on trial: it is kept once it is healthy, else {before} comes back", slot)
    if {"bootme", "bootonce"} <= other.marks:
        return Status(f"{version} runs; {to} is written and starts at the next boot, once", slot)
    if slots.failed:
        because = f": {why}" if why else ": it did not come up"
        words = f"the upgrade to {to} did not start{because}; the earlier system ({version}) is back"
        return Status(words, slot, trouble=True)
    return Status(f"{version} runs and is kept", slot)


def key_words(signers: Path | None = None) -> str:
    """Says by which key the upgrades are signed that this system accepts."""
    made = development(signers) if signers else development()
    if made is None:
        return "none: this system takes no upgrades"
    return "a development key, made by whoever built this image" if made else "the key that this image was built with"


def _record(file: Path) -> dict[str, str]:
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(k): str(v)[:40] for k, v in fields.items()} if isinstance(fields, dict) else {}


def _why(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")[:300]
    except OSError:
        return ""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def unsettled() -> str:
    """Why a restart now would start another system than the one that runs; '' if it would not."""
    try:
        slots = as_root.here()
    except (UpgradeFault, OSError):
        return ""
    if slots is None or slots.other is None:
        return ""
    if slots.on_trial:
        return "this system is on trial after an upgrade, and a restart would bring the earlier one back"
    pending = {"bootme", "bootonce"} <= slots.other.marks
    return "an upgrade is written, which the next restart would start" if pending else ""
