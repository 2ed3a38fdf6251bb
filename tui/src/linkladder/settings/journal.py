"""The file with the values of settings before a lease changed them; it is on disk before the first change."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from linkladder import atomic_files, codec, locks
from linkladder.errors import EnvironmentFault

NAME = "settings.journal"
LOCK = "settings.lock"
NOTICE = "settings.notice"
MOST = 1 << 20  # bytes that a record may have
ACCEPT = "linkladder system accept-settings"  # by which a person takes the settings as they are


@dataclass(frozen=True)
class Entry:
    """A setting's value before the lease, and its leased value, which is None if it only may change with another."""

    kind: str
    target: str
    old: str
    new: str | None = None


@dataclass(frozen=True)
class Record:
    """All settings that one lease may change, and the boot in which it was taken."""

    boot: str
    entries: tuple[Entry, ...]
    seconds: float = 0.0  # the lease ends if it is not renewed for so long; 0 if it does not end
    failed: str = ""  # what could not be put back, and why; '' as long as it was not tried, or worked


class Damaged(EnvironmentFault):
    """The record of a lease cannot be read."""


class Journal:
    """The record in a state folder, and the lock that a lease holds; the kernel frees it when the holder dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._path = self.folder / NAME
        self._lock = locks.HeldFile(self.folder / LOCK, 0o644)

    def lock(self) -> bool:
        """Take the lock; False if a living lease holds it."""
        try:
            return not self._lock.mine and self._lock.take()
        except OSError as error:
            title = "settings are left as they are, as the record of loans cannot be opened"
            raise EnvironmentFault(title, f"{error.filename}: {error.strerror}") from error

    def unlock(self) -> None:
        self._lock.release()

    @property
    def descriptor(self) -> int:
        """The lock's file descriptor, for a child process that must hold the lock too."""
        return self._lock.descriptor

    def lent(self) -> bool:
        """Whether a living lease or its undo process holds the lock."""
        return locks.held(self.folder / LOCK)

    def exists(self) -> bool:
        return self._path.exists()

    def read(self) -> Record | None:
        """The record, None without one. Each reading of a damaged one raises Damaged, until a person has seen to it."""
        try:
            text = locks.first_bytes(self._path, MOST).decode("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise self._damaged(error) from None
        try:
            return codec.from_json(Record, json.loads(text))
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> Damaged:
        return Damaged(
            "it is not known which settings a lease left behind",
            f"{self._path} cannot be read: {error}",
            f"restart, which ends every loan, compare with linkladder facts, then say {ACCEPT}",
        )

    def age(self) -> float:
        """How many seconds ago the lease was renewed, to show people."""
        try:
            return max(0.0, time.time() - self._path.stat().st_mtime)
        except OSError:
            return 0.0

    def renewed(self) -> None:
        """Set the file's time to now, from which `age` tells when the lease was renewed."""
        with contextlib.suppress(OSError):
            os.utime(self._path)

    def write(self, record: Record) -> None:
        """Write the record; it is completely on disk when this returns."""
        try:
            atomic_files.replace(self._path, json.dumps(codec.to_json(record)), 0o644)
        except OSError as error:
            raise EnvironmentFault(
                "nothing was changed, as the old values cannot be remembered", f"{self._path}: {error.strerror}"
            ) from error

    def mark(self, record: Record, failed: str) -> None:
        """Note what could not be put back. On a full disk the record stays as it was, which says enough."""
        with contextlib.suppress(EnvironmentFault):
            self.write(replace(record, failed=failed))

    def tell(self, text: str) -> None:
        """Keep a sentence on a loan that a restart ended, or on what something else changed, until people saw it."""
        try:
            atomic_files.replace(self.folder / NOTICE, text, 0o644)
        except OSError as error:
            raise EnvironmentFault(
                "what happened to settings on loan cannot be noted", f"{NOTICE}: {error.strerror}", "make room"
            ) from error

    def notice(self) -> str:
        return locks.holder_text(self.folder / NOTICE)

    def clear(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        atomic_files.sync(self.folder)
