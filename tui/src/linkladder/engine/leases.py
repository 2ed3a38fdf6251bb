"""Lends an experiment its settings: changes them at the ends of its paths for one trial, and puts them back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Iterable, Sequence
from typing import Self

from linkladder import wire
from linkladder.engine.route import Route, Side
from linkladder.errors import EnvironmentFault, LinkladderError
from linkladder.model import Command, End, Setting
from linkladder.peer import PeerLost, Refused

SECONDS = 15.0  # seconds without a word from the near end after which an end puts its settings back
RENEWAL = 4.0
STEP = 60.0  # seconds within which the trial must come a step further, or its leases are renewed no more
ANSWER = 120.0  # seconds that a slow end may take to lend, or to read back what it has lent
Settings = tuple[Setting, ...]
ORDER = (End.FAR, End.NEAR)  # given back the other way round: while the far end is changed, this one can still say so


class Loan:
    """`async with`: takes the settings before the trial, renews the leases as long as the trial comes further, and
    always gives them back after it.
    """

    def __init__(self, settings: tuple[Setting, ...], routes: Sequence[Route], channels: Iterable[str]) -> None:
        """`channels`: the addresses that the near end's channels to its peers lead to."""
        self._asked = _once_an_end(
            (sides, wanted)
            for at in ORDER
            if (wanted := tuple(setting for setting in settings if at in setting.ends))
            for sides in _by_end([route.at(at) for route in routes])
        )
        self._channels = tuple(channels)
        self._taken: list[Side] = []
        self._held: list[Side] = []  # those of them that have confirmed it
        self._renewing: list[asyncio.Task[None]] = []
        self._ended = ""  # why settings are not in force any more: then none are renewed
        self._until = 0.0  # the moment until which the leases are renewed, unless the trial comes further
        self.commands: tuple[Command, ...] = ()

    async def __aenter__(self) -> Self:
        try:
            for sides, settings in self._asked:
                with contextlib.suppress(PeerLost):  # its own legs meet it too, and the others' ends lend
                    await self._take(sides, settings)
        except BaseException:
            await self._give_back()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._give_back()

    def progressed(self, most: float = 0.0) -> None:
        """Say that the trial has come a step further, and that the next step is done within so many seconds, or STEP.

        Without it the leases run out, so that an engine that hangs keeps no end's settings, though its clock goes on.
        Raises Refused once the loan has ended at one end, as the trial then measures what was not asked.
        """
        if self._ended:
            raise Refused(self._ended)
        self._until = time.monotonic() + (most or STEP)

    async def check(self) -> None:
        """Raise Refused if a setting was not in force all the time, or an end does not tell: the trial did not measure
        what was asked then. The tools have ended: now an end that is renewed reads its settings back.
        """

        async def one(side: Side) -> None:
            if side.point.lost:
                return  # its legs have met it, and it puts back by itself
            try:
                async with asyncio.timeout(ANSWER):
                    await side.point.ask(wire.RenewLease())
            except TimeoutError:
                raise Refused(f"{side.name} did not say within {ANSWER:g} s whether its settings held") from None

        self.progressed(ANSWER)
        await asyncio.gather(*map(one, self._held))
        self.progressed()

    async def turn(self, down: bool) -> list[tuple[int, wire.SwitchedReply]]:
        """Take the bundle's member down, or up again, at every end that lent it; returns when it happened, and which
        card.
        """

        async def one(side: Side) -> tuple[int, wire.SwitchedReply]:
            return side.end, await side.point.ask(wire.SwitchMember(down))

        lent = {side.end for sides, wanted in self._asked for side in sides if any(s.of_member for s in wanted)}
        try:
            return list(await asyncio.gather(*(one(side) for side in self._held if side.end in lent)))
        except Refused as error:
            self._ended = str(error)
        except (PeerLost, LinkladderError):  # the trial meets it too
            pass
        return []

    async def _take(self, sides: Sequence[Side], settings: tuple[Setting, ...]) -> None:
        """Take the lease at one end; `sides` are those of the paths at that end."""
        side = sides[0]
        near = side.end == 0  # the far end knows its own control channel
        control = await asyncio.to_thread(_control, self._channels) if near else ()
        addresses = tuple(dict.fromkeys(one.address for one in sides))
        self.progressed(ANSWER)
        self._taken.append(side)  # note the lease first, so that an interruption here still gives it back
        reply = await side.point.ask(wire.TakeLease(settings, addresses, SECONDS, control))
        self._held.append(side)
        self._renewing.append(asyncio.create_task(self._renew(side)))  # at once: the next end may be slow to lend
        self.progressed()
        self.commands += tuple(Command(side.name, "setting", tuple(change.split()), 0) for change in reply.changes)

    async def _renew(self, side: Side) -> None:
        """Each end by itself, as one that does not answer must not let the others' leases run out."""
        while True:
            await asyncio.sleep(RENEWAL)
            if time.monotonic() > self._until:
                self._ended = f"the trial came no step further for {STEP:g} s, so its settings were put back"
            if self._ended:
                return
            try:
                await side.point.ask(wire.RenewLease())
            except Refused as error:
                self._ended = str(error)
                return
            except (PeerLost, LinkladderError):  # the trial meets it too, and the end puts back by itself
                return

    async def _give_back(self) -> None:
        """Raise EnvironmentFault if an end could not put its settings back: nothing more may be measured on it then."""
        for task in self._renewing:
            task.cancel()
        await asyncio.shield(asyncio.ensure_future(self._return_all()))

    async def _return_all(self) -> None:
        problems = []
        while self._taken:
            side = self._taken.pop()
            with contextlib.suppress(PeerLost):
                try:
                    await side.point.ask(wire.ReturnLease())
                except Refused as error:
                    problems.append(f"{side.name} end: {error}")
        if problems:
            raise EnvironmentFault("settings were not put back", "; ".join(problems), "put them back there, or reboot")


def _once_an_end(asked: Iterable[tuple[list[Side], Settings]]) -> list[tuple[list[Side], Settings]]:
    """An end that is the near side of one path and the far side of another lends once, for all its paths."""
    found: list[tuple[list[Side], Settings]] = []
    for sides, wanted in asked:
        for n, (others, known) in enumerate(found):
            alike = known == wanted or {s.address for s in others} == {s.address for s in sides}
            if others[0].end == sides[0].end and alike:
                found[n] = [*others, *sides], tuple(dict.fromkeys((*known, *wanted)))
                break
        else:
            found.append((sides, wanted))
    return found


def _by_end(sides: Sequence[Side]) -> list[list[Side]]:
    return [[side for side in sides if side.end == end] for end in dict.fromkeys(side.end for side in sides)]


def _control(channels: tuple[str, ...]) -> tuple[str, ...]:
    """The addresses of control channels, which no change may touch; Refused if one of them cannot be found out."""
    found = os.environ.get("SSH_CONNECTION", "").split()[2:3]
    for channel in channels:
        try:
            found += [str(a[4][0]) for a in socket.getaddrinfo(channel, None, proto=socket.IPPROTO_TCP)]
        except OSError as error:
            raise Refused(f"it is not known by which adapter {channel} is reached: {error}") from None
    return tuple(dict.fromkeys(found))
