"""One lab of a name at a time: a second waits for the first or is told, and takes none for a crashed one."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path


class LabError(RuntimeError):
    """The lab cannot be set up."""


class LabTaken(LabError):
    """Somebody else's lab of this name is up, and is left alone."""


def hold(name: str, patience: float = 900.0) -> int:
    """The lock of that name, as a descriptor; it ends with its holder, however that ends."""
    deadline = time.monotonic() + patience
    while True:
        lock = os.open(_file(name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_nlink:  # else its last holder removed it in between
                return lock
            os.close(lock)
        except BlockingIOError:
            os.close(lock)
            if time.monotonic() > deadline:
                raise LabTaken(
                    "a lab is up already: close it where it was started, or end it by ./build.sh lab --down"
                ) from None
            time.sleep(0.2)


def release(name: str, lock: int) -> None:
    """No trace of it is left."""
    _file(name).unlink(missing_ok=True)
    os.close(lock)


def _file(name: str) -> Path:
    return Path(f"/run/linkladder-lab-{name}.lock")
