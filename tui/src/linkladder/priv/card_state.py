"""A card as ifconfig tells of it, and how every line of it comes back after something took it away."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from linkladder.priv.running import Failed, capture, run

LEASES = "/var/run/dhclient"
IFCONFIG = "/sbin/ifconfig"
SHOWN = ("-f", "inet:cidr,inet6:cidr")  # options with which ifconfig prints the addresses' prefixes
OFFLOADS = {
    "RXCSUM": "rxcsum",
    "TXCSUM": "txcsum",
    "RXCSUM_IPV6": "rxcsum6",
    "TXCSUM_IPV6": "txcsum6",
    "TSO4": "tso4",
    "TSO6": "tso6",
    "LRO": "lro",
    "VLAN_HWTAGGING": "vlanhwtag",
    "VLAN_HWCSUM": "vlanhwcsum",
    "VLAN_HWTSO": "vlanhwtso",
}
TRIES, PAUSE = 5, 0.5  # how often restoring a card is tried, as its link-local address comes and goes by itself


@dataclass(frozen=True)
class Card:
    """What joining a bundle changes of a card, and attaching it anew."""

    name: str
    mac: str
    mtu: int
    up: bool
    offloads: tuple[str, ...]
    addresses: tuple[str, ...]  # with their prefixes; of IPv4 as they stand, as the first is the one that it sends from

    def __str__(self) -> str:
        state = "up" if self.up else "down"
        return " ".join([self.name, self.mac, f"mtu {self.mtu}", state, ",".join(self.offloads), *self.addresses])


def card(name: str, text: str) -> Card | None:
    """The card that ifconfig prints with SHOWN; None if it is not an Ethernet card."""
    head = re.search(r"^\S+: flags=\w+<([^>]*)>.*\bmtu (\d+)", text, re.MULTILINE)
    mac = re.search(r"^\s+ether (\S+)", text, re.MULTILINE)
    if not head or not mac:
        return None
    options = re.search(r"^\s+options=\w+<([^>]*)>", text, re.MULTILINE)
    on = options[1].split(",") if options else []
    found = re.findall(r"^\s+inet6? ([0-9a-fA-F.:]+)(?:%\w+)?(/\d+)", text, re.MULTILINE)
    there = [address + prefix for address, prefix in found]
    return Card(
        name,
        mac[1],
        int(head[2]),
        "UP" in head[1].split(","),
        tuple(ours for theirs, ours in OFFLOADS.items() if theirs in on),
        (*(a for a in there if ":" not in a), *sorted(a for a in there if ":" in a)),
    )


def check(one: Card) -> None:
    """Raise Failed if something about a card could not be put back."""
    routes = [line.split() for line in capture(["/usr/bin/netstat", "-rnW"]).splitlines()]
    bundled = re.findall(r"^\s+(?:laggport|member): (\S+)", capture([IFCONFIG, "-a"]), re.MULTILINE)
    if one.name in bundled:
        raise Failed(f"{one.name} is in a bundle or bridge already")
    if re.match(r"(lagg|vlan|bridge|tap|epair)\d|.*\.", one.name):
        raise Failed(f"{one.name} is no card by itself")
    if has_client(one.name):
        raise Failed(f"{one.name} has its address by DHCP, which would not come back: give it a fixed one")
    if any(":" in a and not own(a) for a in one.addresses):
        raise Failed(f"{one.name} has IPv6 addresses, which would not come back")
    via = next((row[0] for row in routes if len(row) > 3 and one.name in row[3:] and "G" in row[2]), "")
    if via:
        raise Failed(f"{one.name} leads to {via} through a router, and that route would not come back")


def put_back(before: Card) -> None:
    for attempt in range(TRIES):
        now = present(before.name)
        if now == before:
            return
        if attempt:
            time.sleep(PAUSE)
        name = [IFCONFIG, before.name]
        if now.mac != before.mac:
            surely([*name, "ether", before.mac])
        if now.mtu != before.mtu:
            surely([*name, "mtu", str(before.mtu)])
        if now.offloads != before.offloads:
            surely([*name, *(flag if flag in before.offloads else f"-{flag}" for flag in _unlike(now, before))])
        if now.up != before.up:
            surely([*name, "up" if before.up else "down"])
        now = present(before.name)  # a card that has just come up has given itself a link-local address
        stays = _staying(now.addresses, before.addresses)
        for address in (a for a in now.addresses if a not in stays):
            surely([*name, _family(address), address.partition("/")[0], "delete"])
        for address in (a for a in before.addresses if a not in stays):
            surely([*name, _family(address), address, "alias"])
    raise Failed(f"{before} could not be put back: it is {present(before.name)}")


def _staying(now: tuple[str, ...], before: tuple[str, ...]) -> set[str]:
    """The addresses that are there already; of IPv4 none where one is missing that stood before them."""
    both = [a for a in now if ":" not in a and a in before]
    ordered = both == [a for a in before if ":" not in a][: len(both)]
    return {a for a in now if a in before and (ordered or ":" in a)}


def surely(argv: list[str]) -> None:
    """Run a step to its end even if the caller has gone, so that nothing is left half restored."""
    run(argv, watch_caller=False)


def _unlike(now: Card, before: Card) -> list[str]:
    return [flag for flag in OFFLOADS.values() if (flag in now.offloads) != (flag in before.offloads)]


def present(name: str) -> Card:
    found = card(name, capture([IFCONFIG, *SHOWN, name]))
    if found is None:
        raise Failed(f"{name} is no Ethernet card, or is gone")
    return found


def has_client(name: str) -> bool:
    try:
        with open(f"{LEASES}/dhclient.{name}.pid", encoding="ascii") as file:
            os.kill(int(file.read()), 0)
    except (OSError, ValueError):
        return False
    return True


def own(address: str) -> bool:
    """Whether it is an IPv6 link-local address, which the system itself gives to every card."""
    return address.startswith("fe80:")


def _family(address: str) -> str:
    return "inet6" if ":" in address else "inet"


def boot() -> str:
    """What is different after every boot: a random number of the kernel's, as kern.boottime moves when a clock is set.

    -x, as sysctl prints bytes in no other way. Where there is none, a boot's emptying /var/run has to do.
    """
    return capture(["/sbin/sysctl", "-nx", "kern.boot_id"]).strip()
