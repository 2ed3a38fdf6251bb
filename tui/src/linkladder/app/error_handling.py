"""Keeps the console running after an unexpected error, which is logged and shown.

Textual hands every error in a worker, a timer, a handler or a drawing to one method of the application, which then
ends. Here that method shows the error instead. An error in a handler would also end the screen's queue of messages, so
`Guarded` catches those earlier.
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

MOST, SPAN = 20, 10.0  # after so many errors within so many seconds the application ends
QUIET = 20.0  # seconds for which the same error is not shown again, as some come with every tick
log = logging.getLogger("linkladder.app")


class Guarded(MessagePump):
    """A screen, a widget or the application that goes on receiving messages after an error in a handler."""

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            app: Any = self.app
            if not app.survive(error):
                raise


class ErrorTolerantApp(Guarded, App[int]):
    """An application that goes on after errors, unless too many come at once."""

    def __init__(self) -> None:
        super().__init__()
        self._errors: deque[float] = deque(maxlen=MOST)
        self._shown_at: dict[str, float] = {}

    def complain(self, error: BaseException) -> None:
        """Show what happened and what to do."""
        raise NotImplementedError

    def survive(self, error: Exception) -> bool:
        """Log the error and show it; False if the application had better end."""
        error = _cause(error)
        log.error("unexpected: %s: %s", type(error).__name__, error, exc_info=error)
        now = time.monotonic()
        self._errors.append(now)
        if len(self._errors) == MOST and now - self._errors[0] < SPAN:
            return False
        if self._leaving:  # there is no screen to show it any more
            return True
        if len(self.screen_stack) < 2:  # the first screen did not come up
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
        late = self._leaving and isinstance(_cause(error), NoMatches)  # of a screen that is being removed
        if not late and not self.survive(error):
            super()._handle_exception(error)


def _cause(error: Exception) -> Exception:
    inner = error.error if isinstance(error, WorkerFailed) else None
    return inner if isinstance(inner, Exception) else error
