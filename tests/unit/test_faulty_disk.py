"""A disk that gives errors under the store during a run: the run ends and says why, and what was kept is there."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import run_logs
from linkladder import atomic_files, reservation
from linkladder.events import Event, RunFinished, TrialFinished
from linkladder.model import Experiment, Plan, Protocol, Rung, RungName, RunState
from linkladder.run import process
from linkladder.run.lock import locked
from linkladder.store import Store

ECHO = Experiment("round-trip", "ping", Protocol.ECHO, repeats=4, count=2, interval=0.2)
PLAN = Plan("p", rungs=(Rung(RungName.LOCALHOST, experiments=(ECHO,)),))
GOOD = 2  # trials before the first error


async def measured(folder: Path) -> tuple[list[Event], RunFinished | None]:
    """All that the measuring process writes down of a run."""
    seen: list[Event] = []
    with locked(folder) as lock:
        last = await process.measure(lock, PLAN, tell=lambda event, *_: seen.append(event))
    (log,) = (folder / "live").glob("*.jsonl")
    assert [type(e) for _, e in run_logs.whole(log)] == [type(e) for e in seen]
    return seen, last


def ended(seen: list[Event], last: RunFinished | None) -> str:
    """Its reason; nothing of the run is left."""
    assert last is not None and last is seen[-1] and last.state is RunState.INCOMPLETE
    assert sum(isinstance(event, TrialFinished) for event in seen) == GOOD
    assert not reservation.holder(), "whoever comes next may measure"
    return last.reason


async def test_output_that_cannot_be_written_ends_the_run(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, written = atomic_files.replace, 0

    def replace(path: Path, *words: Any) -> None:
        nonlocal written
        written += path.parent.parent.name == "raw"
        if written > GOOD:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        real(path, *words)

    with monkeypatch.context() as faulty:
        faulty.setattr(atomic_files, "replace", replace)
        reason = ended(*await measured(own_state))
    assert "the disk cannot be written" in reason and os.strerror(errno.EIO) in reason
    (run,) = Store(own_state).runs()
    assert (run.state, run.trials) == (RunState.INCOMPLETE, GOOD) and os.strerror(errno.EIO) in run.reason


class Faulty(sqlite3.Connection):
    """A database under which the disk gives way: at a trial, and at whatever is written after it."""

    for_good = False
    trials = 0

    def execute(self, sql: str, *words: Any) -> sqlite3.Cursor:
        kind = type(self)
        kind.trials += sql.startswith("INSERT OR REPLACE INTO trials")
        broken = kind.trials > GOOD and (kind.for_good or sql.startswith("INSERT OR REPLACE INTO trials"))
        if broken and not sql.startswith("ROLLBACK"):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
            raise error
        return super().execute(sql, *words)


@pytest.mark.parametrize("for_good", [False, True], ids=["at one trial", "from then on"])
async def test_a_database_that_cannot_be_written_ends_the_run(
    own_state: Path, monkeypatch: pytest.MonkeyPatch, for_good: bool
) -> None:
    class Disk(Faulty):
        pass

    Disk.for_good = for_good
    with monkeypatch.context() as faulty:
        faulty.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Disk))
        reason = ended(*await measured(own_state))
    assert "disk I/O error" in reason
    again = Store(own_state)
    with contextlib.closing(again):
        again.settle(lambda _: False)
        (run,) = again.runs()
        assert (run.state, run.trials) == (RunState.INCOMPLETE, GOOD), "it can be taken up again"
        assert len(again.load(run.id).rungs[0].experiments[0].trials) == GOOD
