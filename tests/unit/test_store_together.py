"""Two consoles of one appliance open the store at the same moment, on a first boot too."""

from __future__ import annotations

import multiprocessing
import sqlite3
from multiprocessing.synchronize import Barrier
from pathlib import Path

from linkladder.migrations import MIGRATIONS
from linkladder.store import Store

OPENERS = 3


def _open(folder: Path, together: list[Barrier]) -> None:
    for attempt, barrier in enumerate(together):
        barrier.wait()
        try:
            Store(folder / str(attempt)).close()
        except BaseException:
            for one in together[attempt + 1 :]:
                one.abort()  # nobody waits for us
            raise


def test_many_first_openings_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["linkladder.store", "pytest"])  # for all openers, once
    together = [context.Barrier(OPENERS) for _ in range(40)]
    openers = [context.Process(target=_open, args=(tmp_path, together)) for _ in range(OPENERS)]
    for one in openers:
        one.start()
    for one in openers:
        one.join(60)
    assert [one.exitcode for one in openers] == [0] * OPENERS
    for attempt in range(len(together)):
        db = sqlite3.connect(tmp_path / str(attempt) / "linkladder.db")
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        db.close()
