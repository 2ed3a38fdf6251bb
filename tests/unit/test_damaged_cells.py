"""A cell of another type than its column's costs at most what it says, and never a command."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from linkladder.model import HostFacts
from linkladder.store import Store, StoreFault, recovery
from test_damage import met, readable, stored

OTHERS = (b"\xff\x00", "words", 7, 2.5, None, "")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    runs = stored(folder, runs=2, trials=2)
    store = Store(folder)
    for run in runs:
        store.keep_host(run, "near", HostFacts("alpha"))
    store.close()
    return folder


def columns(folder: Path, table: str) -> list[str]:
    with contextlib.closing(sqlite3.connect(folder / recovery.NAME)) as db:
        return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def used(folder: Path) -> None:
    """Whatever a console does with the store before it opens a run."""
    store = Store(folder)
    try:
        for run in store.runs("q"):
            ", ".join((run.id, run.started, run.ended, run.plan, run.peer, run.reason, *run.best_bps))
            sum(run.best_bps.values())
        store.hosts()
        store.find("last")
        store.settle(lambda run: True)
    finally:
        store.close()


@pytest.mark.parametrize("table", recovery.TABLES)
def test_a_cell_of_another_type_ends_no_command(table: str, whole: Path, tmp_path: Path) -> None:
    for column in columns(whole, table):
        for number, value in enumerate(OTHERS):
            folder = tmp_path / f"{column}-{number}"
            shutil.copytree(whole, folder)
            with contextlib.closing(sqlite3.connect(folder / recovery.NAME)) as db, db:
                try:
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", (value,))
                except sqlite3.IntegrityError:
                    continue  # SQLite itself does not take it there
            with contextlib.suppress(StoreFault):  # said once, and recovered from
                used(folder)
            used(folder)
            if (table, column) != ("runs", "id"):  # under another name nobody finds a run
                met(folder)
                runs, trials = readable(folder)
                assert runs >= 1 and trials >= 2, f"the other run is whole after {value!r} in {column}"
            shutil.rmtree(folder)


def test_a_recovery_keeps_a_run_one_cell_of_which_is_spoilt(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(whole, folder)
    with contextlib.closing(sqlite3.connect(folder / recovery.NAME)) as db, db:
        db.execute("UPDATE runs SET peer = ? WHERE rowid = 1", (b"\xffbeta",))
    recovery.mark(folder)
    assert readable(folder) == (2, 4)
    store = Store(folder)
    assert [run.peer for run in store.runs()] == ["beta", "\ufffdbeta"]
    store.close()
