"""Finds which cores serve the receive queues of a Linux card, and how much passes by each and by those that send."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from linkladder.host import linux_text
from linkladder.host.cores import place_of
from linkladder.model import QueueCounters

NET, IRQ = Path("/sys/class/net"), Path("/proc/irq")
INTERRUPTS = Path("/proc/interrupts")
MANY = 512  # the most interrupts of one card that are read
# As drivers name a receive queue's count of packets, and its interrupt.
_PACKETS = re.compile(
    r"^(?:rx_queue_(\d+)_(?:xdp_)?packets|rx-?(\d+)[._](?:rx_)?packets|queue_(\d+)_rx_cnt|rx_packets\[(\d+)\])$"
)
_SENT = re.compile(r"^tx_queue_(\d+)_packets$")
_OF_QUEUE = re.compile(r"(?:rx|input|comp)[-.]?(\d+)", re.IGNORECASE)


def queue_cores(name: str) -> tuple[int, ...]:
    """The cores to which packets are steered (rps_cpus), else those that get the card's interrupts; () if unknown."""
    steered = (linux_text.cores_of_mask(_read(file)) for file in sorted((NET / name / "queues").glob("rx-*/rps_cpus")))
    return _all(steered) or _all(linux_text.cores_of_list(_read(file)) for file in _affinities(name))


def queues(name: str, statistics: Mapping[str, int]) -> tuple[QueueCounters, ...]:
    """Each receive queue's packets by the driver's statistics, else its interrupts, and the one core that serves it."""
    packets = packets_by_queue(statistics)
    numbers = {file.parent.name: file for file in _affinities(name)}
    interrupts = interrupts_by_queue(_read(INTERRUPTS), numbers) if numbers else {}
    found = []
    for number in sorted({*packets, *interrupts}):
        irq, count = interrupts.get(number, ("", None))
        steered = linux_text.cores_of_mask(_read(NET / name / "queues" / f"rx-{number}" / "rps_cpus"))
        cores = steered or (linux_text.cores_of_list(_read(numbers[irq])) if irq else ())
        core = place_of(cores[0]) if len(cores) == 1 else None
        found.append(QueueCounters(name, number, packets.get(number), count, core))
    return tuple(found)


def sending_queues(name: str, statistics: Mapping[str, int]) -> tuple[QueueCounters, ...]:
    """Each transmit queue's packets by the driver's statistics; which core sends is the sender's choice."""
    named = ((_SENT.match(word), count) for word, count in statistics.items())
    sent = {int(match[1]): count for match, count in named if match}
    return tuple(QueueCounters(name, number, count) for number, count in sorted(sent.items()))


def packets_by_queue(statistics: Mapping[str, int]) -> dict[int, int]:
    """Read what `ethtool -S` prints."""
    named = ((match, count) for word, count in statistics.items() if (match := _PACKETS.match(word)))
    return {int(next(filter(None, match.groups()))): count for match, count in named}


def interrupts_by_queue(table: str, wanted: Iterable[str]) -> dict[int, tuple[str, int]]:
    """Read /proc/interrupts: the number of the interrupt that each receive queue has of those wanted, and its count."""
    head, _, rest = table.partition("\n")
    cores, known, found = len(head.split()), set(wanted), {}
    for line in rest.splitlines():
        irq, _, words = line.strip().partition(":")
        counts = words.split()[:cores]
        if irq in known and (match := _OF_QUEUE.search(words.split()[-1])) and all(map(str.isdecimal, counts)):
            found[int(match[1])] = (irq, sum(map(int, counts)))
    return found


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
