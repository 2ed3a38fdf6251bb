"""Pure functions that read what FreeBSD tells of a card's queues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from linkladder.model.settings import both_ways
from linkladder.priv.attaching import DEFAULT, VARIABLES, iflib_of

# A queue's packets as the drivers of vmx, ixl, vtnet (rxq), mce (rxstat) and ix (queue) name them.
_PACKETS = re.compile(
    r"\.(?:rxq|rxstat|queue)_?(\d+)\.(?:hstats\.(?:ucast|mcast|bcast)_packets|rx_packets|packets|ipackets)$"
)
_SENT = re.compile(r"\.txq(\d+)\.hstats\.[um]cast_packets$")  # as vmx does
_CORE = re.compile(r"\.iflib\.([rt]xq)_?(\d+)\.cpu$")


def packets(values: Mapping[str, str]) -> dict[int, int]:
    """What came in by each receive queue, by the driver's sysctls; {} of a driver that counts none."""
    return _by_queue(values, _PACKETS)


def sent(values: Mapping[str, str]) -> dict[int, int]:
    """What went out by each transmit queue, by the driver's sysctls; {} of a driver that is not known to count it."""
    return _by_queue(values, _SENT)


def _by_queue(values: Mapping[str, str], named: re.Pattern[str]) -> dict[int, int]:
    found: Counter[int] = Counter()
    for name, value in values.items():
        if (match := named.search(name)) and value.isdecimal():
            found[int(match[1])] += int(value)
    return dict(found)


def interrupts(table: str, card: str) -> dict[int, int]:
    """How often each receive queue of the card has interrupted, by `vmstat -i`."""
    named = re.findall(rf"^irq\d+: {re.escape(card)}:rxq?(\d+)\+?\s+(\d+)\s", table, re.MULTILINE)
    return {int(number): int(count) for number, count in named}


def cores(values: Mapping[str, str], side: str) -> dict[int, int]:
    """The core that each queue of a side, 'rxq' or 'txq', is bound to; moving an interrupt does not change it."""
    found = ((_CORE.search(name), value.strip()) for name, value in values.items())
    return {int(match[2]): int(value) for match, value in found if match and match[1] == side and value.isdecimal()}


def chosen(kind: str, card: str, values: Mapping[str, str]) -> str:
    """What a card that may be attached anew was attached with: 'default', '512', '512/default' or a core; else ''.

    Of queues it is how many there are, as a card may have fewer than it was asked for.
    """
    asked = [values.get(iflib_of(card) + name, "") for name in VARIABLES[kind]]
    if not iflib_of(card) or not all(asked):
        return ""
    if kind == "queues" and set(asked) != {"0"}:
        return both_ways(len(cores(values, "rxq")), len(cores(values, "txq")))
    if kind == "queue-core":  # which a card without MSI-X has its queue on by chance
        return asked[0] if cores(values, "rxq").get(0) == int(asked[0]) else ""
    return "/".join(dict.fromkeys(DEFAULT if one == "0" else one for one in asked))
