"""Replaces files as a whole: writes a draft beside the old file, syncs it to disk and renames it.

The draft is always a new file, so nothing is written into a file or link that somebody else put under its name. After a
power cut the file is either the old one or the new one.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

PRIVATE = 0o600


def replace(path: Path, content: str | bytes, mode: int = PRIVATE) -> None:
    data = content.encode() if isinstance(content, str) else content
    with _draft(path, mode) as file:
        os.fchmod(file.fileno(), mode)
        if os.geteuid() == 0:  # if root writes into a user's folder, the file belongs to that user
            owner = path.parent.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(data)
    sync(path.parent)


def deliver(path: Path, pieces: Iterable[str]) -> None:
    """Write a file under a name that a person chose, completely or not at all, piece by piece.

    If there already is something that is not a regular file (a pipe, a device, a link), it is written into.
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
    """Open a new file beside this one, which replaces it once it is written and on disk."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # left by an interrupted process with the same number
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


@contextlib.contextmanager
def written_for_a_program(files: Mapping[str, str]) -> Iterator[Path]:
    """A folder with these small files, which a program reads that takes no pipe; it is removed afterwards."""
    import tempfile  # imported late: it loads a dozen modules, and most commands need none

    with contextlib.ExitStack() as kept:
        for place in (None, Path.home()):  # anybody can fill /tmp
            try:
                folder = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="linkladder-", dir=place)))
                for name, text in files.items():
                    (folder / name).write_text(text, encoding="utf-8")
                break
            except OSError:
                if place is not None:
                    raise
        yield folder


def sync(folder: Path) -> None:
    """Sync a folder, so that files made, renamed or removed in it stay so after a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
