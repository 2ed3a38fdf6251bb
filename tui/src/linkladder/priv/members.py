"""Takes a member of a bundle down for a while and up again, as if its cable were pulled and plugged in.

Only a card with another member in its bundle may be taken down. Any measuring adapter may be brought up, as an undo
must never be refused.
"""

from __future__ import annotations

import json
import re

from linkladder.priv.appliance import measuring_adapter
from linkladder.priv.checks import Refused, exactly, one_of
from linkladder.priv.running import capture

IFCONFIG = "/sbin/ifconfig"
PROGRAMS = ("/usr/sbin/ip", "/sbin/ip")


def member_steps(system: str, args: list[str]) -> list[list[str]]:
    """member INTERFACE up | down"""
    exactly(args, "interface", "state")
    name, state = measuring_adapter(args[0]), one_of(args[1], "state", ("up", "down"))
    if state == "down" and not beside(system, name):
        raise Refused("interface", f"{name} is no member of a bundle with another one beside it")
    if system == "FreeBSD":
        return [[IFCONFIG, name, state]]
    return [["/usr/sbin/ip", "link", "set", "dev", name, state]]


def beside(system: str, name: str) -> set[str]:
    """The other members of the interface's bundle: a lagg, a bond, or the next hops of one route."""
    bundles = _of_lagg(capture([IFCONFIG, "-a"])) if system == "FreeBSD" else [*_of_bonds(name), *_of_routes()]
    return set().union(*(one - {name} for one in bundles if name in one))


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
    text = next(filter(None, (capture([ip, "-j", "route", "show"]) for ip in PROGRAMS)), "[]")
    return [{hop["dev"] for hop in route["nexthops"]} for route in json.loads(text) if "nexthops" in route]
