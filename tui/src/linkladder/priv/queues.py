"""Changes how many queues a card has, how long their rings are and which core serves them.

Linux does so while the card is in use. FreeBSD's iflib reads these when it attaches a card and never again
(sys/net/iflib.c, iflib_add_device_sysctl_pre), so a card of a driver that is known to bear it is attached anew
(`attaching`), and any other driver's is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from linkladder.priv.appliance import measuring_adapter
from linkladder.priv.checks import exactly, number
from linkladder.priv.running import Failed, capture, run

Step = list[str] | Callable[[], None]
QUEUES, RING, CORE = KINDS = ("queues", "ring", "queue-core")
MOST = {QUEUES: 128, RING: 16384}  # of one way
ETHTOOL = "/usr/sbin/ethtool"
NET = "/sys/class/net"


def steps(kind: str, system: str, args: list[str]) -> list[Step]:
    """queues | ring INTERFACE N or RX/TX; queue-core INTERFACE CORE or any"""
    exactly(args, "interface", kind)
    if system == "FreeBSD":
        from linkladder.priv import attaching  # imported late, as Linux has no need of it

        return [*attaching.steps(kind, args)]
    name, value = measuring_adapter(args[0]), args[1]
    if kind == CORE:
        core = value if value == "any" else number(value, kind, 0, 1023)
        return [lambda: _steer(name, core)]
    ways = tuple(number(one, kind, 1, MOST[kind]) for one in value.split("/", 1))
    if kind == RING:
        return [[ETHTOOL, "-G", name, "rx", ways[0], "tx", ways[-1]]]
    return [lambda: _channels(name, ways[0], ways[-1])]


def _channels(name: str, receiving: str, sending: str) -> None:
    """Cards have queues of both ways together, or some of each; ethtool tells which."""
    together = re.search(r"^Combined:\s+[1-9]", capture([ETHTOOL, "-l", name]), re.MULTILINE)
    if together and receiving != sending:
        raise Failed(f"{name} has as many queues for sending as for receiving")
    words = ["combined", receiving] if together else ["rx", receiving, "tx", sending]
    before = _steered(name)
    run([ETHTOOL, "-L", name, *words])
    for queue in set(_steered(name)) - set(before):  # which would be served elsewhere than the others
        _write_mask(name, queue, before["rx-0"])


def _steer(name: str, core: str) -> None:
    """Steer the packets of all receive queues to one core, or let each be served where its interrupt comes (0)."""
    mask = "0" if core == "any" else _mask(int(core))
    for queue in _steered(name):
        _write_mask(name, queue, mask)


def _steered(name: str) -> dict[str, str]:
    """To which cores the packets of each receive queue are steered, as masks."""
    found = {}
    for queue in sorted(one for one in os.listdir(f"{NET}/{name}/queues") if one.startswith("rx-")):
        with open(f"{NET}/{name}/queues/{queue}/rps_cpus", encoding="ascii") as file:
            found[queue] = file.read().strip()
    return found


def _write_mask(name: str, queue: str, mask: str) -> None:
    with open(f"{NET}/{name}/queues/{queue}/rps_cpus", "w", encoding="ascii") as file:
        file.write(mask)


def _mask(core: int) -> str:
    return ",".join([f"{1 << core % 32:x}", *["00000000"] * (core // 32)])
