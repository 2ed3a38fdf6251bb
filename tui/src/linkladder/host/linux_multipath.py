"""Linux: treats the cards that lead to the next hops of a multipath route as a bundle.

The bundle's interface is the one that owns the source address of the route, such as a loopback of a host that is
connected to two switches. The kernel spreads flows over the hops by a hash.
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
    """The bundle of this interface; None if no route from its addresses has several next hops."""
    return bundles().get(name)


def bundles() -> dict[str, Bundle]:
    """All bundles, by the interface that owns the source address of the multipath route."""
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
