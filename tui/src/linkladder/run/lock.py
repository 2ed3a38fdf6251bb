"""Allows one run at a time on an appliance: the process that measures holds run.lock.

It also writes into that file how to watch and steer the run. Whether a run is going on is read from the lock alone,
because after a power cut its process number may belong to another process.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from linkladder import locks
from linkladder.errors import EnvironmentFault

BUSY = 75  # exit status of a measuring process that found another one at work, from sysexits.h: try again later


class GoingOn(EnvironmentFault):
    """A run is going on already, and there is one at a time."""

    def __init__(self, cause: str, hint: str) -> None:
        super().__init__("a run is going on already", cause, hint)


@dataclass(frozen=True)
class Announcement:
    """What the measuring process writes about itself in run.lock; it stays there after the run."""

    pid: int = 0
    log: str = ""  # the path of its event log
    socket: str = ""  # the path of the socket that takes orders
    began: float = 0.0  # on the monotonic clock, which all processes share until the next boot
    run: str = ""
    ended: str = ""  # why it ended, if that could not be written to the log


class RunLock:
    """The lock that a process holds while it measures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = locks.HeldFile(_path(folder))
        self._said = Announcement()

    def take(self) -> None:
        if not self._file.take():
            raise GoingOn("", "linkladder watch follows it, and so does the console; or cancel it first")
        self._file.write("{}")

    def announce(self, **what: int | float | str) -> None:
        """Set these fields of the announcement and write it to the lock's file."""
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
    """What the current or else the last run announced; None if there is none or it cannot be read."""
    try:
        said = Announcement(**json.loads(locks.holder_text(_path(folder))))
        said = replace(said, pid=int(said.pid), log=str(said.log), began=float(said.began))
    except (TypeError, ValueError):
        return None
    return said if said.log else None


def measuring(folder: Path) -> bool:
    """Whether a run is going on."""
    return locks.held(_path(folder))


def going(folder: Path) -> Callable[[str], bool]:
    """A function that tells whether a given run is going on; True for any run while the current one has not said its
    name.
    """
    if not measuring(folder):
        return lambda run: False
    said = announced(folder)
    return lambda run: said is None or said.run in ("", run)


def refuse_if_going(folder: Path, run: str) -> None:
    """Raise an error if the run is going on, as it ends with a fault once its records are deleted."""
    if going(folder)(run):
        raise EnvironmentFault(f"run {run} is going on", hint="cancel it first, or wait until it has ended")


def _path(folder: Path) -> Path:
    return folder / "run.lock"
