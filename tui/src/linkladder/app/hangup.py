"""Ends the TUI at once when its terminal goes away (ssh cut, tmux ended, console hung up); a run goes on without it.

Textual alone would read the end of input for ever at full speed, and could wait for ever to write.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable

PATIENCE = 1.5  # seconds for the application to leave by itself


def watch(terminal: int, leave: Callable[[int], None]) -> None:
    """Call `leave` once with the exit status on a hangup, TERM or HUP; then end the process in any case."""
    reading, writing = os.pipe()

    def heard(number: int, _: object) -> None:
        os.write(writing, bytes([number]))

    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, heard)
    threading.Thread(target=_wait, args=(terminal, reading, leave), name="hangup", daemon=True).start()


def _wait(terminal: int, signals: int, leave: Callable[[int], None]) -> None:
    poll = select.poll()
    poll.register(terminal, 0)  # reports only a hangup
    poll.register(signals, select.POLLIN)
    ready = dict(poll.poll())
    number = os.read(signals, 1)[0] if signals in ready else signal.SIGHUP
    if terminal in ready or number == signal.SIGHUP:
        _let_go()
    with contextlib.suppress(RuntimeError):  # if the event loop has already ended
        leave(128 + number)
    time.sleep(PATIENCE)
    os._exit(128 + number)


def _let_go() -> None:
    """Redirect standard input, output and error to /dev/null, as the terminal is gone."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
