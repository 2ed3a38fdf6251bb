"""Reads a trial's TCP connections while it runs, as the ends' systems count them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Collection, Mapping

from linkladder import wire
from linkladder.engine.account import Watched
from linkladder.engine.route import Side
from linkladder.model import SocketsSeen, SocketStat, WindowSeen
from linkladder.peer import PeerLost, Refused

SILENT = 3  # seconds without a window after which an end is not asked again


async def watch_connections(
    ends: Mapping[int, Side],
    watched: Mapping[int, Watched],
    senders: Collection[int],
    ports: tuple[int, ...],
    begun: float,
    last: float,
) -> None:
    """Read the senders' windows each second, and every end's counters at `last`, before the connections close.

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

    watching = [asyncio.create_task(_windows(ends[n], watched[n], ports, begun)) for n in senders] if ports else []
    try:
        await asyncio.sleep((begun + last) / 2 - time.monotonic())
        await count_all()
        await asyncio.sleep(last - time.monotonic())
    finally:
        for task in watching:
            task.cancel()
    await count_all()


async def _windows(side: Side, watched: Watched, ports: tuple[int, ...], begun: float) -> None:
    """The sender's windows once a second, of a system that tells them where its tools do not."""
    for second in itertools.count(1):
        await asyncio.sleep(begun + second - time.monotonic())
        t = round(time.monotonic() - begun, 3)
        with contextlib.suppress(Refused, PeerLost):
            ours = of_ports((await side.point.ask(wire.Sockets(True))).sockets, ports)
            cwnds = tuple(s.cwnd_bytes for s in ours if s.cwnd_bytes is not None)
            if cwnds:
                watched.windows.append(WindowSeen(t, cwnds, tuple(s.ssthresh_bytes or 0 for s in ours)))
        if second == SILENT and not watched.windows:
            return


def of_ports(sockets: tuple[SocketStat, ...], ports: tuple[int, ...]) -> tuple[SocketStat, ...]:
    """The connections that carry this trial's payload; connections of an earlier trial may still be open."""
    return tuple(
        s
        for s in sockets
        if s.state in ("", "ESTABLISHED") and (s.local_port in ports or s.remote_port in ports) and s.remote_port
    )
