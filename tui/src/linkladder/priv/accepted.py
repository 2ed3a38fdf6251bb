"""Takes the settings as they are that an experiment could not put back: their record is set aside, and runs may start.

The folder belongs to the measuring user, so that nothing in it is followed or opened, except the lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
from collections.abc import Callable

from linkladder.priv.checks import exactly
from linkladder.priv.running import Failed

Step = list[str] | Callable[[], None]
ATTACHING = "/var/run/linkladder-attaching.*"  # the records of `attaching`
FOLDER = "/var/db/linkladder-measure"  # the names are the same as in linkladder.settings.journal
JOURNAL, LOCK, NOTICE, ACCEPTED = "settings.journal", "settings.lock", "settings.notice", "settings.accepted"


def accept_steps(args: list[str]) -> list[Step]:
    """accept-settings"""
    exactly(args)
    return [lambda: accept(FOLDER)]


def accept(folder: str) -> None:
    """Set the record aside, and forget what was told of a restart; fails while settings are on loan."""
    with contextlib.ExitStack() as closing:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        closing.callback(os.close, place)
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
            closing.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Failed("settings are on loan now: end that experiment first") from None
        with contextlib.suppress(FileNotFoundError):
            os.rename(JOURNAL, ACCEPTED, src_dir_fd=place, dst_dir_fd=place)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NOTICE, dir_fd=place)
        os.fsync(place)
        for left in glob.glob(ATTACHING):
            os.unlink(left)
