"""One run at a time on an appliance, whoever asks; the reservation dies with its holder."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from linkladder import state

LOOKED_AT = 0.05  # seconds that somebody who only looks may have it


def holder() -> str:
    """Who measures with this appliance now; '' for nobody."""
    try:
        file = os.open(_path(), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _name(file)
    finally:
        os.close(file)
    return ""


def _path() -> Path:
    return state.folder() / "run" / "trial.lock"


def _name(file: int) -> str:
    return os.pread(file, 200, 0).decode("utf-8", "replace") or "somebody"


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Reservation:
    def __init__(self) -> None:
        self._file: int | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    def take(self, holder: str) -> str | None:
        """None when it is ours now (or was already), else the name of who holds it."""
        if self.held:
            return None
        state.ensure(_path().parent)
        file = os.open(_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _locked(file):
            time.sleep(LOOKED_AT)
            if not _locked(file):
                name = _name(file)
                os.close(file)
                return name
        os.ftruncate(file, 0)
        os.pwrite(file, holder.encode(), 0)
        self._file = file
        return None

    def release(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None
