"""The errors of the store, with words that tell a person what to do."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from linkladder.codec import CodecError
from linkladder.errors import FULL, EnvironmentFault, broken_disk, disk_fault
from linkladder.store import recovery

BROKEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR)
LEAST_ROOM = 1 << 20  # bytes that opening the store and writing its first log entry need
OTHERS = "linkladder runs lists the others; linkladder runs --delete RUN removes this one"
ELSEWHERE = "set LINKLADDER_STATE to a folder of yours"
ANEW = f"end the other consoles and try again; if it stays so, move {recovery.NAME} away: a new one is begun"

P = ParamSpec("P")
R = TypeVar("R")


class StoreFault(EnvironmentFault):
    """The store cannot be read or written."""


class DiskFull(StoreFault):
    """There is no room for the store's next entry; what it has is kept."""


class NewerDatabase(StoreFault):
    """The tables were made by a newer linkladder."""


class InFolder(Protocol):
    folder: Path


S = TypeVar("S", bound=InFolder)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn errors of the system and of SQLite into a StoreFault that tells a person what to do."""
    try:
        yield
    except (sqlite3.Error, OSError, CodecError, *recovery.SPOILT) as error:
        # SQLite reports "disk I/O error" or "unable to open" if there is not even room for its log.
        code = recovery.sqlite_code(error)
        full = code == sqlite3.SQLITE_FULL or (isinstance(error, OSError) and error.errno in FULL)
        if full or _no_room(folder):
            raise DiskFull(
                "the disk is full",
                f"{error}, in {folder}",
                "delete old runs (d in Runs, or linkladder runs --delete RUN); what was measured before is kept",
            ) from error
        if recovery.damaged(error):
            recovery.mark(folder)
            raise StoreFault(
                "the stored runs are damaged",
                f"{error}, in {folder}",
                "start linkladder again: it recovers what it can",
            ) from error
        if disk_fault(error) or code in BROKEN:
            fault = broken_disk(f"{error}, in {folder}")
            raise StoreFault(fault.title, fault.cause, fault.hint) from error
        if isinstance(error, CodecError):
            raise StoreFault("a stored run cannot be read", f"{error}, in {folder}", OTHERS) from error
        remedy = ELSEWHERE if isinstance(error, OSError) else ANEW
        raise StoreFault("the store cannot be used", f"{error}, in {folder}", remedy) from error


def _no_room(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < LEAST_ROOM
    except OSError:
        return False


def with_causes(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Decorate a method so that its errors become StoreFaults."""

    @wraps(method)
    def explained_method(self: S, /, *args: P.args, **named: P.kwargs) -> R:
        with explained(self.folder):
            return method(self, *args, **named)

    return explained_method
