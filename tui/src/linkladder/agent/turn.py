"""One run's hold of this end: what the run asks for is carried out while that lasts, and nothing of it outlasts it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from linkladder import wire
from linkladder.reservation import Reservation


class Turn:
    def __init__(self) -> None:
        self.lock = Reservation()
        self._ending = False
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextlib.contextmanager
    def carrying_out(self) -> Iterator[None]:
        """Count a request that needs the reservation; refused without one, and once it is being given back."""
        if not self.lock.held or self._ending:
            raise wire.Refused("reserve this appliance first")
        self._under_way += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._quiet.set()

    def go_on(self) -> None:
        """Refuse what a request, taken before, would still begin while the reservation is being given back."""
        if self._ending:
            raise wire.Refused("the reservation of this appliance is over")

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Take no more requests meanwhile; the reservation is free afterwards, unless what had to be ended was not."""
        self._ending = True
        try:
            yield
            self.lock.release()
        finally:
            self._ending = False

    async def quiet(self) -> None:
        """Wait until every request that was taken before has been carried out or refused."""
        await self._quiet.wait()
