"""Decides where this end may send test traffic: to itself, and to addresses that answered its nonce in this run.

What a peer says about addresses is not trusted, because it could name anybody's. An end that serves a peer's run takes
that peer alone for a target, unless a person here (or the site secret) has agreed that it measures with others too.
Traffic that a peer requests also stays off the network by which this appliance's operator reaches it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from linkladder import host, wire
from linkladder.agent.probing import COORDINATES, SERVES
from linkladder.host import addresses

if TYPE_CHECKING:
    from linkladder.agent.knocks import Knocks


APART = 0.05  # seconds between knocks at addresses that have not answered, so that nobody can flood others with them


class Caller(Enum):
    """Whose requests an end carries out."""

    CONSOLE = "this appliance's own console"
    PEER = "a peer, to measure with itself"
    INTRODUCER = "a peer that may have it measure with others too"


class Targets:
    """The addresses to which test traffic may go during one reservation."""

    def __init__(self, caller: Caller, peer: str = "") -> None:
        self.caller = caller
        self._proved: set[str] = set()
        self._peer = peer
        self._management: str | None = None  # None until it has been looked up
        self._knocking, self._knocked = asyncio.Lock(), 0.0

    @cached_property
    def _knocks(self) -> Knocks:
        from linkladder.agent.knocks import Knocks  # imported late, so that agents start faster

        return Knocks(self._peer)

    def forget(self) -> None:
        """Forget all addresses at the end of a run."""
        self._proved.clear()
        self._knocks.forget()

    @property
    def role(self) -> bytes:
        """What this end is in the run, as it says under the trial's key."""
        return COORDINATES if self.caller is Caller.CONSOLE else SERVES

    def may_meet(self, role: bytes) -> bool:
        """Whether an end of that role may be a target.

        One that serves the run, as this end does, is another appliance than the caller, whatever the caller says.
        """
        return self.caller is not Caller.PEER or role == COORDINATES

    def met(self, address: str) -> None:
        """Note that the address has answered a nonce of this end under the trial's key."""
        self._proved.add(_plain(address))
        self._knocks.answered(_plain(address))

    def met_by(self, address: str, role: bytes, expected: str) -> bool:
        """Whether one that knocked here is the one that was announced, and may be a target from now on."""
        welcome = _plain(address) == _plain(expected) and self.may_meet(role)
        if welcome:
            self.met(address)
        return welcome

    def known(self, address: str) -> bool:
        return _plain(address) in self._proved or owned(address)

    def management_adapter(self) -> str:
        """The management adapter if peers' tests must stay off it, else ''; its addresses are not announced for tests
        either.
        """
        if self._management is None:
            chosen_here = self.caller is Caller.CONSOLE  # by this end's operator, who named the path
            self._management = "" if chosen_here else _management_adapter()
        return self._management

    def check_way(self, local: str, remote: str) -> None:
        """Refuse traffic that would start from the management adapter or leave through it."""
        management = self.management_adapter()
        if management and management in (host.interface_of(local), host.route_interface(remote, local)):
            raise wire.Refused(
                f"{management} is the management adapter here, and another one has an address for tests; measure over "
                "that one, or allow it at this end: linkladder system tests-on-management yes"
            )

    def check(self, address: str) -> None:
        if not self.known(address):
            raise wire.Refused(f"{address} has not shown in this run that it takes part: no test traffic goes there")

    async def may_knock(self, address: str) -> None:
        """Wait until an address may be probed; Refused if too many others were silent, as those hosts have not agreed
        to receive even a few packets.
        """
        if self.known(address):
            return
        if not self._knocks.may(_plain(address)):
            silent = self._knocks.most
            raise wire.Refused(f"{address}: {silent} other addresses were knocked at in the last hour, all in vain")
        async with self._knocking:
            await asyncio.sleep(max(0.0, self._knocked + APART - time.monotonic()))
            self._knocked = time.monotonic()


def _management_adapter() -> str:
    """The management adapter, if peers' tests must stay off it; '' if they may use it or there is no other adapter."""
    from linkladder.host import switches  # imported late, as no other program of an agent needs it

    mine = switches.appliance()
    others = {name for name, one in addresses.own() if not (one.ip.is_loopback or one.ip.is_link_local)}
    return "" if mine.tests_on_management or not others - {mine.management} else mine.management


def announced(address: str) -> bool:
    """Whether peers are told of an address of this machine: not loopback, multicast, unspecified or link-local."""
    one = ipaddress.ip_address(address)
    return not (one.is_loopback or one.is_multicast or one.is_unspecified or one.is_link_local)


def owned(address: str) -> bool:
    """Whether the address is this machine's own."""
    return ipaddress.ip_address(address).is_loopback or bool(host.interface_of(address))


def _plain(address: str) -> str:
    """The address in one fixed spelling; an IPv4 address mapped into IPv6 becomes the plain IPv4 address."""
    one = ipaddress.ip_address(address)
    return str(getattr(one, "ipv4_mapped", None) or one)
