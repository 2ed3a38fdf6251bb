"""Runs a long call in a thread of its own, one at a time; leaving the program does not wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """Runs calls for the event loop. asyncio's own threads are not used: they are few, and the program's end waits for
    them.
    """

    def __init__(self) -> None:
        self._going: asyncio.Future[T] | None = None

    @property
    def going(self) -> bool:
        return self._going is not None and not self._going.done()

    async def ask(self, call: Callable[[], T]) -> T:
        """The result of the call, or of the call that is already running."""
        if self._going is None or not self.going:
            self._going = self._begin(call)
        return await asyncio.shield(self._going)

    def _begin(self, call: Callable[[], T]) -> asyncio.Future[T]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # perhaps nobody waits any more

        def tell(found: T | None, error: Exception | None) -> None:
            if future.done():
                return
            if error:
                future.set_exception(error)
            else:
                future.set_result(found)  # type: ignore[arg-type]  # T may be None itself

        def look() -> None:
            found, wrong = None, None
            try:
                found = call()
            except Exception as error:
                wrong = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, found, wrong)

        threading.Thread(target=look, name="background", daemon=True).start()
        return future
