"""An unexpected error ends what it happened in, not the console: it is written down, said, and the rest goes on.

Textual hands every error of a worker, a timer, a handler or a drawing to one method of the application, which
then ends.  Here that method is the one place where linkladder says what happened instead.  A handler's error
would besides end the screen's own queue of messages, so those are caught a step earlier, by `Guarded`.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import Any

from textual.app import App
from textual.css.query import NoMatches
from textual.message import Message
from textual.message_pump import MessagePump
from textual.worker import WorkerFailed

MOST, SPAN = 20, 10.0  # so many errors within so many seconds: nothing can be shown any more
QUIET = 20.0  # seconds for which the same error is not said again: some come with every tick
log = logging.getLogger("linkladder.app")


class Guarded(MessagePump):
    """A screen, a widget or the application whose handlers may go wrong without taking its messages with them."""

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            app: Any = self.app
            if not app.survive(error):
                raise


class ErrorTolerantApp(Guarded, App[int]):
    """Goes on after an error, unless they come in a flood."""

    def __init__(self) -> None:
        super().__init__()
        self._errors: deque[float] = deque(maxlen=MOST)
        self._shown_at: dict[str, float] = {}

    def complain(self, error: BaseException) -> None:
        """Say what happened and what to do."""
        raise NotImplementedError

    def survive(self, error: Exception) -> bool:
        """Write it down and say it; False where going on makes no sense."""
        error = _cause(error)
        log.error("unexpected: %s: %s", type(error).__name__, error, exc_info=error)
        now = time.monotonic()
        self._errors.append(now)
        if len(self._errors) == MOST and now - self._errors[0] < SPAN:
            return False
        if self._leaving:  # nothing is left that could show it
            return True
        if len(self.screen_stack) < 2:  # it happened before the first place was there
            return False
        text = f"{type(error).__name__}: {error}"
        if now - self._shown_at.get(text, -QUIET) >= QUIET:
            self._shown_at[text] = now
            self.complain(error)
        return True

    @property
    def _leaving(self) -> bool:
        return not self.is_running or bool(self._exit)

    def _handle_exception(self, error: Exception) -> None:
        late = self._leaving and isinstance(_cause(error), NoMatches)  # for a place that is taken down
        if not late and not self.survive(error):
            super()._handle_exception(error)


def _cause(error: Exception) -> Exception:
    inner = error.error if isinstance(error, WorkerFailed) else None
    return inner if isinstance(inner, Exception) else error
