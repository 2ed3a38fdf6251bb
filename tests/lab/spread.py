"""Two ends that are bundles themselves: an address behind two cards, over which the kernel spreads flows by ports.

This kernel has no bonding; its multipath routes do what a bundle does.  A card that is down, or whose other end is, is
passed over, and taken again when it is back.
"""

from __future__ import annotations

from dataclasses import dataclass

from network import bucket
from spaces import ip
from world import Lab

CARDS = ("m0", "m1")


@dataclass
class Spread(Lab):
    """m0 and m1 lead straight from end to end, each held to the link's rate; b0 has the address."""

    between: tuple[str, ...] = ("net",)

    def address(self, site: str, rung: str, version: int = 4) -> str:
        assert version == 4, "this lab has IPv4 alone"
        number = 1 + self.sites.index(site)
        return f"10.98.0.{number}" if rung == "control" else f"10.98.5{number}.1"

    def _network(self) -> None:
        self._straight("mg0", [f"{self.address(site, 'control')}/24" for site in self.sites])
        for n, card in enumerate(CARDS):
            self._straight(card, [f"10.98.{240 + n}.{last}/30" for last in (1, 2)])
        for last, site in enumerate(self.sites, 1):
            for card in CARDS:
                held = bucket(self.link.rate, self.link.latency_ms, self.link.burst)
                self._in(site, "tc", "qdisc", "replace", "dev", card, "root", *held)
            self._set(site, "net/ipv4/fib_multipath_hash_policy", "1")
            self._set(site, "net/ipv4/conf/all/ignore_routes_with_linkdown", "1")
            self._in(site, "ip", "link", "add", "b0", "type", "veth", "peer", "name", "b0x")
            for card in ("b0", "b0x"):
                self._in(site, "ip", "link", "set", card, "up")
            self._in(site, "ip", "addr", "add", f"{self.address(site, 'dc-link')}/32", "dev", "b0")
            other = self.address(self.sites[2 - last], "dc-link")
            hops = [("nexthop", "via", f"10.98.{240 + n}.{3 - last}", "dev", card) for n, card in enumerate(CARDS)]
            own = self.address(site, "dc-link")
            self._in(site, "ip", "route", "add", f"{other}/32", "src", own, *(word for hop in hops for word in hop))

    def _straight(self, name: str, addresses: list[str]) -> None:
        """From the one end to the other, by one name at both."""
        there = ["type", "veth", "peer", "name", name, "netns", self.space(self.sites[1])]
        ip("link", "add", name, "netns", self.space(self.sites[0]), *there)
        for site, address in zip(self.sites, addresses, strict=True):
            self._in(site, "ip", "addr", "add", address, "dev", name)
            self._in(site, "ip", "link", "set", name, "up")

    def card_up(self, site: str, card: str) -> bool:
        """As the system's own program tells."""
        return "UP" in self._in(site, "ip", "link", "show", card).stdout.split("<")[1].split(">")[0].split(",")
