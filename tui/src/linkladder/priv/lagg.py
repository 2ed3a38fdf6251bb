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
from collections.abc import Callable
from dataclasses import astuple

from linkladder.priv.appliance import measuring_adapter
from linkladder.priv.card_state import IFCONFIG, Card, boot, check, own, present, put_back, surely
from linkladder.priv.checks import Refused, exactly, one_of
from linkladder.priv.running import Failed, capture, run

Step = list[str] | Callable[[], None]
RECORD = "/var/run/linkladder-lagg"
PROTOCOLS = ("roundrobin", "loadbalance", "failover", "lacp")
FEWEST, MOST = 2, 4


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
    cards = [present(name) for name in names]
    _check(protocol, cards)
    taken = capture([IFCONFIG, "-l"]).split()
    made = next(f"lagg{n}" for n in range(64) if f"lagg{n}" not in taken)
    _remember(made, cards)
    moved = [a for one in cards for a in one.addresses if not own(a)]
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
        surely([IFCONFIG, made, "destroy"])
    for before in cards:
        put_back(before)
    _forget()


def _check(protocol: str, cards: list[Card]) -> None:
    """Raise Failed if something about a card could not be put back, or if the bundle could not work."""
    if protocol == "lacp" and (guest := _guest()):
        raise Failed(f"this is a guest ({guest}), and a hypervisor's switch speaks no LACP with its guests")
    for one in cards:
        check(one)


def _guest() -> str:
    """The hypervisor of this guest; '' on bare metal.

    A guest's card may accept only frames for its own MAC (QEMU's vmxnet3 ignores the bundle's MAC that FreeBSD sets),
    so a guest's bundle makes its cards promiscuous.
    """
    found = capture(["/sbin/sysctl", "-n", "kern.vm_guest"]).strip()
    return "" if found == "none" else found


def _remember(made: str, cards: list[Card]) -> None:
    """Write the record; it is completely on disk when this returns."""
    text = json.dumps({"boot": boot(), "made": made, "cards": [astuple(one) for one in cards]})
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
    if found["boot"] and (now := boot()) and found["boot"] != now:
        return "", []
    return found["made"], [
        Card(name, mac, mtu, up, tuple(offloads), tuple(addresses))
        for name, mac, mtu, up, offloads, addresses in found["cards"]
    ]


def _forget() -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(RECORD)
