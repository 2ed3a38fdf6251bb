"""An upgrade of the database, its way back, and the next upgrade: no run is lost on any of them."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from linkladder.migrations import migrate
from linkladder.store import Store, versions
from linkladder.store.faults import StoreFault

OLD, NEW = versions.KNOWN - 1, versions.KNOWN
COLUMNS = (
    "(id, started, state, version, plan_name, plan) VALUES (?, '2026-11-22T10:00:00+00:00', 'done', 'x', 'p', '{}')"
)


def open_at(folder: Path, version: int) -> sqlite3.Connection:
    """As the linkladder that knew this many versions did."""
    db = sqlite3.connect(folder / "linkladder.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    migrate(db, version)
    return db


def add(db: sqlite3.Connection, run: str) -> None:
    db.execute(f"INSERT INTO runs {COLUMNS}", (run,))
    db.execute(
        "INSERT INTO trials (run, rung, experiment, repeat, ok, goodput, result) "
        "VALUES (?, 'dc', 'tcp', 1, 1, 1, x'00')",
        (run,),
    )


def ids(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "linkladder.db") as db:
        told = db.execute("SELECT id FROM runs ORDER BY id").fetchall()
        counted = db.execute("SELECT count(*) FROM trials").fetchone()[0]
    assert counted == len(told)
    return [row[0] for row in told]


def test_up_back_and_up_again(tmp_path: Path) -> None:
    db = open_at(tmp_path, OLD)
    add(db, "before")
    db.close()
    Store(tmp_path).close()  # the upgrade
    assert versions.kept(tmp_path, OLD).stat().st_mode & 0o077 == 0
    db = open_at(tmp_path, NEW)
    add(db, "on-trial")
    db.close()
    assert ids(tmp_path) == ["before", "on-trial"]
    assert versions.step_back(tmp_path, OLD)  # the way back
    db = open_at(tmp_path, OLD)
    assert db.execute("PRAGMA user_version").fetchone()[0] == OLD
    add(db, "after")
    db.close()
    assert ids(tmp_path) == ["after", "before"]
    Store(tmp_path).close()  # and up once more
    assert ids(tmp_path) == ["after", "before", "on-trial"]
    Store(tmp_path).close()
    assert ids(tmp_path) == ["after", "before", "on-trial"]
    assert not versions.kept(tmp_path, NEW).exists()


def test_two_consoles_at_once_go_back_once(tmp_path: Path) -> None:
    db = open_at(tmp_path, OLD)
    add(db, "before")
    db.close()
    Store(tmp_path).close()
    assert versions.step_back(tmp_path, OLD) and versions.step_back(tmp_path, OLD)
    assert ids(tmp_path) == ["before"]


def test_without_a_copy_nothing_is_touched_and_it_is_said(tmp_path: Path) -> None:
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "linkladder.db") as db:
        db.execute("PRAGMA user_version = 99")
    before = shutil.copy(tmp_path / "linkladder.db", tmp_path / "copy")
    with pytest.raises(StoreFault, match="newer linkladder"):
        Store(tmp_path)
    assert not versions.step_back(tmp_path, OLD)
    assert Path(before).read_bytes() == (tmp_path / "linkladder.db").read_bytes()


def test_a_newer_database_gives_way_to_the_copy_by_itself(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.close()
    shutil.copy(tmp_path / "linkladder.db", versions.kept(tmp_path, NEW))
    with sqlite3.connect(tmp_path / "linkladder.db") as db:
        db.execute("PRAGMA user_version = 99")
    Store(tmp_path).close()
    with sqlite3.connect(tmp_path / "linkladder.db") as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == NEW
    assert versions.kept(tmp_path, 99).exists()
