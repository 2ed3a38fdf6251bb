"""A locked file that a process holds until it ends; the system then frees the lock, so no dead process holds it."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from linkladder import state

LOOKS = 10  # how often taking the lock is tried, as a process that only checks it holds it for a moment
LOOK = 0.01  # seconds between the tries
MOST = 4096  # the most bytes that are read of what the holder wrote
LOOKING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # follows no link, and waits for no pipe


class HeldFile:
    """A file that its holder locks, writes and releases; other processes can check it without taking it."""

    def __init__(self, path: Path, mode: int = 0o600) -> None:
        self.path, self._mode = path, mode
        self._file: int | None = None

    @property
    def mine(self) -> bool:
        return self._file is not None

    @property
    def descriptor(self) -> int:
        """The file descriptor that a process must inherit to hold the lock too."""
        assert self._file is not None
        return self._file

    def take(self) -> bool:
        """Take the lock; True if this object has it now or had it already."""
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
        """Replace the file's content in place, which needs no room on a full disk."""
        assert self._file is not None
        data = text.encode("utf-8", "replace")
        os.pwrite(self._file, data.ljust(os.fstat(self._file).st_size), 0)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def held(path: Path) -> bool:
    """Whether a process holds the lock of this file now."""
    try:
        file = os.open(path, LOOKING)
    except OSError:
        return False
    try:
        return not _locked(file, fcntl.LOCK_SH)
    finally:
        os.close(file)


def first_bytes(path: Path, most: int = MOST) -> bytes:
    """The first bytes of a file which another user may have put in its place."""
    file = os.open(path, LOOKING)
    try:
        return os.read(file, most)
    finally:
        os.close(file)


def holder_text(path: Path) -> str:
    """What the present or last holder wrote, fit for a terminal; '' if there is nothing."""
    from linkladder.printable import one_line  # imported late, so that agents start faster

    try:
        return one_line(first_bytes(path).decode("utf-8", "replace").strip())
    except OSError:
        return ""


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
