"""Files that are replaced whole: written beside the old one, on disk, and renamed.

The draft is always a new file: what somebody else put under its name, a link to another file above all, is not written
into.  After a power cut the file is the old one or the new one.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

PRIVATE = 0o600


def replace(path: Path, content: str | bytes, mode: int = PRIVATE) -> None:
    data = content.encode() if isinstance(content, str) else content
    with _draft(path, mode) as file:
        os.fchmod(file.fileno(), mode)
        if os.geteuid() == 0:  # root may write for another user, whose files they stay
            owner = path.parent.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(data)
    sync(path.parent)


def deliver(path: Path, pieces: Iterable[str]) -> None:
    """A file for a person, under a name of theirs: all of it or none, written as it is made.

    What is there and is no plain file (a pipe, a device, a link) is written into.
    """
    try:
        there = path.lstat()
    except OSError:
        there = None
    if there is not None and not stat.S_ISREG(there.st_mode):
        with path.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        return
    with _draft(path, 0o666 if there is None else stat.S_IMODE(there.st_mode)) as draft:
        draft.writelines(piece.encode() for piece in pieces)


@contextlib.contextmanager
def _draft(path: Path, mode: int) -> Iterator[IO[bytes]]:
    """A new file beside that one, which takes its place once it is written and on disk."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # of a process that had this number and was cut off
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def sync(folder: Path) -> None:
    """What was made, renamed or removed in it is so after a power cut too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
