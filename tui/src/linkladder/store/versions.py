"""Upgrades the database, and steps back to an older copy of it if an older linkladder is started again.

Before a newer linkladder changes the tables, it copies the database to a file such as `linkladder.db.v8`. If the older
linkladder is started again, it uses this copy and keeps the newer file as `linkladder.db.v9`. When the newer linkladder
comes back, it adds the runs that only that file has.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from linkladder.migrations import MIGRATIONS, migrate
from linkladder.store import recovery

KNOWN = len(MIGRATIONS)
OWN = ("trials", "id")  # not copied: row numbers of one file may be in use in the other


def kept(folder: Path, version: int) -> Path:
    return folder / f"{recovery.NAME}.v{version}"


def bring_up(db: sqlite3.Connection, folder: Path, known: int = KNOWN) -> None:
    """Bring the database to this linkladder's version, after keeping a copy; raises ValueError for a newer one."""
    if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        with recovery.held(folder, "recovery"):  # if two processes did this at once, SQLite would fail one
            db.execute("PRAGMA journal_mode = WAL")
    have = _version(db)
    if 0 < have < known:
        with recovery.held(folder, "recovery"):  # if two consoles start at once, only one makes the copy
            if _version(db) == have:
                _keep(db, kept(folder, have))
                migrate(db, known)
    migrate(db, known)
    if have and kept(folder, known).exists():
        with recovery.held(folder, "recovery"):
            if kept(folder, known).exists():
                _join(db, kept(folder, known))


def step_back(folder: Path, known: int = KNOWN) -> bool:
    """Replace a newer linkladder's database by the copy that was made before it; False if there is no copy."""
    with recovery.held(folder, "recovery"):
        copy, file = kept(folder, known), folder / recovery.NAME
        newer = sqlite3.connect(file, isolation_level=None)
        try:
            have = _version(newer)
            if have <= known:
                return True  # another console has done it already
            if not copy.exists():
                return False
            newer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            _keep(newer, kept(folder, have))
        finally:
            newer.close()
        for name in ("-wal", "-shm"):
            file.with_name(file.name + name).unlink(missing_ok=True)
        os.replace(copy, file)
    return True


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _keep(db: sqlite3.Connection, copy: Path) -> None:
    """Copy the database; after a crash there is either a complete copy or none."""
    draft = copy.with_name(f"{copy.name}.new")
    draft.unlink(missing_ok=True)
    target = sqlite3.connect(draft)
    try:
        os.chmod(draft, 0o600)
        db.backup(target)
    finally:
        target.close()
    os.replace(draft, copy)


def _join(db: sqlite3.Connection, copy: Path) -> None:
    """Add the runs that only `copy` has, which is of the same version: they were measured while it was in use."""
    db.execute("ATTACH DATABASE ? AS kept", (str(copy),))
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(
                "CREATE TEMP TABLE joining AS SELECT id FROM kept.runs WHERE id NOT IN (SELECT id FROM main.runs)"
            )
            for table in recovery.TABLES:
                names = ",".join(r[1] for r in db.execute(f"PRAGMA main.table_info({table})") if (table, r[1]) != OWN)
                column = "id" if table == "runs" else "run"
                db.execute(
                    f"INSERT INTO main.{table} ({names}) SELECT {names} FROM kept.{table} "
                    f"WHERE {column} IN (SELECT id FROM joining)"
                )
            db.execute("DROP TABLE joining")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
    finally:
        db.execute("DETACH DATABASE kept")
    copy.unlink(missing_ok=True)
