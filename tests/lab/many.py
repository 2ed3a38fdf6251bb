"""Up to eight appliances, each in a namespace of its own, each with a card of the link's rate, paired with alpha.

mg0 carries control, over one bridge; up0 is the card under test, held to the link's rate both ways and led through a
router.  Where a shared rate is given, every second appliance stands behind another router, and what goes from one side
to the other goes through one bucket: alpha, gamma, epsilon and eta here, beta, delta, zeta and theta there.
"""

from __future__ import annotations

from dataclasses import dataclass

from network import bucket
from spaces import ip
from world import Lab

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")


@dataclass
class ManyEnds(Lab):
    ends: int = 4
    shared: float = 0.0  # b/s of the uplink between the two sides; 0: there is none

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sites = NAMES[: self.ends]
        self.between = ("net", "far")

    def address(self, site: str, rung: str, version: int = 4) -> str:
        assert version == 4, "the lab of many ends has IPv4 alone"
        number = NAMES.index(site)
        return f"10.98.0.{number + 1}" if rung == "control" else f"10.98.{number + 10}.1"

    def router(self, site: str) -> str:
        return "far" if self.shared and NAMES.index(site) % 2 else "net"

    def _network(self) -> None:
        self._in("net", "ip", "link", "add", "control", "type", "bridge")
        self._in("net", "ip", "link", "set", "control", "up")
        for router in self.between:
            self._set(router, "net/ipv4/ip_forward", "1")
        self._uplink("uplink", 255, self.shared)
        for site in self.sites:
            self._veth(site, "mg0", f"c{site}")
            self._in("net", "ip", "link", "set", f"c{site}", "master", "control", "up")
            self._in(site, "ip", "addr", "add", f"{self.address(site, 'control')}/24", "dev", "mg0")
            self._in(site, "ip", "link", "set", "mg0", "up")
            self._card(site)

    def _uplink(self, name: str, number: int, rate: float) -> None:
        """Between the two routers: 10.98.NUMBER.1 here and .2 there, held to the rate if there is one."""
        peer = ["peer", "name", name, "netns", self.space("far")]
        ip("link", "add", name, "netns", self.space("net"), "type", "veth", *peer)
        for last, router in enumerate(self.between, 1):
            self._in(router, "ip", "addr", "add", f"10.98.{number}.{last}/30", "dev", name)
            self._in(router, "ip", "link", "set", name, "up")
            if rate:
                self._bucket(router, name, rate)

    def _across(self, router: str, net: str) -> None:
        """How a router reaches a network behind the other one."""
        self._in(router, "ip", "route", "add", net, "via", f"10.98.255.{2 if router == 'net' else 1}")

    def _card(self, site: str) -> None:
        router, other = self.router(site), "net" if self.router(site) == "far" else "far"
        peer = ["peer", "name", f"d{site}", "netns", self.space(router)]
        ip("link", "add", "up0", "netns", self.space(site), "type", "veth", *peer)
        net = self.address(site, "dc-link").rsplit(".", 1)[0]
        self._in(site, "ip", "addr", "add", f"{net}.1/24", "dev", "up0")
        self._in(site, "ip", "link", "set", "up0", "up")
        self._in(site, "ip", "route", "add", "10.98.0.0/16", "via", f"{net}.254")
        self._in(router, "ip", "addr", "add", f"{net}.254/24", "dev", f"d{site}")
        self._in(router, "ip", "link", "set", f"d{site}", "up")
        self._across(other, f"{net}.0/24")
        self._bucket(router, f"d{site}", self.link.rate)
        self._bucket(site, "up0", self.link.rate)

    def _bucket(self, space: str, device: str, rate: float) -> None:
        held = bucket(rate, self.link.latency_ms, self.link.burst)
        self._in(space, "tc", "qdisc", "replace", "dev", device, "root", *held)

    def describe_link(self) -> None:
        """link.toml at alpha: a mesh, its contract, what the pairs share, and by what each end takes part."""
        lines = [
            'plan = "mesh"',
            "",
            "[contract]",
            'port = "10G"',
            f"rate = {int(self.link.rate)}",
            'layer = "L2"',
            'circuit = "lab"',
        ]
        lines += [f"shared = {int(self.shared)}", ""] if self.shared else [""]
        for site in self.sites:
            name = "near" if site == "alpha" else site
            lines += [f"[end.{name}]", f'address = "{self.address(site, "dc-link")}"', 'interface = "up0"']
            lines += [f'site = "{"there" if self.router(site) == "far" else "here"}"', ""] if self.shared else [""]
        path = self.state("alpha") / "link.toml"
        path.write_text("\n".join(lines))
        self._own(path)
