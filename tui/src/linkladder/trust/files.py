"""Files that only their owner can read; they are replaced as a whole and synced to disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from linkladder import atomic_files
from linkladder.errors import EnvironmentFault


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace the file in one step; after a power cut it is either the old or the new one."""
    if path.exists() and path.read_bytes() == text.encode() and stat.S_IMODE(path.stat().st_mode) == mode:
        return
    atomic_files.replace(path, text, mode)


def check_private(path: Path) -> None:
    """Refuse a file that other users could read, or that lies in a folder that they could enter."""
    _check(path, 0o600)
    _check(path.parent, 0o700)


def check_state(base: Path) -> None:
    """Check at every start that only their owner can read the existing keys and lists of keys."""
    folder = base / "keys"
    try:
        if folder.is_dir():
            _check(folder, 0o700)
            for one in sorted(folder.iterdir()):
                if one.suffix != ".pub" and one.is_file():
                    _check(one, 0o600)
        for one in (base / "peers.json", base / "sshd" / "authorized_keys"):
            if one.exists():
                check_private(one)
    except FileNotFoundError:  # another linkladder has just replaced it
        pass
    except PermissionError as error:
        raise EnvironmentFault(
            f"{base} is not this user's",
            str(error),
            "run linkladder as its owner, or set LINKLADDER_STATE to a folder of your own",
        ) from None


def _check(one: Path, allowed: int) -> None:
    seen = os.stat(one)
    if stat.S_IMODE(seen.st_mode) & ~allowed:
        raise EnvironmentFault(
            f"{one} is open to others (mode {stat.S_IMODE(seen.st_mode):04o})",
            "keys and the list of peers must be their owner's alone",
            f"chmod {allowed:o} {one}; if somebody else had access, remove the folder and pair again",
        )
    if os.geteuid() not in (0, seen.st_uid):
        raise EnvironmentFault(
            f"{one} belongs to another user (uid {seen.st_uid})",
            "keys and the list of peers must belong to whoever runs linkladder",
            "run linkladder as that user, or set LINKLADDER_STATE to a folder of your own",
        )


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that processes which read, change and write files do so one after the other."""
    with os.fdopen(os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
