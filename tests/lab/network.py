"""The network of a lab: a namespace for each appliance, and a real, different path for each rung between them.

alpha and beta each have five interfaces: mg0 (control), sh0 (a direct veth pair: same-host), sv0 (through a
bridge: same-vlan), dc0 (through a router namespace with a token bucket: dc-link) and lo.
Everything is named after `prefix`, so that labs do not meet.
"""

from __future__ import annotations

import ipaddress
import subprocess
from dataclasses import dataclass, field

from delay import Delay
from spaces import ip
from taken import LabError

SITES = ("alpha", "beta")
CONGESTION = "cubic"  # what both systems use by default; a host's own choice would come in unasked
VLAN = 98
HELD_UP = 0.02  # seconds that a bucket saves up for: a busy machine, which serves it late, takes nothing from its rate
GENTLE = 3e8  # b/s: enough for a test that holds no rate against anything, and little work for the machine


@dataclass(frozen=True)
class Link:
    """The DC link's impairments."""

    rate: float = 1e9
    delay_ms: float = 0.0
    loss: float = 0.0  # percent
    mtu: int = 1500
    burst: int = 0  # bytes; 0: what HELD_UP is worth at this rate
    latency_ms: float = 20.0

    @property
    def bucket(self) -> list[str]:
        """As tc puts it."""
        return bucket(self.rate, self.latency_ms, self.burst)


def bucket(rate: float, latency_ms: float, burst: int = 0) -> list[str]:
    depth = burst or max(128 * 1024, int(rate / 8 * HELD_UP))
    return ["tbf", "rate", f"{int(rate)}bit", "burst", str(depth), "latency", f"{latency_ms:g}ms"]


@dataclass
class Network:
    prefix: str = "ll"
    link: Link = Link()
    inside: float | None = None  # b/s of same-host and same-vlan; None: as much as the machine carries
    sites: tuple[str, ...] = SITES
    between: tuple[str, ...] = ("net",)  # the namespaces of the network
    left_out: list[str] = field(default_factory=list)
    _delay: Delay = field(init=False)

    def __post_init__(self) -> None:
        self._delay = Delay(self._in, self.space("net"))

    def space(self, site: str) -> str:
        return f"{self.prefix}-{site}"

    def address(self, site: str, rung: str, version: int = 4) -> str:
        net = {"control": 0, "same-host": 1, "same-vlan": 2, "dc-link": 3 if site == "alpha" else 4}[rung]
        host = 1 if site == "alpha" else 2
        return f"10.98.{net}.{host}" if version == 4 else f"fd98:0:0:{net}::{host}"

    def _lay(self) -> None:
        """The namespaces as appliances are set up, and what lies between them."""
        for site in (*self.sites, *self.between):
            self._in(site, "ip", "link", "set", "lo", "up")
            self._set(site, "net/ipv4/ping_group_range", "0 2147483647")
            # a sender that a busy machine keeps waiting must not leave the link idle
            self._set(site, "net/ipv4/tcp_wmem", f"4096 16384 {16 << 20}")
            if self._set(site, "net/ipv4/tcp_congestion_control", CONGESTION) and site == "alpha":
                self._without(f"{CONGESTION}: this kernel has none, and the appliances use what the host uses")
            self._set(site, "net/ipv6/conf/all/accept_dad", "0")
            self._set(site, "net/ipv6/conf/default/accept_dad", "0")
        self._network()

    def _network(self) -> None:
        """Between the ends."""
        self._pair("mg0", "control")
        self._pair("sh0", "same-host")
        self._bridge()
        self._route()
        for device in ("sh0", "sv0") if self.inside else ():
            self.pace(device, self.inside or 0.0)
        if self.inside:  # within a machine more than between two, and far less than takes all its cores
            self.pace("lo", 5 * self.inside)

    def _pair(self, name: str, rung: str) -> None:
        """A veth pair straight from alpha to beta."""
        ends = [name, "netns", self.space("alpha"), "type", "veth", "peer", "name", name, "netns", self.space("beta")]
        ip("link", "add", *ends)
        for site in self.sites:
            self._address(site, name, rung)

    def _bridge(self) -> None:
        self._in("net", "ip", "link", "add", "br0", "type", "bridge")
        self._in("net", "ip", "link", "set", "br0", "up")
        for site in self.sites:
            port = f"v{site}"
            self._veth(site, "sv0", port)
            self._in("net", "ip", "link", "set", port, "master", "br0", "up", "mtu", "9216")  # a switch: jumbo passes
            tagged = f"sv0.{VLAN}"
            argv = ["ip", "link", "add", "link", "sv0", "name", tagged, "type", "vlan", "id", str(VLAN)]
            if self._in(site, *argv, check=False).returncode == 0:
                self._in(site, "ip", "link", "set", "sv0", "up")
                self._address(site, tagged, "same-vlan")
            else:
                self._address(site, "sv0", "same-vlan")
                self._without("the VLAN tag of same-vlan: this kernel has no VLANs, so its frames go untagged")

    def _route(self) -> None:
        for key in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            self._set("net", f"net/{key}", "1")
        for site in self.sites:
            port, net = f"d{site}", self.address(site, "dc-link").rsplit(".", 1)[0]
            self._veth(site, "dc0", port)
            self._address(site, "dc0", "dc-link")
            self._in("net", "ip", "addr", "add", f"{net}.254/24", "dev", port)
            net6 = self.address(site, "dc-link", 6).rsplit("::", 1)[0]
            self._in("net", "ip", "addr", "add", f"{net6}::fe/64", "dev", port, "nodad")
            self._in("net", "ip", "link", "set", port, "up", "mtu", str(self.link.mtu))
            self._in(site, "ip", "route", "add", "10.98.0.0/16", "via", f"{net}.254")
            self._in(site, "ip", "-6", "route", "add", "fd98::/32", "via", f"{net6}::fe")
        self.impair(self.link)

    def impair(self, link: Link) -> None:
        """Put the DC link's rate, loss and MTU in force; what the kernel lacks is left out and said."""
        self.link = link
        for site in self.sites:
            port = f"d{site}"
            self._in("net", "tc", "qdisc", "replace", "dev", port, "root", "handle", "1:", *link.bucket)
            largest = str(max(link.mtu, 1500))
            self._in("net", "ip", "link", "set", port, "mtu", largest)
            self._in(site, "ip", "link", "set", "dc0", "mtu", largest)
            for version, prefix in ((4, "24"), (6, "64")):  # by the route, so that the router says what is too big
                own = self.address(site, "dc-link", version)
                net = str(ipaddress.ip_network(f"{own}/{prefix}", strict=False))
                better = ["metric", "1"] if version == 6 else []  # than the kernel's own of IPv6
                self._in("net", "ip", f"-{version}", "route", "replace", net, "dev", port, *better,
                         "mtu", "lock", str(link.mtu))  # fmt: skip
        if instead := self._delay.put(link.delay_ms, link.rate):
            self._without(instead)
        self._in("net", "nft", "flush", "ruleset")
        if link.loss:
            rules = (
                "table inet lab { chain forward { type filter hook forward priority 0; oifname { dalpha, dbeta } "
                f"numgen random mod 1000000 < {round(link.loss * 10_000)} drop; }}; }}"
            )
            subprocess.run(
                ["ip", "netns", "exec", self.space("net"), "nft", "-f", "-"], input=rules, text=True, check=True
            )

    def pace(self, device: str, rate: float) -> None:
        """Both ends send no faster than this through their adapter of that name."""
        for site in self.sites:
            self._in(site, "tc", "qdisc", "replace", "dev", device, "root", *bucket(rate, 50))

    def _without(self, what: str) -> None:
        if what not in self.left_out:
            self.left_out.append(what)

    def _in(self, site: str, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        run = ["ip", "netns", "exec", self.space(site), *argv]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise LabError(f"{' '.join(argv)}: {done.stderr.strip()}")
        return done

    def _veth(self, site: str, name: str, port: str) -> None:
        """`name` at the site, `port` in the network between."""
        peer = ["peer", "name", port, "netns", self.space("net")]
        ip("link", "add", name, "netns", self.space(site), "type", "veth", *peer)

    def _set(self, site: str, key: str, value: str) -> int:
        """0 when the kernel took it."""
        return self._in(site, "sh", "-c", f'echo "{value}" > /proc/sys/{key}', check=False).returncode

    def _address(self, site: str, name: str, rung: str) -> None:
        self._in(site, "ip", "addr", "add", f"{self.address(site, rung)}/24", "dev", name)
        self._in(site, "ip", "addr", "add", f"{self.address(site, rung, 6)}/64", "dev", name, "nodad")
        self._in(site, "ip", "link", "set", name, "up")
