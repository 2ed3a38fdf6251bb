"""A file that a process holds for as long as it lives: what the system itself lets go of cannot be held by the dead."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from linkladder import state

LOOKS = 10  # times that somebody who only looks may be met there
LOOK = 0.01  # seconds that one may take
MOST = 4096  # bytes that a holder writes


class HeldFile:
    """Taken, written in and released by its holder; whoever looks at the file does not take it."""

    def __init__(self, path: Path, mode: int = 0o600) -> None:
        self.path, self._mode = path, mode
        self._file: int | None = None

    @property
    def mine(self) -> bool:
        return self._file is not None

    @property
    def descriptor(self) -> int:
        """What a process that is to hold it too must inherit."""
        assert self._file is not None
        return self._file

    def take(self) -> bool:
        """Whether it is ours now, or was already."""
        if self._file is not None:
            return True
        state.ensure(self.path.parent)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, self._mode)
        for _ in range(LOOKS):
            if _locked(file, fcntl.LOCK_EX):
                self._file = file
                return True
            time.sleep(LOOK)
        os.close(file)
        return False

    def write(self, text: str) -> None:
        """In place of what stands there, in one piece and where it lies: that takes no room on a full disk."""
        assert self._file is not None
        data = text.encode()
        os.pwrite(self._file, data.ljust(os.fstat(self._file).st_size), 0)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def held(path: Path) -> bool:
    """Whether some process has it now."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locked(file, fcntl.LOCK_SH)
    finally:
        os.close(file)


def written(path: Path) -> str:
    """What its holder, or the last one, wrote; '' where nobody has."""
    try:
        with path.open("rb") as file:
            return file.read(MOST).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
