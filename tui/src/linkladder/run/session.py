"""Lets a screen or a shell follow a run's log, send orders to the run, and see who may send them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from linkladder import events
from linkladder.model import RunState
from linkladder.run import eventlog, lock, orders
from linkladder.run.lock import Announcement
from linkladder.run.steering import OTHER, Seat

GONE = "the measuring process is gone"


def current(folder: Path, seat: Seat) -> LiveSession | None:
    """The run that is going on, or None. May block."""
    said = lock.announced(folder) if lock.measuring(folder) else None
    return LiveSession(folder, said, seat) if said else None


class LiveSession:
    """Follows a run; it may steer the run while its seat has the controls, and without a seat only watches."""

    def __init__(self, folder: Path, said: Announcement, seat: Seat | None) -> None:
        self._folder = folder
        self._said = said
        self._seat = seat
        self._tail = eventlog.Tail(Path(said.log))
        self._over = False
        self.run_id = ""
        self.controlling, self.holder = False, OTHER
        if seat:
            seat.take_if_free()
            self._look_who()

    # --- watching

    async def poll(self) -> list[eventlog.Entry]:
        return await asyncio.to_thread(self._poll)

    def _poll(self) -> list[eventlog.Entry]:
        self._look_who()
        measured = lock.measuring(self._folder)  # checked before reading, so that the last events are not missed
        said = lock.announced(self._folder)
        mine = said is not None and said.log == self._said.log
        entries = self._tail.poll()
        for _, event in entries:
            if isinstance(event, (events.RunStarted, events.RunFinished)):
                self.run_id = event.run_id or self.run_id
            self._over = self._over or isinstance(event, events.RunFinished)
        if not (measured and mine) and not self._over:
            self._over = True
            reason = (said.ended if said and mine else "") or GONE
            entries.append((self._now(), events.RunFinished(self.run_id, RunState.INCOMPLETE, 0, reason)))
        if self._over:
            self._tail.close()
        return entries

    async def ended(self) -> bool:
        """Whether the run has finished."""
        await self.poll()
        return self._over

    @property
    def log(self) -> str:
        return self._said.log

    async def now(self) -> float:
        return self._now()

    def _now(self) -> float:
        return max(0.0, time.monotonic() - self._said.began)

    # --- steering

    async def control(self, verb: str, text: str = "") -> None:
        await orders.send(self._said.socket, verb, text)

    async def take_over(self) -> None:
        if self._seat:
            await asyncio.to_thread(self._seat.take_over)
            await asyncio.to_thread(self._look_who)

    def _look_who(self) -> None:
        if self._seat:
            self.controlling, self.holder = self._seat.steers, self._seat.holder
