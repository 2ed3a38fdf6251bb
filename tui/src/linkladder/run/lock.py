"""One run at a time on one appliance: who measures holds run.lock, and says in it how to watch and steer.

Whether a run goes on is asked of the lock alone: the number of a process may be another's after a power cut.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from linkladder import locks
from linkladder.errors import EnvironmentFault


@dataclass(frozen=True)
class Announcement:
    """What the process that measures, or the last that did, says of itself."""

    pid: int = 0
    log: str = ""  # the path of its event log
    socket: str = ""  # where it takes orders
    began: float = 0.0  # on the monotonic clock, which is one for all processes of a boot
    run: str = ""
    ended: str = ""  # why it ended, where the log had no room for that


class RunLock:
    """Held while a run is measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = locks.HeldFile(_path(folder))
        self._said = Announcement()

    def take(self) -> None:
        if not self._file.take():
            raise EnvironmentFault(
                "a run is going on already",
                hint="linkladder watch follows it, and so does the console; or cancel it first",
            )
        self._file.write("{}")

    def announce(self, **what: int | float | str) -> None:
        """Add to what was said before, or change it."""
        self._said = replace(self._said, **what)  # type: ignore[arg-type]
        self._file.write(json.dumps(asdict(self._said)))

    @property
    def announced(self) -> bool:
        return bool(self._said.log)

    def release(self) -> None:
        self._file.release()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[RunLock]:
    lock = RunLock(folder)
    lock.take()
    try:
        yield lock
    finally:
        lock.release()


def announced(folder: Path) -> Announcement | None:
    """The run that goes on or was the last, if any; what cannot be read is none."""
    try:
        said = Announcement(**json.loads(locks.written(_path(folder))))
        said = replace(said, pid=int(said.pid), log=str(said.log), began=float(said.began))
    except (TypeError, ValueError):
        return None
    return said if said.log else None


def measuring(folder: Path) -> bool:
    """Whether a run goes on."""
    return locks.held(_path(folder))


def going(folder: Path) -> Callable[[str], bool]:
    """Tells of a run whether it is the one that goes on; while that has not said which it is, any may be."""
    if not measuring(folder):
        return lambda run: False
    said = announced(folder)
    return lambda run: said is None or said.run in ("", run)


def _path(folder: Path) -> Path:
    return folder / "run.lock"
