"""What blocks the event loop is found where it happens: Python itself tells of every file, process and connection."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import linkladder

PACKAGE = str(Path(linkladder.__file__).parent)
# Audit events (docs.python.org, "Audit events table") of calls that may wait for a disk, a process, a name server or
# another machine.  What a nonblocking socket does is none of them.
WAITS = ("open", "os.", "pathlib.", "shutil.", "glob.", "tempfile.", "fcntl.", "sqlite3.", "subprocess.", "time.sleep",
         "socket.getaddrinfo", "socket.gethostby", "urllib.", "http.", "webbrowser.")  # fmt: skip
AT_ONCE = ("os.putenv", "os.unsetenv", "os.kill", "os.killpg", "pathlib.Path.", "os.add_dll_directory")
LOADING = "importlib._bootstrap"  # a place's module is loaded when somebody goes there


class Found:
    """Each call that may block, made on the event loop's thread by linkladder: what, on what, and from where."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._thread = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """The thread that asks for it is the event loop's."""
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._thread = 0

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self._thread != threading.get_ident() or not event.startswith(WAITS) or event.startswith(AT_ONCE):
            return
        if event == "open" and isinstance(args[0], int):  # a descriptor that is open already
            return
        if asyncio._get_running_loop() is not None and (where := _who(sys._getframe(1))):
            self.calls.append(f"{event} {str(args[:1])[:80]} by {where}")


def _who(frame: FrameType | None) -> str:
    """The innermost line of linkladder's that led to it; '' where none did, or where a module is loaded."""
    found = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if LOADING in name or "asyncio/base_subprocess" in name or "asyncio/unix_events" in name:
            return ""
        if not found and name.startswith(PACKAGE):
            found = f"{Path(name).relative_to(PACKAGE)}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
    return found


_found = Found()
_hooked = False


def found() -> Found:
    """Python keeps an audit hook for good, so there is one for all tests."""
    global _hooked
    if not _hooked:
        sys.addaudithook(lambda event, args: _found.hear(event, args))
        _hooked = True
    _found.calls.clear()
    return _found
