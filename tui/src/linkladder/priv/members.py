"""Takes a member of a bundle down for a while and up again, as if its cable were pulled and plugged in.

Only a card with another member in its bundle may be taken down, and only while that one is up. What was taken down is
noted by root, so that it may come up again whatever became of its bundle; no other card is touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from typing import Any

from linkladder.priv.appliance import measuring_adapter
from linkladder.priv.checks import Refused, exactly, one_of
from linkladder.priv.running import Failed, capture

Step = list[str] | Callable[[], None]
IFCONFIG = "/sbin/ifconfig"
PROGRAMS = ("/usr/sbin/ip", "/sbin/ip")
DOWN = "/var/run/linkladder-member.{}"  # exists while the card is down by this verb


def member_steps(system: str, args: list[str]) -> list[Step]:
    """member INTERFACE up | down"""
    exactly(args, "interface", "state")
    name, state = measuring_adapter(args[0]), one_of(args[1], "state", ("up", "down"))
    if state == "down" and not _carrying(system, beside(system, name)):
        raise Refused("interface", f"{name} is no member of a bundle with another one beside it that is up")
    switch = [IFCONFIG, name, state] if system == "FreeBSD" else ["/usr/sbin/ip", "link", "set", "dev", name, state]
    if state == "down":
        return [lambda: _note(name), switch]
    # An undo is built before its bundle is made, so that this is checked when it acts.
    return [lambda: _check_ours(system, name), switch, lambda: _forget(name)]


def _check_ours(system: str, name: str) -> None:
    if not os.path.lexists(DOWN.format(name)) and not beside(system, name):
        raise Failed(f"{name} is no member of a bundle, and was not taken down here")


def _note(name: str) -> None:
    os.close(os.open(DOWN.format(name), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def _forget(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(DOWN.format(name))


def beside(system: str, name: str) -> set[str]:
    """The other members of the interface's bundle: a lagg, a bond, or the next hops of one route."""
    bundles = _of_lagg(capture([IFCONFIG, "-a"])) if system == "FreeBSD" else [*_of_bonds(name), *_of_routes()]
    return set().union(*(one - {name} for one in bundles if name in one))


def _carrying(system: str, names: set[str]) -> set[str]:
    """Those of them that are up, so that a bundle never loses its last member to this verb."""
    if system == "FreeBSD":
        up = re.findall(r"^(\S+): flags=\w+<(?:\w+,)*UP[,>]", capture([IFCONFIG, "-a"]), re.MULTILINE)
        return names & set(up)
    return names & {link["ifname"] for link in _shown_by_ip("link") if "UP" in link["flags"]}


def _of_lagg(text: str) -> list[set[str]]:
    """The members of each lagg, from what ifconfig prints of all interfaces."""
    return [
        set(re.findall(r"^\s+laggport: (\S+)", part, re.MULTILINE)) for part in re.split(r"^(?=\S)", text, flags=re.M)
    ]


def _of_bonds(name: str) -> list[set[str]]:
    try:
        with open(f"/sys/class/net/{name}/master/bonding/slaves", encoding="ascii") as file:
            return [set(file.read().split())]
    except OSError:
        return []


def _of_routes() -> list[set[str]]:
    return [{hop["dev"] for hop in route["nexthops"]} for route in _shown_by_ip("route") if "nexthops" in route]


def _shown_by_ip(what: str) -> list[dict[str, Any]]:
    """What ip shows in this network namespace, of which /sys may tell nothing."""
    found: list[dict[str, Any]] = json.loads(
        next(filter(None, (capture([ip, "-j", what, "show"]) for ip in PROGRAMS)), "[]")
    )
    return found
