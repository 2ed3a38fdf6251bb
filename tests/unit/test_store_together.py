"""Two consoles of one appliance open the store at the same moment, on a first boot too."""

from __future__ import annotations

import multiprocessing
import sqlite3
from multiprocessing.synchronize import Barrier
from pathlib import Path

from linkladder.store.schema import MIGRATIONS, migrate


def _open(path: str, together: Barrier) -> None:
    db = sqlite3.connect(path, timeout=10, isolation_level=None)
    together.wait()
    migrate(db)


def test_many_first_openings_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["linkladder.store.schema", "pytest"])  # for all openers, once
    for attempt in range(5):
        path = str(tmp_path / f"{attempt}.db")
        together = context.Barrier(3)
        openers = [context.Process(target=_open, args=(path, together)) for _ in range(3)]
        for one in openers:
            one.start()
        for one in openers:
            one.join(30)
        assert [one.exitcode for one in openers] == [0, 0, 0]
        assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
