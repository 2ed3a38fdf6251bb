"""The tables of the store, and the steps from each version of them to the next; read where Python has no SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

# Entry i brings a database from version i to i + 1; entries are never changed, only added.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY, started TEXT NOT NULL, ended TEXT NOT NULL DEFAULT '', state TEXT NOT NULL,
        version TEXT NOT NULL, plan_name TEXT NOT NULL, peer TEXT NOT NULL DEFAULT '', plan TEXT NOT NULL,
        notes TEXT NOT NULL DEFAULT '[]', pid INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE hosts (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, name TEXT NOT NULL, facts TEXT NOT NULL,
        PRIMARY KEY (run, name)
    );
    CREATE TABLE rungs (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, name TEXT NOT NULL, path TEXT NOT NULL,
        evidence TEXT, unavailable TEXT NOT NULL DEFAULT '', PRIMARY KEY (run, name)
    );
    CREATE TABLE trials (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, rung TEXT NOT NULL,
        experiment TEXT NOT NULL, repeat INTEGER NOT NULL, ok INTEGER NOT NULL, goodput REAL NOT NULL,
        result BLOB NOT NULL, UNIQUE (run, rung, experiment, repeat)
    );
    CREATE INDEX trials_by_run ON trials (run, rung, ok, goodput);
    """,
    """
    ALTER TABLE runs ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
    """,
    """
    ALTER TABLE runs ADD COLUMN reason TEXT NOT NULL DEFAULT '';
    """,
    # A trial's weight is from linkladder.model.best_rate, and its goodput is that of one direction. Older trials have
    # only the sum of both; half of it is used, which is never more than the better direction.
    """
    ALTER TABLE trials ADD COLUMN weight INTEGER NOT NULL DEFAULT 2;
    UPDATE trials SET weight = 0 WHERE experiment LIKE 'udp-%' OR experiment LIKE 'netperf-udp-%';
    UPDATE trials SET weight = min(weight, 1), goodput = goodput / 2 WHERE experiment LIKE '%-duplex';
    DROP INDEX trials_by_run;
    CREATE INDEX trials_by_run ON trials (run, rung, weight, ok, goodput);
    """,
    """
    ALTER TABLE rungs ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
    """,
    """
    ALTER TABLE rungs ADD COLUMN best REAL;
    """,
    # The form of a run's records: see linkladder.formats.
    """
    ALTER TABLE runs ADD COLUMN schema TEXT NOT NULL DEFAULT 'linkladder/1';
    """,
    """
    ALTER TABLE rungs RENAME COLUMN path TO paths;
    UPDATE rungs SET paths = '[' || paths || ']';
    """,
    # Columns for facts that were part of texts before: a verdict is provisional, and a person ended the run.
    """
    ALTER TABLE runs ADD COLUMN provisional INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE rungs ADD COLUMN provisional INTEGER NOT NULL DEFAULT 0;
    UPDATE runs SET provisional = 1, verdict = substr(verdict, 13) WHERE verdict LIKE 'provisional %';
    UPDATE rungs SET provisional = 1, verdict = substr(verdict, 13) WHERE verdict LIKE 'provisional %';
    UPDATE runs SET cancelled = 1 WHERE reason = 'it was cancelled';
    """,
    # From here on trials are packed by columns (see linkladder.packing), which an older linkladder cannot unpack.
    "",
)


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
