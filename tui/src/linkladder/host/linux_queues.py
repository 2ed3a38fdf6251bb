"""Finds which cores serve the receive queues of a Linux card."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from linkladder.host import linux_text

NET, IRQ = Path("/sys/class/net"), Path("/proc/irq")
MANY = 512  # the most interrupts of one card that are read


def queue_cores(name: str) -> tuple[int, ...]:
    """The cores to which packets are steered (rps_cpus), else those that get the card's interrupts; () if unknown."""
    steered = (linux_text.cores_of_mask(_read(file)) for file in sorted((NET / name / "queues").glob("rx-*/rps_cpus")))
    return _all(steered) or _all(linux_text.cores_of_list(_read(file)) for file in _affinities(name))


def served_by(name: str) -> str:
    """The one core to which all receive queues' packets are steered; 'any' if none is, '' for anything else."""
    masks = [_read(file) for file in sorted((NET / name / "queues").glob("rx-*/rps_cpus"))]
    cores = {linux_text.cores_of_mask(mask) for mask in masks}
    if len(cores) != 1:
        return ""
    one = cores.pop()
    return "any" if not one else str(one[0]) if len(one) == 1 else ""


def _affinities(name: str) -> Iterable[Path]:
    """The affinity files of the card's interrupts; those of a paravirtual card belong to the bus device above it."""
    card = NET / name / "device"
    for folder in (card / "msi_irqs", card / ".." / "msi_irqs"):
        numbers = sorted(file.name for file in folder.glob("*"))[:MANY] if folder.is_dir() else []
        if numbers:
            return [IRQ / number / "effective_affinity_list" for number in numbers if number.isdecimal()]
    return ()


def _all(found: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({core for cores in found for core in cores}))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
