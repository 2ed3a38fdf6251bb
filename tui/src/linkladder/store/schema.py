"""Brings a database to a version of its tables."""

from __future__ import annotations

import sqlite3

from linkladder.migrations import MIGRATIONS


def migrate(db: sqlite3.Connection, to: int = len(MIGRATIONS)) -> None:
    """Bring an older database up to version `to`; raises ValueError for one that is newer than this linkladder."""
    have = int(db.execute("PRAGMA user_version").fetchone()[0])
    if have > len(MIGRATIONS):
        raise ValueError(f"its version is {have}, this linkladder knows {len(MIGRATIONS)}")
    for number in range(have, to):
        db.execute("BEGIN IMMEDIATE")
        try:
            # If two consoles start at once, the second to get the lock finds the step already done.
            if int(db.execute("PRAGMA user_version").fetchone()[0]) == number:
                for statement in filter(str.strip, MIGRATIONS[number].split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
