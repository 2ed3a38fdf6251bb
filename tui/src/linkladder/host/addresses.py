"""Reads the addresses of interfaces and of those who send to them, in the same way on every system."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import psutil

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Source = tuple[Any, ...]  # where a datagram came from, as a socket tells it


def parse(text: str) -> Address | None:
    """The address without its zone; None if the text is not an address."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def own() -> Iterator[tuple[str, Interface]]:
    """Every address of this host with its interface and prefix."""
    for name, entries in psutil.net_if_addrs().items():
        for entry in entries:
            if entry.family in (socket.AF_INET, socket.AF_INET6):
                address = parse(entry.address)
                if address is not None:
                    yield name, ipaddress.ip_interface(f"{address}/{_prefix(address, entry.netmask)}")


def _prefix(address: Address, netmask: str | None) -> int:
    """The prefix length of a mask; the full length of the address if the system tells no mask."""
    mask = parse(netmask or "")
    return bin(int(mask)).count("1") if mask is not None and mask.version == address.version else address.max_prefixlen


def by_interface() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, interface in own():
        found[name] = (*found.get(name, ()), str(interface.ip))
    return found


def interface_of(address: str) -> str:
    wanted = parse(address)
    zone = address.partition("%")[2]
    for name, interface in own():
        if interface.ip == wanted and zone in ("", name):
            return name
    return ""


def same_subnet(local: str, remote: str) -> bool:
    mine, theirs = parse(local), parse(remote)
    if mine is None or theirs is None or mine.version != theirs.version:
        return False
    return any(interface.ip == mine and theirs in interface.network for _, interface in own())


def host_of(source: Source) -> str:
    """The sender's address, with the number of its interface where it is link-local."""
    return f"{str(source[0]).partition('%')[0]}%{source[3] if len(source) == 4 else 0}"


def version_of(source: Source) -> int:
    return 6 if len(source) == 4 else 4
