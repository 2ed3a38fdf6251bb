"""The part of the real backend that is the stored runs: listed, opened, judged, compared, deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from linkladder import judge
from linkladder.app.backend import Finding, Health
from linkladder.model import Document, HostFacts, RunState
from linkladder.run import lock
from linkladder.store import RunSummary, Store, StoreFault
from linkladder.verdicts import Comparison, DocumentJudgement

ROOM = 512 * 1024  # bytes without which the store cannot even be opened
NEWEST = 20  # runs among which the last whole one is looked for


@dataclass(frozen=True)
class Overview:
    """What Home wants to know of the stored runs."""

    runs: tuple[RunSummary, ...] = ()  # the newest first
    hosts: dict[str, HostFacts] = field(default_factory=dict)  # as each last told of itself
    trouble: StoreFault | None = None
    unread: bool = False  # the trouble kept the runs from being read

    @property
    def last(self) -> RunSummary | None:
        """The last whole run."""
        return next((r for r in self.runs if r.state is RunState.COMPLETE), None)

    @property
    def resumable(self) -> RunSummary | None:
        """The newest run, where it broke after it had measured something."""
        broke = self.runs[:1] and self.runs[0].state is RunState.INCOMPLETE and not self.runs[0].cancelled
        return self.runs[0] if broke and self.runs[0].trials else None


class StoredRuns:
    """Every method opens the store and closes it again, so that each may run in a thread of its own."""

    folder: Path

    def overview(self) -> Overview:
        """No run is read whole for it, however long it was."""
        trouble = None
        try:
            with open_store(self.folder) as store:
                try:
                    store.settle(lock.going(self.folder))
                except StoreFault as error:  # what is stored can be read all the same
                    trouble = error
                return Overview(tuple(store.runs(limit=NEWEST)), store.hosts(), trouble)
        except StoreFault as error:
            return Overview(trouble=error, unread=True)

    def runs(self, words: str = "") -> list[RunSummary]:
        with open_store(self.folder) as store:
            return store.runs(words, limit=10000)

    def load(self, run_id: str) -> Document:
        """Without what the tools printed, which no screen shows."""
        with open_store(self.folder) as store:
            return store.load(run_id, output=False)

    def judge(self, document: Document) -> DocumentJudgement:
        return judge.judge_document(document)

    def compare(self, run_a: str, run_b: str) -> Comparison:
        return judge.compare(self.load(run_a), self.load(run_b))

    def delete(self, run_id: str) -> None:
        with open_store(self.folder) as store:
            store.delete(run_id)


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """The store for the length of one call."""
    try:
        store = Store(folder)
    except StoreFault:  # even reading takes some room beside the database
        if not _made_room(folder):
            raise
        store = Store(folder)
    try:
        yield store
    finally:
        store.close()


def _made_room(folder: Path) -> bool:
    """On a full disk give up the event logs of runs that are over: without room nobody could delete anything."""
    if shutil.disk_usage(folder).free > ROOM:
        return False
    said = lock.announced(folder) if lock.measuring(folder) else None
    old = [path for path in (folder / "live").glob("*") if not said or path != Path(said.log)]
    for path in old:
        path.unlink(missing_ok=True)
    return bool(old)


def as_finding(error: StoreFault) -> Finding:
    """Said among the doctor's findings, since Home must be there whatever the disk is like."""
    return Finding(error.title, Health.BAD, error.cause, error.hint)
