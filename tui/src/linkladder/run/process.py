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
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from linkladder import codec, log_file, state
from linkladder.errors import LinkladderError, in_a_line, reason_of
from linkladder.model import Plan
from linkladder.peer import Connector, near_end
from linkladder.run.lock import BUSY, GoingOn, RunLock, locked
from linkladder.store import Store

SHUTDOWN = {signal.SIGINT: "the system ended it", signal.SIGTERM: "the system ended it"}  # not by a person
BY_PERSON = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), "")  # no reason is kept
if TYPE_CHECKING:
    from linkladder.engine.kernels import Boots
    from linkladder.events import RunFinished
    from linkladder.peer import EndPoint
    from linkladder.run.recording import Tell
    from linkladder.trust.calling import Call

log = logging.getLogger("linkladder.run")


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
        return BUSY if isinstance(error, GoingOn) else error.exit_code
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
    called: Call | None = None,  # a peer that was called before the plan was read
) -> RunFinished | None:
    """Run the plan and write every event to the log; the log ends with RunFinished even after an error.

    If the plan needs another kernel, the machine restarts once the run has ended, and the run then goes on.
    """
    folder = lock.folder
    async with _peers(plan, called, call=not resume) as to_peers:  # a resumed run may need no peer any more
        for late in ("linkladder.run.awaited", "linkladder.run.recording"):  # takes as long as it takes peers to answer
            await asyncio.to_thread(import_module, late)
        from linkladder.run import awaited
        from linkladder.run.recording import Recording

        if boots is None or boots.here is None:  # what an earlier run waited for is over with this one
            awaited.clear(folder)
        recording = Recording(lock, tell)
        store = Store(folder)
        try:
            async with _own_end() as near:
                await asyncio.to_thread(import_module, "linkladder.engine")  # late for the same reason
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
async def _peers(plan: Plan, called: Call | None, *, call: bool) -> AsyncIterator[Connector]:
    """The connections to the plan's peers, which are called at once or when they are needed."""
    if called and called.name not in plan.peers:  # nobody will take the call
        await asyncio.to_thread(called.end)
    to_peers = Connector([path for rung in plan.rungs for path in rung.paths], called)
    try:
        if call:
            to_peers.begin(set(plan.peers))
        yield to_peers
    finally:
        await to_peers.close()


@contextlib.asynccontextmanager
async def _own_end() -> AsyncIterator[EndPoint]:
    near = await near_end()
    try:
        yield near
    finally:
        await near.close()


if __name__ == "__main__":
    sys.exit(main())
