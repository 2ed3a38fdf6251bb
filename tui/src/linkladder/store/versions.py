"""Upgrade and way back: an older linkladder finds its database as it was, and a later upgrade finds both again.

Before the tables are changed for a newer linkladder, they are kept beside as `linkladder.db.v8`.  If that linkladder is
given up, the one before takes this copy up again and keeps the newer file as `linkladder.db.v9`, whose own runs join
the others when such a linkladder comes back.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from linkladder.store import recovery
from linkladder.store.schema import MIGRATIONS, migrate

KNOWN = len(MIGRATIONS)
OWN = ("trials", "id")  # a number of this very file, which another one uses too


def kept(folder: Path, version: int) -> Path:
    return folder / f"{recovery.NAME}.v{version}"


def bring_up(db: sqlite3.Connection, folder: Path, known: int = KNOWN) -> None:
    """To this linkladder's version, with a copy of what was; ValueError of a newer one."""
    if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        with recovery.held(folder, "recovery"):  # of two that change it at once SQLite fails one, and lets it not wait
            db.execute("PRAGMA journal_mode = WAL")
    have = _version(db)
    if 0 < have < known:
        with recovery.held(folder, "recovery"):  # of two consoles that start at once one keeps the copy
            if _version(db) == have:
                _keep(db, kept(folder, have))
                migrate(db, known)
    migrate(db, known)
    if have and kept(folder, known).exists():
        with recovery.held(folder, "recovery"):
            if kept(folder, known).exists():
                _join(db, kept(folder, known))


def step_back(folder: Path, known: int = KNOWN) -> bool:
    """Of a newer linkladder's database, back to the copy from before it; False where there is none."""
    with recovery.held(folder, "recovery"):
        copy, file = kept(folder, known), folder / recovery.NAME
        newer = sqlite3.connect(file, isolation_level=None)
        try:
            have = _version(newer)
            if have <= known:
                return True  # another console was faster
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
    """Copy the database: what is there afterwards is a whole copy, or none."""
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
    """Runs that only the copy has, of the same version: they were made while it was the one in use."""
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
