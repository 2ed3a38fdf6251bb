"""The file that remembers what settings were before a lease changed them; on disk before anything is changed."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from linkladder import codec, drafts, locks
from linkladder.errors import EnvironmentFault

NAME = "settings.journal"
LOCK = "settings.lock"


@dataclass(frozen=True)
class Entry:
    """A setting's value before the lease, and the leased one (None: it may change along with another)."""

    kind: str
    target: str
    old: str
    new: str | None = None


@dataclass(frozen=True)
class Record:
    """All that one lease touches, and the boot it was taken in."""

    boot: str
    entries: tuple[Entry, ...]
    seconds: float = 0.0  # after which it ends when it is not renewed; 0: it has no such end


class Journal:
    """The record in a state folder, and the lock that a living lease holds; the kernel drops it when we die."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._path = self.folder / NAME
        self._lock = locks.HeldFile(self.folder / LOCK, 0o644)

    def lock(self) -> bool:
        """False if a living lease has it."""
        return not self._lock.mine and self._lock.take()

    def unlock(self) -> None:
        self._lock.release()

    @property
    def descriptor(self) -> int:
        """The lock's, for a process that is to hold it too."""
        return self._lock.descriptor

    def lent(self) -> bool:
        """Whether a living lease, or its undo, has the lock."""
        return locks.held(self.folder / LOCK)

    def exists(self) -> bool:
        return self._path.exists()

    def read(self) -> Record | None:
        """What is recorded; a file that cannot be read is moved aside and told of, once."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            return codec.from_json(Record, json.loads(text))
        except ValueError as error:
            unreadable = self._path.with_suffix(".unreadable")
            os.replace(self._path, unreadable)
            raise EnvironmentFault(
                "it is not known which settings a lease left behind",
                f"{unreadable} cannot be read: {error}",
                "reboot, which restores them all",
            ) from None

    def peek(self) -> tuple[Record, float] | None:
        """What is recorded and how many seconds ago it was renewed, for people; None where nothing can be read."""
        try:
            text, at = self._path.read_text(encoding="utf-8"), self._path.stat().st_mtime
            return codec.from_json(Record, json.loads(text)), max(0.0, time.time() - at)
        except (OSError, ValueError):
            return None

    def renewed(self) -> None:
        """Note in the file's time that the lease was renewed now: `peek` tells how long ago that is."""
        with contextlib.suppress(OSError):
            os.utime(self._path)

    def write(self, record: Record) -> None:
        """On disk, whole, when this returns."""
        try:
            drafts.replace(self._path, json.dumps(codec.to_json(record)), 0o644)
        except OSError as error:
            raise EnvironmentFault(
                "nothing was changed, as the old values cannot be remembered", f"{self._path}: {error.strerror}"
            ) from error

    def clear(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        drafts.sync(self.folder)
