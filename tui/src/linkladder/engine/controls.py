"""Carries out what an operator orders during a run: skip, repeat, pause, cancel, go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from linkladder.errors import EnvironmentFault

CANCELLED = "it was cancelled"


class Stop(Exception):
    """The run ends here; the reason is for people."""


class Skipped(Exception):
    """The operator leaves the rung."""


class Controls:
    def __init__(self) -> None:
        self._cancel_trial: Callable[[], object] | None = None
        self._running = asyncio.Event()
        self._running.set()
        self._answer: asyncio.Future[bool] | None = None
        self.pause_asked = False
        self.cancelled, self.why = False, ""
        self.by_person = False  # then nobody asks this person whether the run should be resumed
        self.skip_rung = False
        self.again = False
        self.notes: list[str] = []

    def skip(self) -> None:
        """Leave the rung: end its trial, and go on with the next rung."""
        self.skip_rung = True
        if self._answer and not self._answer.done():
            self._answer.set_result(False)
        self._interrupt()
        self.resume()

    def repeat(self) -> None:
        """Do the trial that runs, or the last one that ran, once more."""
        self.again = True

    def pause(self) -> None:
        """Stop before the next trial."""
        self.pause_asked = True
        self._running.clear()

    def resume(self) -> None:
        self.pause_asked = False
        self._running.set()

    def cancel(self, why: str = "") -> None:
        """End the run now, by a person's wish or because of `why`; what was measured is kept."""
        self.cancelled, self.why, self.by_person = True, why or CANCELLED, not why
        self.skip()

    def proceed(self) -> None:
        """The operator has done what WaitingForOperator asked for."""
        if self._answer and not self._answer.done():
            self._answer.set_result(True)

    def note(self, text: str) -> None:
        self.notes.append(text)

    # --- for the engine

    async def operator(self) -> bool:
        """Wait for proceed (True) or skip (False)."""
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        finally:
            self._answer = None

    def raise_if_asked(self) -> None:
        """Leave the run or the rung, whichever the operator has asked for."""
        if self.cancelled:
            raise Stop(self.why) from None
        if self.skip_rung:
            raise Skipped from None

    async def may_run(self) -> None:
        await self._running.wait()

    def guard(self, cancel: Callable[[], object] | None) -> None:
        self._cancel_trial = cancel

    async def before_all_rungs(self, wait: Coroutine[Any, Any, None]) -> None:
        """Wait for this as long as nobody ends the run; there is no rung yet that could be left."""
        work = asyncio.create_task(wait)
        self.guard(lambda: self.cancelled and work.cancel())
        self._interrupt()  # what was asked before there was anything to wait for
        try:
            await work
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
            raise EnvironmentFault("the run was ended before it began", self.why) from None
        finally:
            self.guard(None)

    def _interrupt(self) -> None:
        if self._cancel_trial:
            self._cancel_trial()
