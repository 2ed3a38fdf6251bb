"""Keeps some room on the disk, given up when the disk is full: without any SQLite opens no database, and nobody could
delete a run to make room.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SIZE = 1 << 20  # what SQLite needs to open the database and to delete a run


def keep(folder: Path) -> None:
    """Take the room, unless it is taken already; without it nothing else fails."""
    file = _file(folder)
    with suppress(OSError):
        if not file.exists() or file.stat().st_size < SIZE:
            file.unlink(missing_ok=True)
            with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as opened:
                opened.write(bytes(SIZE))


def give_up(folder: Path) -> bool:
    """Free the room; False if there is none left."""
    try:
        _file(folder).unlink()
    except OSError:
        return False
    return True


def _file(folder: Path) -> Path:
    return folder / ".room-to-delete"
