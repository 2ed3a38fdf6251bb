"""A bundle that is not ours: parallel paths between two routers, with flows or single packets spread over them.

Flows go by a hash of addresses and ports (the kernel's multipath routes); packets in turn go by a mark that counts.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass

from many import ManyEnds


@dataclass
class Bundle(ManyEnds):
    ends: int = 2
    shared: float = 1e9  # so that the two ends stand behind a router each
    members: tuple[float, ...] = (1e8, 1e8)  # b/s of each
    in_turn: bool = False  # packet by packet

    def _uplink(self, name: str, number: int, rate: float) -> None:
        for n, each in enumerate(self.members):
            super()._uplink(f"member{n}", 240 + n, each)
        for router in self.between:
            self._set(router, "net/ipv4/fib_multipath_hash_policy", "1")
            if self.in_turn:
                self._take_turns(router)

    def _across(self, router: str, net: str) -> None:
        last = 2 if router == "net" else 1
        ways = [("via", f"10.98.{240 + n}.{last}", "dev", f"member{n}") for n in range(len(self.members))]
        self._in(router, "ip", "route", "add", net, *(word for way in ways for word in ("nexthop", *way)))
        for n, way in enumerate(ways if self.in_turn else ()):
            self._in(router, "ip", "route", "add", net, *way, "table", str(100 + n))

    def _take_turns(self, router: str) -> None:
        for n in range(len(self.members)):
            self._in(router, "ip", "rule", "add", "fwmark", str(n + 1), "table", str(100 + n))
        rules = (
            "table inet turns { chain in { type filter hook prerouting priority -150; "
            f'iifname "d*" meta mark set numgen inc mod {len(self.members)} offset 1; }}; }}'
        )
        argv = ["ip", "netns", "exec", self.space(router), "nft", "-f", "-"]
        subprocess.run(argv, input=rules, text=True, check=True)

    def sent(self, router: str = "net") -> list[int]:
        """Bytes that the router has sent over each member."""
        found = json.loads(self._in(router, "ip", "-s", "-j", "link", "show").stdout)
        each = {one["ifname"]: one["stats64"]["tx"]["bytes"] for one in found}
        return [each[f"member{n}"] for n in range(len(self.members))]

    def dropped(self) -> int:
        """Packets that the members' queues had no room for, both ways."""
        found = [
            one["drops"]
            for router in self.between
            for one in json.loads(self._in(router, "tc", "-s", "-j", "qdisc", "show").stdout)
            if one.get("dev", "").startswith("member")
        ]
        assert len(found) >= 2 * len(self.members), "each member has a queue at either side"
        return sum(found)

    def hold(self, *members: float) -> None:
        """Hold the members to other rates, in b/s."""
        for router in self.between:
            for n, rate in enumerate(members):
                self._bucket(router, f"member{n}", rate)

    def lose(self, share: float) -> None:
        """Of the packets that the router forwards, by chance."""
        rules = (
            "table inet loss { }; delete table inet loss; "  # what is lost already
            "table inet loss { chain forward { type filter hook forward priority 0; "
            f"numgen random mod 1000000 < {round(share * 1e6)} drop; }}; }}"
        )
        argv = ["ip", "netns", "exec", self.space("net"), "nft", "-f", "-"]
        subprocess.run(argv, input=rules, text=True, check=True)
