"""Makes cards one bundle (lagg) for a while and takes it apart again; a record of root says how each card was before.

Joining a bundle takes a card's addresses and gives it the first card's MAC and MTU and only the offloads that all cards
have. Leaving it restores neither MTU nor addresses and switches the card off. So everything is recorded first, restored
card by card from the record, and read back. The record is where a boot deletes it, as a boot removes the bundle.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass

from linkladder.priv.appliance import measuring_adapter
from linkladder.priv.checks import Refused, exactly, one_of
from linkladder.priv.running import Failed, capture, run

Step = list[str] | Callable[[], None]
RECORD = "/var/run/linkladder-lagg"
LEASES = "/var/run/dhclient"
IFCONFIG = "/sbin/ifconfig"
SHOWN = ("-f", "inet:cidr,inet6:cidr")  # options with which ifconfig prints the addresses' prefixes
PROTOCOLS = ("roundrobin", "loadbalance", "failover", "lacp")
FEWEST, MOST = 2, 4
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
    """What joining a bundle changes of a card."""

    name: str
    mac: str
    mtu: int
    up: bool
    offloads: tuple[str, ...]
    addresses: tuple[str, ...]  # with their prefixes

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
    return Card(
        name,
        mac[1],
        int(head[2]),
        "UP" in head[1].split(","),
        tuple(ours for theirs, ours in OFFLOADS.items() if theirs in on),
        tuple(sorted(address + prefix for address, prefix in found)),
    )


def lagg_steps(system: str, args: list[str]) -> list[Step]:
    """lagg join PROTOCOL CARD CARD... | lagg part"""
    exactly(args[:1], "what")
    if system != "FreeBSD":
        raise Refused("verb", f"lagg is FreeBSD's, and this is {system}")
    if one_of(args[0], "what", ("join", "part")) == "part":
        exactly(args, "what")
        return [part]
    exactly(args[:4], "what", "protocol", "card", "card")
    protocol = one_of(args[1], "protocol", PROTOCOLS)
    names = [measuring_adapter(text) for text in args[2:]]
    if len(names) > MOST or len(set(names)) < len(names):
        raise Refused("card", f"expected {FEWEST} to {MOST} different ones")
    return [lambda: join(protocol, names)]


def join(protocol: str, names: list[str]) -> None:
    """Make the cards one bundle that gets their addresses; fails without any change if that could not be undone."""
    part()  # first undo what an earlier call left
    cards = [_present(name) for name in names]
    _check(protocol, cards)
    taken = capture([IFCONFIG, "-l"]).split()
    made = next(f"lagg{n}" for n in range(64) if f"lagg{n}" not in taken)
    _remember(made, cards)
    moved = [a for one in cards for a in one.addresses if not _own(a)]
    try:
        for one in cards:
            for address in (a for a in one.addresses if a in moved):
                run([IFCONFIG, one.name, "inet", address.partition("/")[0], "delete"])
            if not one.up:
                run([IFCONFIG, one.name, "up"])
        ports = [word for one in cards for word in ("laggport", one.name)]
        run([IFCONFIG, made, "create"])
        run([IFCONFIG, made, "laggproto", protocol, *ports, *(("promisc",) if _guest() else ()), "up"])
        for address in moved:
            run([IFCONFIG, made, "inet", address, "alias"])
    except Failed:
        part()
        raise


def part() -> None:
    """Remove the bundle that `join` made and restore every card, reading each back; does nothing without a bundle.

    Two callers at once, such as the undo process and the holder of a lease, take turns.
    """
    with open(f"{RECORD}.lock", "w", encoding="ascii") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        _part()


def _part() -> None:
    made, cards = _remembered()
    if made and made in capture([IFCONFIG, "-l"]).split():
        _surely([IFCONFIG, made, "destroy"])
    for before in cards:
        _put_back(before)
    _forget()


def _put_back(before: Card) -> None:
    for attempt in range(TRIES):
        now = _present(before.name)
        if now == before:
            return
        if attempt:
            time.sleep(PAUSE)
        name = [IFCONFIG, before.name]
        if now.mac != before.mac:
            _surely([*name, "ether", before.mac])
        if now.mtu != before.mtu:
            _surely([*name, "mtu", str(before.mtu)])
        if now.offloads != before.offloads:
            _surely([*name, *(flag if flag in before.offloads else f"-{flag}" for flag in _unlike(now, before))])
        if now.up != before.up:
            _surely([*name, "up" if before.up else "down"])
        now = _present(before.name)  # a card that has just come up has given itself a link-local address
        for address in set(now.addresses) - set(before.addresses):
            _surely([*name, _family(address), address.partition("/")[0], "delete"])
        for address in set(before.addresses) - set(now.addresses):
            _surely([*name, _family(address), address, "alias"])
    raise Failed(f"{before} could not be put back: it is {_present(before.name)}")


def _surely(argv: list[str]) -> None:
    """Run a step to its end even if the caller has gone, so that nothing is left half restored."""
    run(argv, watch_caller=False)


def _unlike(now: Card, before: Card) -> list[str]:
    return [flag for flag in OFFLOADS.values() if (flag in now.offloads) != (flag in before.offloads)]


def _present(name: str) -> Card:
    found = card(name, capture([IFCONFIG, *SHOWN, name]))
    if found is None:
        raise Failed(f"{name} is no Ethernet card, or is gone")
    return found


def _check(protocol: str, cards: list[Card]) -> None:
    """Raise Failed if something about a card could not be restored, or if the bundle could not work."""
    if protocol == "lacp" and (guest := _guest()):
        raise Failed(f"this is a guest ({guest}), and a hypervisor's switch speaks no LACP with its guests")
    routes = [line.split() for line in capture(["/usr/bin/netstat", "-rnW"]).splitlines()]
    bundled = re.findall(r"^\s+(?:laggport|member): (\S+)", capture([IFCONFIG, "-a"]), re.MULTILINE)
    for one in cards:
        if one.name in bundled:
            raise Failed(f"{one.name} is in a bundle or bridge already")
        if re.match(r"(lagg|vlan|bridge|tap|epair)\d|.*\.", one.name):
            raise Failed(f"{one.name} is no card by itself")
        if _has_client(one.name):
            raise Failed(f"{one.name} has its address by DHCP, which would not come back: give it a fixed one")
        if any(":" in a and not _own(a) for a in one.addresses):
            raise Failed(f"{one.name} has IPv6 addresses, which joining a bundle removes")
        via = next((row[0] for row in routes if len(row) > 3 and one.name in row[3:] and "G" in row[2]), "")
        if via:
            raise Failed(f"{one.name} leads to {via} through a router, and that route would not come back")


def _guest() -> str:
    """The hypervisor of this guest; '' on bare metal.

    A guest's card may accept only frames for its own MAC (QEMU's vmxnet3 ignores the bundle's MAC that FreeBSD sets),
    so a guest's bundle makes its cards promiscuous.
    """
    found = capture(["/sbin/sysctl", "-n", "kern.vm_guest"]).strip()
    return "" if found == "none" else found


def _has_client(name: str) -> bool:
    try:
        with open(f"{LEASES}/dhclient.{name}.pid", encoding="ascii") as file:
            os.kill(int(file.read()), 0)
    except (OSError, ValueError):
        return False
    return True


def _own(address: str) -> bool:
    """Whether it is an IPv6 link-local address, which the system itself gives to every card."""
    return address.startswith("fe80:")


def _family(address: str) -> str:
    return "inet6" if ":" in address else "inet"


def _boot() -> str:
    """What is different after every boot: a random number of the kernel's, as kern.boottime moves when a clock is set.

    -x, as sysctl prints bytes in no other way. Where there is none, a boot's emptying /var/run has to do.
    """
    return capture(["/sbin/sysctl", "-nx", "kern.boot_id"]).strip()


def _remember(made: str, cards: list[Card]) -> None:
    """Write the record; it is completely on disk when this returns."""
    text = json.dumps({"boot": _boot(), "made": made, "cards": [astuple(one) for one in cards]})
    with open(f"{RECORD}.new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{RECORD}.new", RECORD)


def _remembered() -> tuple[str, list[Card]]:
    """The bundle that was made in this boot and its cards' earlier state; ('', []) if there is none."""
    try:
        with open(RECORD, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return "", []
    if found["boot"] and (now := _boot()) and found["boot"] != now:
        return "", []
    return found["made"], [
        Card(name, mac, mtu, up, tuple(offloads), tuple(addresses))
        for name, mac, mtu, up, offloads, addresses in found["cards"]
    ]


def _forget() -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(RECORD)
