"""Implements the backend's part about stored runs: lists, opens, judges, compares and deletes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from linkladder.findings import Finding, Health
from linkladder.model import Document, HostFacts, RunState
from linkladder.run import lock
from linkladder.store import RunSummary, Store, StoreFault
from linkladder.verdicts import Comparison, DocumentJudgement

ROOM = 512 * 1024  # bytes without which the store cannot even be opened
NEWEST = 20  # how many of the newest runs are searched for a complete one


@dataclass(frozen=True)
class Overview:
    """What Home shows about the stored runs."""

    runs: tuple[RunSummary, ...] = ()  # the newest first
    hosts: dict[str, HostFacts] = field(default_factory=dict)  # each host's latest facts
    trouble: StoreFault | None = None
    unreadable: bool = False  # whether the trouble prevented reading the runs

    @property
    def last(self) -> RunSummary | None:
        """The newest complete run in which something was measured; None if there is none."""
        return next((r for r in self.runs if r.state is RunState.COMPLETE and r.trials), None)

    @property
    def empty(self) -> RunSummary | None:
        """The newest run, if it is complete and nothing was measured in it, as where every rung was skipped."""
        return next((r for r in self.runs[:1] if r.state is RunState.COMPLETE and not r.trials), None)

    @property
    def resumable(self) -> RunSummary | None:
        """The newest run but those that ended with nothing measured, if it stopped early and was not cancelled."""
        newest = next((r for r in self.runs if r.trials or r.state is RunState.RUNNING), None)
        broke = newest and newest.state is RunState.INCOMPLETE and not newest.cancelled
        return newest if broke else None


class StoredRuns:
    """Every method opens the store and closes it again, so that each may run in a thread of its own."""

    folder: Path

    def overview(self) -> Overview:
        """What Home shows; reads no run as a whole, as one may be long."""
        trouble = None
        try:
            with open_store(self.folder) as store:
                try:
                    store.settle(lock.going(self.folder))
                except StoreFault as error:  # the stored runs can still be read
                    trouble = error
                return Overview(tuple(store.runs(limit=NEWEST)), store.hosts(), trouble)
        except StoreFault as error:
            return Overview(trouble=error, unreadable=True)

    def runs(self, words: str = "") -> list[RunSummary]:
        with open_store(self.folder) as store:
            return store.runs(words, limit=10000)

    def load(self, run_id: str) -> Document:
        """The run's document without the tools' output, which no screen shows."""
        with open_store(self.folder) as store:
            return store.load(run_id, output=False)

    def judge(self, document: Document) -> DocumentJudgement:
        from linkladder.judge import judge_document  # imported late, so that the first frame comes sooner

        return judge_document(document)

    def compare(self, run_a: str, run_b: str) -> Comparison:
        from linkladder.judge import compare  # imported late, for the same reason

        return compare(self.load(run_a), self.load(run_b))

    def delete(self, run_id: str) -> None:
        with open_store(self.folder) as store:
            lock.refuse_if_going(self.folder, run_id)
            store.delete(run_id)


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Open the store and close it again after the block."""
    try:
        store = Store(folder)
    except StoreFault:  # even reading needs some room on the disk
        if not _made_room(folder):
            raise
        store = Store(folder)
    try:
        yield store
    finally:
        store.close()


def _made_room(folder: Path) -> bool:
    """Delete the event logs of finished runs if the disk is full, as deleting a run needs some room; True if any was
    deleted.
    """
    if shutil.disk_usage(folder).free > ROOM:
        return False
    said = lock.announced(folder) if lock.measuring(folder) else None
    old = [path for path in (folder / "live").glob("*") if not said or path != Path(said.log)]
    for path in old:
        path.unlink(missing_ok=True)
    return bool(old)


def as_finding(error: StoreFault) -> Finding:
    """The error as one of the findings, since Home must come up whatever the state of the disk."""
    return Finding(error.title, Health.BAD, error.cause, error.hint)
