"""Linux: an address behind several next hops is reached by a bundle of the cards that lead to them.

Its interface is the one that owns the address which the route sends from (a loopback or stub, as hosts have that speak
to two switches at once); the kernel spreads flows over the hops by a hash.
"""

from __future__ import annotations

from typing import Any

from linkladder.host import addresses
from linkladder.host.programs import document, output, read
from linkladder.model import Bundle, Member
from linkladder.model.hosts import MULTIPATH

POLICY = "/proc/sys/net/ipv4/fib_multipath_hash_policy"
HASHES = {"0": "l3", "1": "l3,l4", "2": "l3,inner", "3": "custom"}


def multipath(name: str) -> Bundle | None:
    """None where no route from the interface's addresses has several next hops."""
    return bundles().get(name)


def bundles() -> dict[str, Bundle]:
    """By the interface that owns the address which a route of several hops sends from."""
    found = document(output(["ip", "-j", "route", "show"]))
    routes = [one for one in found if isinstance(one, dict) and one.get("nexthops") and one.get("prefsrc")]
    owners = {str(one["prefsrc"]): one for one in routes} if routes else {}
    policy = HASHES.get(read(POLICY).strip(), "")
    return {owner: _bundle(one, policy) for source, one in owners.items() if (owner := addresses.interface_of(source))}


def _bundle(route: dict[str, Any], policy: str) -> Bundle:
    hops = {str(hop.get("dev", "")): hop.get("flags", ()) for hop in route["nexthops"]}
    members = tuple(
        Member(dev, () if {"dead", "linkdown"} & set(flags) else ("ACTIVE",)) for dev, flags in hops.items()
    )
    return Bundle(MULTIPATH, policy, members, active=sum(one.active for one in members))
