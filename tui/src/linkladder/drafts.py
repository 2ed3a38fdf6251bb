"""Files that are replaced whole: written beside the old one, on disk, and renamed.

The draft is always a new file: what somebody else put under its name, a link to another file above all, is not written
into.  After a power cut the file is the old one or the new one.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PRIVATE = 0o600


def replace(path: Path, content: str | bytes, mode: int = PRIVATE) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # of a process that had this number and was cut off
    data = content.encode() if isinstance(content, str) else content
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)
            if os.geteuid() == 0:  # root may write for another user, whose files they stay
                owner = path.parent.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    sync(path.parent)


def sync(folder: Path) -> None:
    """What was made, renamed or removed in it is so after a power cut too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
