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


async def watch_connections(
    ends: Mapping[int, Side],
    watched: Mapping[int, Watched],
    ports: tuple[int, ...],
    begun: float,
    last: float,
) -> None:
    """Read every end's connections at `last`, before they close.

    They are read half-way as well: a machine that has much else to do comes too late for the last look, and finds none.
    """

    async def count(number: int) -> None:
        t, before = round(time.monotonic() - begun, 3), watched[number].sockets
        with contextlib.suppress(Refused, PeerLost):
            seen = await ends[number].point.ask(wire.Sockets())
            found = of_ports(seen.sockets, ports)
            if found or before is None:
                watched[number].sockets = SocketsSeen(t, seen.source, found)

    async def count_all() -> None:
        if ports:
            await asyncio.gather(*(count(number) for number in ends))

    await asyncio.sleep((begun + last) / 2 - time.monotonic())
    await count_all()
    await asyncio.sleep(last - time.monotonic())
    await count_all()


def of_ports(sockets: tuple[SocketStat, ...], ports: tuple[int, ...]) -> tuple[SocketStat, ...]:
    """The connections that carry this trial's payload; connections of an earlier trial may still be open."""
    return tuple(
        s
        for s in sockets
        if s.state in ("", ESTABLISHED) and (s.local_port in ports or s.remote_port in ports) and s.remote_port
    )
