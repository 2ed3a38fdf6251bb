"""Finds the addresses that a rung's traffic uses, from the plan and from what the two ends have."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import replace

from linkladder import host
from linkladder.model import Path, Plan, Rung, RungName
from linkladder.wire import HelloReply


class PathUnknown(Exception):
    """The rung has no path; the reason is for people."""


def resolve(path: Path, near: HelloReply, far: HelloReply) -> Path:
    """The path with both addresses; those of the plan come first. `near` and `far` are the ends at its sides."""
    remote = path.remote or _guess(near, far)
    if not remote:
        raise PathUnknown(f"{far.name} has announced no address that could be tested")
    if path.origin:
        return replace(path, local=path.local or _of_family(near, remote), remote=remote)
    local = path.local or (_on(path.local_interface, remote) if path.local_interface else _source(remote))
    if not local:
        raise PathUnknown(f"there is no route to {remote}")
    return replace(path, local=local, remote=remote)


def moved(plan: Plan, rung: Rung) -> bool:
    """Whether another rung uses the same addresses: then a machine must be moved before each."""
    mine = {(path.peer, path.remote) for path in rung.paths}
    return any(
        (path.peer, path.remote) in mine
        for other in plan.rungs
        if other.name not in (rung.name, RungName.LOCALHOST)
        for path in other.paths
    )


def _guess(near: HelloReply, far: HelloReply) -> str:
    """An address of the far end that this end would reach from one of its announced addresses, IPv4 first; else the
    first.
    """
    ranked = sorted(far.addresses, key=lambda a: ipaddress.ip_address(a).version)
    for address in ranked:
        if _source(address) in near.addresses:
            return address
    return ranked[0] if ranked else ""


def _of_family(end: HelloReply, remote: str) -> str:
    """The first of the other end's announced addresses that has the same IP version as `remote`."""
    version = ipaddress.ip_address(remote).version
    found = next((a for a in end.addresses if ipaddress.ip_address(a).version == version), "")
    if not found:
        raise PathUnknown(f"{end.name} has announced no address that could speak to {remote}: name it in the plan")
    return found


def _on(interface: str, remote: str) -> str:
    """This end's address on that interface with the same IP version as `remote`; one in the same subnet first."""
    version = ipaddress.ip_address(remote).version
    fitting = [a for a in host.addresses_of(interface) if ipaddress.ip_address(a).version == version]
    if not fitting:
        raise PathUnknown(f"{interface} has no IPv{version} address here")
    return next((a for a in fitting if host.same_subnet(a, remote)), fitting[0])


def _source(remote: str) -> str:
    """This end's address that the system would send from. Nothing is sent to find it."""
    family = socket.AF_INET6 if ":" in remote else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((remote, 9))
        except OSError:
            return ""
        return str(sock.getsockname()[0])
