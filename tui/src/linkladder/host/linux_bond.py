"""Reads from /sys/class/net of Linux what an interface stands upon, and a bond."""

from __future__ import annotations

from pathlib import Path

from linkladder.host.programs import read
from linkladder.model import Bundle, Member

NAMES = {"balance-rr": "roundrobin", "802.3ad": "lacp", "balance-xor": "loadbalance", "active-backup": "failover"}


def bond(name: str, root: str = "/sys/class/net") -> Bundle | None:
    """The bundle that the interface stands for; None if it is not a bond."""
    mode = read(f"{root}/{name}/bonding/mode").partition(" ")[0]
    if not mode:
        return None
    ports = read(f"{root}/{name}/bonding/slaves").split()
    partner = read(f"{root}/{name}/bonding/ad_partner_mac").lower()
    found = tuple(_member(port, partner if mode == "802.3ad" else "", root) for port in ports)
    policy = read(f"{root}/{name}/bonding/xmit_hash_policy").partition(" ")[0]
    active = sum(member.active for member in found)
    return Bundle(NAMES.get(mode, mode), policy, found, {"mode": mode}, active)


def below(name: str, root: str = "/sys/class/net") -> frozenset[str]:
    """The interfaces upon which a VLAN, a bond, a bridge or one upon another stands."""
    found = frozenset(link.name.removeprefix("lower_") for link in Path(root, name).glob("lower_*"))
    return found.union(*(below(one, root) for one in found))


def _member(port: str, partner: str, root: str) -> Member:
    up = read(f"{root}/{port}/bonding_slave/mii_status") == "up"
    return Member(port, ("ACTIVE",) if up else (), (), "" if partner == "00:00:00:00:00:00" else partner)
