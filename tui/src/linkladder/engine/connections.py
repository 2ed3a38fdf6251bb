"""Reads a trial's TCP connections while it runs, as the ends' systems count them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping

from linkladder import wire
from linkladder.engine.account import Watched
from linkladder.engine.route import Side
from linkladder.model import ESTABLISHED, SocketsSeen, SocketStat
from linkladder.peer import PeerLost, Refused

LOOK = 0.5  # seconds before the end of a trial at which an end is asked


class Connections:
    """The connections over `ports`, kept in `watched`.

    An end looks at them beside its samples where that takes no program, and tells at the end of the trial what it saw
    last: a question wakes both ends, which takes from what is measured. Elsewhere the end is asked.
    """

    def __init__(
        self,
        ends: Mapping[int, Side],
        watched: Mapping[int, Watched],
        offsets: Mapping[int, float],  # of each end's clock against the near one's
        ports: tuple[int, ...],
    ) -> None:
        self._ends, self._watched, self._offsets, self._ports = ends, watched, offsets, ports
        self._to_ask: set[int] = set()

    async def sample(self, number: int, every: float, sends: bool, at_once: bool) -> None:
        """Have the end send samples from now on; if it sends, with its connections' windows."""
        asked = wire.Sampling(True, every, self._watched[number].cards, self._ports, sends, at_once)
        if (await self._ends[number].point.ask(asked)).connections is None:
            self._to_ask.add(number)

    async def sample_no_more(self, number: int, begun: float) -> None:
        if seen := (await self._ends[number].point.ask(wire.Sampling(False))).connections:
            self._keep(number, seen, begun)

    async def ask(self, begun: float, seconds: float) -> None:
        """Ask the ends that do not look by themselves, shortly before a trial of so many seconds ends.

        They are asked half-way as well: a machine that has much else to do comes too late for the last look, and finds
        the connections closed.
        """
        last = begun + seconds - LOOK
        if self._ports and self._to_ask:
            for moment in ((begun + last) / 2, last):
                await asyncio.sleep(moment - time.monotonic())
                await asyncio.gather(*(self._ask(number, begun) for number in self._to_ask))

    async def _ask(self, number: int, begun: float) -> None:
        with contextlib.suppress(Refused, PeerLost):
            self._keep(number, await self._ends[number].point.ask(wire.Sockets()), begun)

    def _keep(self, number: int, seen: wire.SocketsReply, begun: float) -> None:
        found, watched = of_ports(seen.sockets, self._ports), self._watched[number]
        if found or watched.sockets is None:
            t = round(seen.t - self._offsets[number] - begun, 3)
            watched.sockets = SocketsSeen(t, seen.source, found)


def of_ports(sockets: tuple[SocketStat, ...], ports: tuple[int, ...]) -> tuple[SocketStat, ...]:
    """The connections that carry this trial's payload; connections of an earlier trial may still be open."""
    return tuple(
        s
        for s in sockets
        if s.state in ("", ESTABLISHED) and (s.local_port in ports or s.remote_port in ports) and s.remote_port
    )
