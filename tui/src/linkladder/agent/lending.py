"""Changes this end's settings for a run and restores them: one lease at a time, never on an adapter for control."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator

from linkladder import host, wire
from linkladder.errors import LinkladderError, in_a_line
from linkladder.model import FEWEST_CARDS, MOST_CARDS, Nic, Setting
from linkladder.settings import Change, Lease, Undo, Unguarded, bundle, member_down, of_machine, on_adapter
from linkladder.settings.reversible import UP

READY = 10.0  # seconds that an adapter may take to have a link again


class Lending:
    """Carries out requests for leases one after the other; Refused has the reason that the settings code gives."""

    def __init__(self) -> None:
        self._lease: Lease | None = None
        self._turn = asyncio.Lock()

    async def take(self, request: wire.TakeLease) -> wire.LeaseReply:
        async with self._turn:
            if self._lease:
                raise wire.Refused("settings are on loan from this end already")
            bundles = [one for one in request.settings if one.of_bundle]
            downs = [one for one in request.settings if one.of_member]
            of_adapters = [one for one in request.settings if not one.of_machine and one not in (*bundles, *downs)]
            adapters: dict[str, None] = {}
            later: list[Change] = []
            if of_adapters or bundles or downs:
                control = await asyncio.to_thread(control_adapters, request.control)
                adapters = dict.fromkeys(_adapter(address, control) for address in request.addresses)
            changes = [on_adapter(setting, adapter) for adapter in adapters for setting in of_adapters]
            if bundles and not FEWEST_CARDS <= len(adapters) <= MOST_CARDS:
                raise wire.Refused(f"a bundle takes {FEWEST_CARDS} to {MOST_CARDS} cards, not {len(adapters)}")
            changes += [bundle(one, list(adapters)) for one in bundles]
            for one in downs:
                later.append(member_down(_member(one, list(adapters), control, lent=bool(bundles))))
            with _refusing():
                changes += [change for one in request.settings if one.of_machine for change in of_machine(one)]
                lease = Lease(changes, Undo(request.seconds), later=later)
                reply = await lease.acquire()
            self._lease = lease
            if down := await _still_down(adapters):
                await self._give_back()
                raise wire.Refused(f"{down} has no link {READY:g} s after the change")
            return wire.LeaseReply(reply)

    async def renew(self, resting: bool = False) -> None:
        """Renew the lease; `resting`: no tool runs that it could disturb to read the settings back, too."""
        lease = self._lease
        if lease is None:
            raise wire.Refused("nothing is on loan from this end")
        with _refusing():
            try:
                await lease.renew()
            except Unguarded:
                await self.give_back()
                raise
            if resting:
                await lease.check()

    async def turn(self, down: bool) -> wire.SwitchedReply:
        """Take the bundle member that the lease names down, or bring it up again."""
        async with self._turn:
            if self._lease is None or not self._lease.later:
                raise wire.Refused("no member of a bundle is on loan from this end")
            with _refusing():
                done = await self._lease.turn(down)
            return wire.SwitchedReply(tuple(one.target for one in self._lease.later), done)

    async def give_back(self) -> wire.LeaseReply:
        """Restore all settings on loan; does nothing if there are none."""
        async with self._turn:
            return await self._give_back()

    async def _give_back(self) -> wire.LeaseReply:
        lease, self._lease = self._lease, None
        if lease is None:
            return wire.LeaseReply(())
        with _refusing():
            reply = await lease.release()
        changed = {
            name for change in (*lease.changes, *lease.later) for name in change.target.partition(":")[0].split(",")
        }
        await _still_down(changed)  # wait, or the next trial would start without a link
        return wire.LeaseReply(reply)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except LinkladderError as error:
        raise wire.Refused(in_a_line(error)) from None


def control_adapters(addresses: Iterable[str]) -> frozenset[str]:
    """The adapters that must stay as they are: of the given addresses, those by which people and peers come in, and all
    that these stand upon.
    """
    from linkladder.host import switches  # imported late, as only an agent that lends needs it

    login = os.environ.get("SSH_CONNECTION", "").split()  # the connection of the channel that we serve
    found = {switches.appliance().management}
    for address in (*addresses, *login[2:3]):
        name = host.interface_of(address) or host.route_interface(address)
        if not name:
            raise wire.Refused(f"it is not known by which adapter {address} is reached, so none is changed")
        found.add(name)
    found -= {""}
    return frozenset(found).union(*map(host.below, found))


async def _still_down(adapters: Iterable[str]) -> str:
    """Wait for adapters that a change restarts; the one that is still down after READY seconds, or ''."""
    deadline = asyncio.get_running_loop().time() + READY
    while True:
        facts = await asyncio.to_thread(host.facts)
        down = next((nic.name for nic in facts.nics if nic.name in adapters and not _carries(nic)), "")
        if not down or asyncio.get_running_loop().time() > deadline:
            return down
        await asyncio.sleep(0.2)


def _carries(nic: Nic) -> bool:
    return nic.up and nic.carrier is not False


def _adapter(address: str, control: frozenset[str]) -> str:
    """The adapter that owns the address; raises Refused if it must not be changed."""
    name = host.interface_of(address)
    if not name:
        raise wire.Refused(f"{address} is not an address of this appliance")
    if any(nic.loopback for nic in host.facts().nics if nic.name == name):
        raise wire.Refused(f"{name} is the loopback, whose settings are the whole machine's")
    if not control:
        raise wire.Refused("it is not known which adapter carries control, so none is changed")
    if _carries_control(name, control):
        raise wire.Refused(f"{name} carries control, which a change could cut off: give the path an adapter of its own")
    return name


def _member(setting: Setting, adapters: list[str], control: frozenset[str], lent: bool) -> str:
    """The card to take down: a member of the bundle in the same lease, or otherwise of the existing bundle."""
    number = int(setting.value)
    found = None if lent else host.bundle(adapters[0])
    names = adapters if lent else [one.name for one in found.members] if found else []
    if not 1 <= number <= len(names) or len(names) < FEWEST_CARDS:
        raise wire.Refused(f"{adapters[0]} is no bundle of which a member {number} could go down")
    name = names[number - 1]
    if _carries_control(name, control):
        raise wire.Refused(f"{name} carries control, which would be cut off: it stays up")
    if not lent and host.setting("member", name) != UP:
        raise wire.Refused(f"{name} is down already")
    return name


def _carries_control(name: str, control: frozenset[str]) -> bool:
    """Whether the adapter, or one that it stands upon, is one of control's: a change of one affects the other."""
    return not control.isdisjoint({name, *host.below(name)})
