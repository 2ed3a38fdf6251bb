"""Pairs the ends of a site that hold one secret, each with each; says when that is over, and the secret's use with it.

By default it is over with the first pairing. `--ends N`: when all N - 1 others are paired. `--wait M`, where nobody
knows the number: when no further end has come for M minutes since the last pairing, or since the window was opened at
an end that has peers already. A window whose time is over before that keeps the secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from linkladder import units
from linkladder.pairing.service import UNBOUNDED
from linkladder.pairing.window_events import Appliance

AGAIN = 2.0  # seconds until those heard and not yet paired are called again, as each pairs with one at a time


class Window(Protocol):
    @property
    def paired(self) -> int: ...

    def heard(self) -> tuple[Appliance, ...]: ...

    async def close(self, reason: str) -> None: ...


class Site:
    """`call` calls an appliance and returns once the call is over; `others`: how many are due."""

    def __init__(
        self,
        window: Window,
        call: Callable[[Appliance], Coroutine[Any, Any, None]],
        others: int,
        wait: float | None = None,
    ) -> None:
        self._window, self._call = window, call
        self._others = others
        self._wait = wait
        self._rest: asyncio.TimerHandle | None = None
        self._rested = False
        self._tasks: dict[str, asyncio.Task[None]] = {}  # calls by whom they are for, and what closes the window

    @property
    def over(self) -> bool:
        """Whether all that the secret is there for is done."""
        return self._rested if self._others == UNBOUNDED else self._window.paired >= self._others

    def begin(self, has_peers: bool) -> None:
        if has_peers:
            self.came()

    def came(self) -> None:
        """Another end was paired."""
        if self._wait is None:
            return
        if self._rest:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(self._wait * 60, self._close)

    def call(self, one: Appliance) -> None:
        """Call an appliance that is there, unless it is paired, or called at this moment.

        Anybody can say any number of names, and to call each would leave no time for those that are there.
        """
        if one.answers and not one.known_as and one.id not in self._tasks:
            self._start(one.id, self._call(one))

    async def keep_calling(self) -> None:
        while True:
            await asyncio.sleep(AGAIN)
            for one in self._window.heard():
                self.call(one)

    async def end(self) -> None:
        if self._rest:
            self._rest.cancel()
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def left_over(self) -> str:
        """What to say of a window that ended too early; '' if it did not."""
        if self.over or self._others == UNBOUNDED:
            return ""
        if self._others == 1:
            return "nobody with the same secret was paired; more than two ends at a site need --ends N at each"
        return (
            f"{self._window.paired} of {self._others} others are paired; the secret is kept: run it again at all ends"
        )

    def _close(self) -> None:
        self._rested = True
        minutes = units.duration((self._wait or 0) * 60)
        self._start("", self._window.close(f"no further end has come for {minutes}"))

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[name] = asyncio.create_task(work)
        self._tasks[name].add_done_callback(lambda _: self._tasks.pop(name, None))
