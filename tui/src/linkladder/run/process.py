"""The process that measures: it outlives the screen that started it, and others on this appliance may watch it.

`python -m linkladder.run.process PLAN.json [--resume RUN]` measures apart from any terminal; `linkladder run` calls
`measure` in its own process. Both hold run.lock, write in it where the event log and the socket are, and end with the
run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from linkladder import codec, log_file, state
from linkladder.errors import LinkladderError, disk_fault, in_a_line
from linkladder.events import Event, RunFinished
from linkladder.model import Plan, RunState
from linkladder.peer import Connector, near_end
from linkladder.run import eventlog, orders
from linkladder.run.lock import RunLock, locked
from linkladder.store import Store

KEEP_LOGS = 5
SPARE = 128 * 1024  # bytes kept free for a run's last events if the disk gets full
SHUTDOWN = {signal.SIGINT: "the system ended it", signal.SIGTERM: "the system ended it"}  # not by a person
BY_PERSON = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), "")  # no reason is kept
if TYPE_CHECKING:
    from linkladder.engine import Controls, Engine
    from linkladder.engine.kernels import Boots
    from linkladder.peer import EndPoint

log = logging.getLogger("linkladder.run")

Tell = Callable[[Event, float, "Controls"], None]  # takes an event, seconds since the run began, and the run's controls


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="linkladder-measure-run")
    parser.add_argument("plan", type=Path, nargs="?")
    parser.add_argument("--resume", default="")
    parser.add_argument("--restarts", type=int, default=0, metavar="N", help="so many were agreed to")
    parser.add_argument("--after-restart", action="store_true", help="go on with the run that waits for this boot")
    args = parser.parse_args(argv)
    folder = state.ensure(state.folder())
    log_file.start(folder, logging.INFO)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with locked(folder) as lock:
            if args.after_restart:
                _go_on(lock)
            elif args.plan:
                plan = codec.from_json(Plan, json.loads(args.plan.read_text(encoding="utf-8")))
                asyncio.run(measure(lock, plan, args.resume or None, boots=_agreed(args.restarts)))
    except LinkladderError as error:
        log.error("the run ended: %s", in_a_line(error))
        return error.exit_code
    except Exception:
        log.exception("the run ended")
        return 1
    return 0


def _agreed(count: int) -> Boots | None:
    """So many restarts, to which a person has agreed."""
    if not count:
        return None
    from linkladder.engine.kernels import Boots  # imported late, as hardly any run restarts the machine
    from linkladder.run import restarting

    return Boots(restarting.kernels(), count)


def _go_on(lock: RunLock) -> None:
    """Go on with the run that waits for this boot, if it is the one that was asked for."""
    from linkladder.engine.kernels import Boots  # imported late, for the same reason
    from linkladder.run import restarting

    folder = lock.folder
    taken = restarting.take(folder)
    if taken is None:
        return
    why = taken.ended
    try:
        if not why:
            store = Store(folder)
            store.settle(lambda run: False)  # this process holds the lock: nobody else measures
            plan = store.load(taken.run, output=False).run.plan
            store.close()
            boots = Boots(restarting.kernels(), taken.left, taken.boot)
            asyncio.run(measure(lock, plan, taken.run, operator=False, boots=boots))
    except Exception as error:
        why = reason_of(error)
        raise
    finally:
        if why:
            restarting.end(folder, why)


async def measure(
    lock: RunLock,
    plan: Plan,
    resume: str | None = None,
    *,
    note: str = "",
    operator: bool = True,  # whether somebody is there to move machines
    ends: Mapping[signal.Signals, str] = SHUTDOWN,  # signals that end the run, each with the reason to record
    tell: Tell = lambda event, at, controls: None,
    boots: Boots | None = None,  # which this one is, and how often the machine may restart for others
) -> RunFinished | None:
    """Run the plan and write every event to the log; the log ends with RunFinished even after an error.

    If the plan needs another kernel, the machine restarts once the run has ended, and the run then goes on.
    """
    from linkladder.run import awaited  # imported late, so that a run starts faster

    folder = lock.folder
    if boots is None or boots.here is None:  # what an earlier run waited for is over with this one
        awaited.clear(folder)
    recording = _Recording(lock, tell)
    store = Store(folder)
    try:
        async with _ends(plan, call_peers=not resume) as (near, to_peers):  # a resumed run may need no peer any more
            await asyncio.to_thread(import_module, "linkladder.engine")  # takes as long as it takes peers to answer
            from linkladder.engine import Engine

            engine = Engine(plan, store, near, to_peers, operator=operator, resume=resume, boots=boots)
            if boots:
                boots.keep = lambda boot: awaited.keep(folder, engine.run_id, boot, boots.agreed - 1)
            if note:
                engine.controls.note(note)
            loop = asyncio.get_running_loop()
            for number, reason in ends.items():
                loop.add_signal_handler(number, engine.controls.cancel, reason)
            await recording.follow(engine)
    except Exception as error:
        recording.ended_by(error)
        raise
    finally:
        recording.close()
        store.close()
    if boots and recording.last:
        from linkladder.run import restarting  # imported late, as hardly any run restarts the machine

        await restarting.after(folder, boots, recording.last)
    return recording.last


@contextlib.asynccontextmanager
async def _ends(plan: Plan, *, call_peers: bool) -> AsyncIterator[tuple[EndPoint, Connector]]:
    """This machine's end and the connections to its peers, which are called at once or when they are needed."""
    async with contextlib.AsyncExitStack() as opened:
        to_peers = Connector([path for rung in plan.rungs for path in rung.paths])
        opened.push_async_callback(to_peers.close)
        near = await near_end()
        opened.push_async_callback(near.close)
        if call_peers:  # not sooner: on a single core the two starts get into each other's way
            to_peers.begin(set(plan.peers))
        yield near, to_peers


class _Recording:
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


def reason_of(error: Exception) -> str:
    """Why the run ended, in one line for people."""
    if isinstance(error, LinkladderError):
        return in_a_line(error)
    fault = disk_fault(error)
    return in_a_line(fault) if fault else f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
