"""Reserves an appliance, so that only one run measures with it at a time; the reservation ends with its holder."""

from __future__ import annotations

import contextlib
from pathlib import Path

from linkladder import locks, state


def holder() -> str:
    """The name of who measures with this appliance now; '' if nobody does."""
    return (locks.holder_text(_path()) or "somebody") if locks.held(_path()) else ""


def _path() -> Path:
    return state.measuring() / "run" / "trial.lock"


class Reservation:
    def __init__(self) -> None:
        self._file: locks.HeldFile | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    def descriptors(self) -> tuple[int, ...]:
        """What a process must inherit so that the reservation lasts until it has ended too."""
        return (self._file.descriptor,) if self._file is not None else ()

    def take(self, holder: str) -> str | None:
        """Take the reservation; returns None if this object has it now or had it already, else the holder's name."""
        if self.held:
            return None
        file = locks.HeldFile(_path(), 0o644)
        if not file.take():
            return locks.holder_text(file.path) or "somebody"
        with contextlib.suppress(OSError):  # where there is no room for the name, the lock alone says enough
            file.write(holder)
        self._file = file
        return None

    def release(self) -> None:
        if self._file is not None:
            self._file.release()
            self._file = None
