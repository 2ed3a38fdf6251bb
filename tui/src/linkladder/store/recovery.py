"""Sets a damaged database aside and copies every row of it that can still be read into a new one."""

from __future__ import annotations

import fcntl
import json
import math
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from linkladder import damage, packing, units
from linkladder.migrations import MIGRATIONS, migrate
from linkladder.model import RunState
from linkladder.store import cells

NAME = "linkladder.db"
MARK = ".linkladder.db.damaged"  # exists if a read found damage; the next start then recovers
TABLES = ("runs", "hosts", "rungs", "trials")  # tables that others refer to come first
GAP = 50_000  # successive numbers without a row after which reading stops, as the last number may be unreadable
BROKEN = 1000  # successive unreadable rows after which reading the table stops
# Columns of JSON, and what each holds.
RECORDS: dict[str, dict[str, type]] = {
    "runs": {"plan": dict, "notes": list},
    "hosts": {"facts": dict},
    "rungs": {"path": dict, "paths": list, "evidence": dict},
}
PATIENCE = 2.0  # seconds to wait for other processes to close the database
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# What reading a broken file raises; Python finds no text in an error of SQLite that quotes a spoilt table definition.
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)


class Gone(Exception):
    """A record that an index names is not there."""


SPOILT = (Gone, zlib.error, json.JSONDecodeError, UnicodeDecodeError)  # errors of reading that only damage causes


def damaged(error: BaseException) -> bool:
    """Whether this error means that the file itself is broken or that a record in it cannot be unpacked."""
    if isinstance(error, SPOILT):
        return True
    return sqlite_code(error) in DAMAGE


def sqlite_code(error: BaseException) -> int:
    """SQLite's primary code of an error, without the extended part; 0 if it is not an error of SQLite."""
    number = getattr(error, "sqlite_errorcode", 0) if isinstance(error, sqlite3.Error) else 0
    return int(number) & 0xFF


def stored_json(stored: str, kind: type) -> Any:
    """The value of a column of JSON; of another kind than is ever stored there it is damaged."""
    found = json.loads(stored)
    if not isinstance(found, kind):
        raise Gone(f"{stored[:20]} is stored where something else was written")
    return found


def run_state(stored: object) -> RunState:
    """The state of a stored run; a spoilt one is not known to be complete, and hides neither its run nor others."""
    return next((state for state in RunState if state == stored), RunState.INCOMPLETE)


def mark(folder: Path) -> None:
    """Make the next start recover what it can, since the process that found the damage may be busy."""
    with suppress(OSError):
        (folder / MARK).touch(mode=0o600)


def marked(folder: Path) -> bool:
    return (folder / MARK).exists()


class Use:
    """A shared lock of a process that has the database open, so that no other one recovers it meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._file = -1
        with suppress(OSError):  # a full disk may have no room for the lock file; then go on without it
            self._file = _lock_file(folder, "use")
            fcntl.flock(self._file, fcntl.LOCK_SH)

    def end(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class InUse(Exception):
    """Another linkladder has the damaged database open."""


def recover(folder: Path) -> None:
    """Replace the damaged database by one with all rows that can be read; the old files are set aside."""
    with held(folder, "recovery"):  # if several consoles start at once, one recovers and the others wait
        if not marked(folder):
            return
        with held(folder, "use", PATIENCE):
            _recover(folder)


def _recover(folder: Path) -> None:
    files = [folder / NAME, folder / f"{NAME}-wal", folder / f"{NAME}-shm"]
    was = damage.set_aside(files, "the stored runs were damaged; what could be read is being recovered")
    draft = folder / f".{NAME}.recovered"
    draft.unlink(missing_ok=True)
    kept, lost = _copy(was.folder / NAME, draft)
    draft.replace(folder / NAME)
    missing = f"; at least {lost} records could not be read" if lost else ""
    runs, trials = units.plural(kept["runs"], "run"), units.plural(kept["trials"], "trial")
    were = "was" if kept["runs"] == 1 else "were"
    damage.explain(was.folder, f"the stored runs were damaged: {runs} with {trials} {were} recovered{missing}")
    (folder / MARK).unlink(missing_ok=True)


def _lock_file(folder: Path, name: str) -> int:
    return os.open(folder / f".{NAME}.{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


@contextmanager
def held(folder: Path, name: str, patience: float = math.inf) -> Iterator[None]:
    """Hold the lock of this name exclusively; raises InUse if it is not free within `patience` seconds."""
    file = _lock_file(folder, name)
    until = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise InUse from None
                time.sleep(0.05)
        yield
    finally:
        os.close(file)


def _copy(broken: Path, sound: Path) -> tuple[dict[str, int], int]:
    """Copy what can be read; returns how many rows of each table were copied, and at least how many were lost."""
    kept = dict.fromkeys(TABLES, 0)
    lost = 0
    source = sqlite3.connect(broken, isolation_level=None)
    source.text_factory = cells.text
    target = sqlite3.connect(sound, isolation_level=None)
    os.chmod(sound, 0o600)
    try:
        target.execute("PRAGMA synchronous = FULL")
        migrate(target, _version(source))  # first the tables of the old version; they are migrated after the copy
        target.execute("BEGIN")
        for table in TABLES:
            names = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
            readers = cells.of_table(target, table)
            into = f"INSERT OR IGNORE INTO {table} ({','.join(names)}) VALUES ({','.join('?' * len(names))})"
            for row in _rows(source, table, names):
                made = cells.mended(readers, names, row) if row else ()
                whole = bool(made) and _sound(table, dict(zip(names, made, strict=True)))
                kept[table] += target.execute(into, made).rowcount if whole else 0
                lost += not whole
        for table in TABLES[1:]:  # a row whose run is lost is of no use
            gone = target.execute(f"DELETE FROM {table} WHERE run NOT IN (SELECT id FROM runs)").rowcount
            kept[table] -= gone
            lost += gone
        target.execute("COMMIT")
        migrate(target)
    finally:
        source.close()
        target.close()
    return kept, lost


def _version(source: sqlite3.Connection) -> int:
    try:
        return min(len(MIGRATIONS), int(source.execute("PRAGMA user_version").fetchone()[0]) or len(MIGRATIONS))
    except UNREADABLE:
        return len(MIGRATIONS)


def _rows(source: sqlite3.Connection, table: str, names: list[str]) -> Iterator[tuple[object, ...] | None]:
    """Yield every row by its number, and None once for each stretch of rows that cannot be read."""
    query = f"SELECT {','.join(names)} FROM {table} WHERE rowid = ?"
    last = _last(source, table)
    number = missing = broken = 0
    while number < last and broken < BROKEN and missing < GAP:
        number += 1
        try:
            row = source.execute(query, (number,)).fetchone()
        except UNREADABLE:
            row = None
            if not broken:
                yield None
            broken += 1
        else:
            broken = 0
        missing = 0 if row else missing + 1
        if row:
            yield row


def _last(source: sqlite3.Connection, table: str) -> float:
    """The highest row number; infinite if it cannot be read."""
    try:
        return int(source.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0)
    except UNREADABLE:
        return math.inf


def _sound(table: str, row: dict[str, object]) -> bool:
    """Whether a row can be decoded. A bad record would make its run unreadable."""
    try:
        if table == "trials":
            blob = row["result"]
            packing.unpack(blob if isinstance(blob, bytes) else b"")
        for name, kind in RECORDS.get(table, {}).items():
            if (text := row.get(name)) is not None:
                stored_json(str(text), kind)
    except (*SPOILT, ValueError):
        return False
    return True
