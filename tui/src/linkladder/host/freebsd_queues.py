"""Pure functions that read what FreeBSD tells of a card's receive queues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

# A queue's packets as the drivers of vmx, ixl, vtnet (rxq), mce (rxstat) and ix (queue) name them.
_PACKETS = re.compile(
    r"\.(?:rxq|rxstat|queue)_?(\d+)\.(?:hstats\.(?:ucast|mcast|bcast)_packets|rx_packets|packets|ipackets)$"
)
_CORE = re.compile(r"\.iflib\.rxq_?(\d+)\.cpu$")


def packets(values: Mapping[str, str]) -> dict[int, int]:
    """What came in by each receive queue, by the driver's sysctls; {} of a driver that counts none."""
    found: Counter[int] = Counter()
    for name, value in values.items():
        if (match := _PACKETS.search(name)) and value.isdecimal():
            found[int(match[1])] += int(value)
    return dict(found)


def interrupts(table: str, card: str) -> dict[int, int]:
    """How often each receive queue of the card has interrupted, by `vmstat -i`."""
    named = re.findall(rf"^irq\d+: {re.escape(card)}:rxq?(\d+)\+?\s+(\d+)\s", table, re.MULTILINE)
    return {int(number): int(count) for number, count in named}


def cores(values: Mapping[str, str]) -> dict[int, int]:
    """The core that each receive queue is bound to; moving an interrupt does not change it."""
    found = ((_CORE.search(name), value.strip()) for name, value in values.items())
    return {int(match[1]): int(value) for match, value in found if match and value.isdecimal()}
