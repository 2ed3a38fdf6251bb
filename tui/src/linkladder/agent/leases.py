"""What a run has on loan from this end: one lease at a time, never on an adapter that carries control."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

from linkladder import host, wire
from linkladder.errors import LinkladderError, in_a_line
from linkladder.model import Setting, SettingKind
from linkladder.settings import Change, Lease, Undo, flag, mtu


class Lending:
    """Takes the requests of the wire; Refused says why not, in the words of the settings."""

    def __init__(self) -> None:
        self._lease: Lease | None = None

    async def take(self, request: wire.TakeLease, control: frozenset[str]) -> wire.LeaseReply:
        if self._lease:
            raise wire.Refused("settings are on loan from this end already")
        adapters = dict.fromkeys(_adapter(address, control) for address in request.addresses)
        changes = [_change(setting, adapter) for adapter in adapters for setting in request.settings]
        lease = Lease(changes, Undo(request.seconds))
        try:
            told = await lease.acquire()
        except LinkladderError as error:
            raise wire.Refused(in_a_line(error)) from None
        self._lease = lease
        return wire.LeaseReply(told)

    async def renew(self) -> None:
        if self._lease is None:
            raise wire.Refused("nothing is on loan from this end")
        try:
            await self._lease.renew()
        except LinkladderError as error:
            raise wire.Refused(in_a_line(error)) from None

    async def give_back(self) -> wire.LeaseReply:
        """Harmless where nothing is on loan."""
        lease, self._lease = self._lease, None
        if lease is None:
            return wire.LeaseReply(())
        try:
            return wire.LeaseReply(await lease.release())
        except LinkladderError as error:
            raise wire.Refused(in_a_line(error)) from None


def control_adapters(peers: Iterable[str]) -> frozenset[str]:
    """The adapters that must stay as they are: where people and peers come in, and the way to these peers."""
    found = {host.appliance().management}
    login = os.environ.get("SSH_CONNECTION", "").split()  # of an operator, or of the channel that we serve
    if len(login) == 4:
        found.add(host.interface_of(login[2]))
    for peer in peers:
        try:
            reached = {str(a[4][0]) for a in socket.getaddrinfo(peer, None, proto=socket.IPPROTO_TCP)}
        except OSError:
            reached = set()
        ways = {host.route_interface(address) for address in reached}
        if not any(ways):
            raise wire.Refused(f"it is not known by which adapter {peer} is reached, so none is changed")
        found |= ways
    return frozenset(found - {""})


def _adapter(address: str, control: frozenset[str]) -> str:
    """The one that owns the address; Refused where it must not be changed."""
    name = host.interface_of(address)
    if not name:
        raise wire.Refused(f"{address} is not an address of this appliance")
    if any(nic.loopback for nic in host.facts().nics if nic.name == name):
        raise wire.Refused(f"{name} is the loopback, whose settings are the whole machine's")
    if not control:
        raise wire.Refused("it is not known which adapter carries control, so none is changed")
    if _trunk(name) in map(_trunk, control):
        raise wire.Refused(f"{name} carries control, which a change could cut off: give the path an adapter of its own")
    return name


def _trunk(name: str) -> str:
    """A VLAN is changed along with the adapter that it lies on."""
    return name.partition(".")[0]


def _change(setting: Setting, adapter: str) -> Change:
    if setting.kind is SettingKind.MTU:
        return mtu(adapter, int(setting.value))
    return flag(adapter, setting.kind.value, setting.value == "on")
