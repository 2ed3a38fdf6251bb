"""The process that measures: it outlives the screen that began it, and anybody here may watch it.

`python -m linkladder.app.runner PLAN.json [--resume RUN]` holds run.lock, says in run.json where its
event log and its control socket are, and ends with the run.  Controls are JSON lines: {"do": "skip"}.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import fcntl
import json
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from linkladder import codec, eventlog, state
from linkladder.engine import Controls, Engine
from linkladder.errors import EnvironmentFault, LinkladderError, in_a_line
from linkladder.events import RunFinished
from linkladder.model import Plan, RunState
from linkladder.peer import NearEnd, connect
from linkladder.store import Store

VERBS = ("skip", "repeat", "pause", "resume", "cancel", "proceed")
KEEP_LOGS = 5
FULL = "the disk is full; delete old runs, or make room, and take the run up again"
SPARE = 128 * 1024  # bytes kept back, for the last words of a run that a full disk ends
log = logging.getLogger("linkladder.runner")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="linkladder-runner")
    parser.add_argument("plan", type=Path)
    parser.add_argument("--resume", default="")
    args = parser.parse_args(argv)
    folder = state.ensure(state.folder())
    logging.basicConfig(
        filename=folder / "linkladder.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    plan = codec.from_json(Plan, json.loads(args.plan.read_text(encoding="utf-8")))
    try:
        with locked(folder):
            asyncio.run(measure(folder, plan, args.resume or None))
    except LinkladderError as error:
        log.error("the run could not begin: %s", error)
        return error.exit_code
    return 0


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[IO[str]]:
    """One run at a time on one appliance."""
    with (folder / "run.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise EnvironmentFault("a run is going on already", hint="watch it, or cancel it first") from None
        yield lock


async def measure(folder: Path, plan: Plan, resume: str | None) -> None:
    """Run the plan, writing every event; the log ends with RunFinished whatever happens."""
    logs = state.ensure(folder / "live")
    for old in (*sorted(logs.glob("*.jsonl"))[:-KEEP_LOGS], *logs.glob("*.spare")):
        old.unlink(missing_ok=True)
    path = logs / f"{int(time.time())}-{os.getpid()}.jsonl"
    began = time.monotonic()
    recorder = eventlog.Recorder(path, spare=SPARE)
    run_id = ""
    finished = False
    store = Store(folder)
    try:
        near = await NearEnd.open()
        try:
            engine = Engine(plan, store, near, connect, operator=True, resume=resume)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):  # a shutdown, as a rule: no person cancelled it
                loop.add_signal_handler(number, engine.controls.cancel, "the system ended it")
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            async with listening(folder, engine.controls) as address:
                announce(folder, {"pid": os.getpid(), "log": str(path), "socket": address, "began": began})
                async for event in engine.run():
                    run_id = getattr(event, "run_id", run_id)
                    recorder.write(event)
                    if recorder.full and not engine.controls.cancelled:
                        engine.controls.cancel(FULL)
                    finished = finished or isinstance(event, RunFinished)
        finally:
            await near.close()
    except Exception as error:
        reason = why(error)
        if isinstance(error, LinkladderError):
            log.error("the run ended: %s", error)
        else:
            log.exception("the run ended")
        with contextlib.suppress(OSError):
            if not finished:
                recorder.write(RunFinished(run_id, RunState.INCOMPLETE, 0, reason))
        last_words(folder, {"pid": os.getpid(), "log": str(path), "socket": "", "began": began, "ended": reason})
    finally:
        with contextlib.suppress(OSError):
            recorder.close()
        store.close()


def why(error: Exception) -> str:
    """What ended the run, in a line for people."""
    if isinstance(error, LinkladderError):
        return in_a_line(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FULL
    return f"{type(error).__name__}: {error}"


def announce(folder: Path, record: dict[str, Any]) -> None:
    draft = folder / f"run.json.{os.getpid()}"
    draft.write_text(json.dumps(record), encoding="utf-8")
    draft.replace(folder / "run.json")


def last_words(folder: Path, record: dict[str, Any]) -> None:
    """The announcement overwritten where it lies, which needs no room on a full disk."""
    with contextlib.suppress(OSError), (folder / "run.json").open("r+", encoding="utf-8") as file:
        file.write(json.dumps(record))
        file.truncate()


@contextlib.asynccontextmanager
async def listening(folder: Path, controls: Controls) -> Any:
    """A socket that takes the controls; its path, kept short enough for the system."""
    path = folder / "run.sock"
    if len(os.fsencode(path)) > 90:
        path = Path(tempfile.mkdtemp(prefix="linkladder-")) / "run.sock"
    path.unlink(missing_ok=True)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ValueError):
            while line := await reader.readline():
                writer.write(json.dumps({"ok": obey(controls, line)}).encode() + b"\n")
                await writer.drain()
        writer.close()

    mask = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(serve, path)
    finally:
        os.umask(mask)
    try:
        yield str(path)
    finally:
        server.close()
        path.unlink(missing_ok=True)


def obey(controls: Controls, line: bytes) -> bool:
    """One order; False where it is none."""
    try:
        order = json.loads(line)
        verb, text = order["do"], str(order.get("text", ""))
    except (ValueError, TypeError, KeyError):
        return False
    if verb == "note":
        controls.note(text)
    elif verb in VERBS:
        getattr(controls, verb)()
    else:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
