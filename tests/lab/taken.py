"""One lab of a name at a time: a second waits for the first or is told, and takes none for a crashed one."""

from __future__ import annotations

import fcntl
import os
import time


class LabError(RuntimeError):
    """The lab cannot be set up."""


class LabTaken(LabError):
    """Somebody else's lab of this name is up, and is left alone."""


def hold(name: str, patience: float = 900.0) -> int:
    """The lock of that name, as a descriptor; it ends with its holder, however that ends."""
    lock = os.open(f"/run/linkladder-lab-{name}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                raise LabTaken(
                    "a lab is up already: close it where it was started, or end it by ./build.sh lab --down"
                ) from None
            time.sleep(0.2)
        else:
            return lock
