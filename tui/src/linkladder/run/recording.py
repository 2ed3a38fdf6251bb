"""What happens in a run, written where others on this appliance can follow and steer it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from linkladder import state
from linkladder.errors import reason_of
from linkladder.events import Event, RunFinished
from linkladder.model import RunState
from linkladder.run import eventlog, orders
from linkladder.run.lock import RunLock

if TYPE_CHECKING:
    from linkladder.engine import Controls, Engine

KEEP_LOGS = 5
SPARE = 128 * 1024  # bytes kept free for a run's last events if the disk gets full

Tell = Callable[[Event, float, "Controls"], None]  # takes an event, seconds since the run began, and the run's controls


class Recording:
    """Writes what happens in a run into the event log, and into the lock's file how to watch and steer it."""

    def __init__(self, lock: RunLock, tell: Tell) -> None:
        self._lock, self._tell = lock, tell
        self._path = _new_log(lock.folder)
        self._began = time.monotonic()
        self._recorder = eventlog.Recorder(self._path, spare=SPARE)
        self._run = ""
        self.last: RunFinished | None = None

    async def follow(self, engine: Engine) -> None:
        """Run the engine to its end; a log that cannot be written cancels it."""
        controls = engine.controls
        happening = contextlib.aclosing(engine.run())  # or it would go on while its ends and its store are closed
        async with orders.listening(self._lock.folder, controls) as address, happening as happens:
            self._lock.announce(pid=os.getpid(), log=str(self._path), socket=address, began=self._began)
            async for event in happens:
                if engine.run_id != self._run:
                    self._run = engine.run_id
                    self._lock.announce(run=self._run)
                self._recorder.write(event)
                if self._recorder.fault and not controls.cancelled:
                    controls.cancel(reason_of(self._recorder.fault))
                self.last = event if isinstance(event, RunFinished) else self.last
                self._tell(event, time.monotonic() - self._began, controls)

    def ended_by(self, error: Exception) -> None:
        """Say in both files why the run ended; the log already has it if the engine came to its end."""
        with contextlib.suppress(OSError):
            if self.last is None:
                self._recorder.write(RunFinished(self._run, RunState.INCOMPLETE, 0, reason_of(error)))
            if self._lock.announced:
                self._lock.announce(socket="", ended=reason_of(error))

    def close(self) -> None:
        self._recorder.close()


def _new_log(folder: Path) -> Path:
    """The path of a new log; all but the last few older logs are deleted."""
    logs = state.ensure(folder / "live")
    for old in (*sorted(logs.glob("*.jsonl"))[:-KEEP_LOGS], *logs.glob("*.spare"), *logs.glob("*.new")):
        old.unlink(missing_ok=True)
    return logs / f"{int(time.time())}-{os.getpid()}.jsonl"
