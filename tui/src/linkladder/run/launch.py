"""Starts a run in a process of its own, apart from this terminal, so that the run outlives the screen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

from linkladder import atomic_files, codec, log_file
from linkladder import plan as plans
from linkladder.errors import EnvironmentFault
from linkladder.model import Plan
from linkladder.run import lock
from linkladder.run.lock import Announcement
from linkladder.run.session import LiveSession, current
from linkladder.run.steering import Seat

START_WAIT = 180.0  # seconds; a failed start is noticed at once, and a busy emulated machine needed 57
CLEAR_WAIT = 8.0  # seconds to wait until a finished run's process is gone


async def launch(folder: Path, plan: Plan, resume: str, seat: Seat) -> LiveSession:
    """Start the run, wait until it has announced itself, and take the controls."""
    await last_run_gone(folder, seat)
    draft = await asyncio.to_thread(_drafted, folder, plan)
    argv = [sys.executable, "-m", "linkladder.run.process", str(draft), *(["--resume", resume] if resume else [])]
    if count := plans.restarts(plan):  # whoever starts such a plan has asked a person first
        argv += ["--restarts", str(count)]
    process = await asyncio.to_thread(spawn, folder, argv)
    said = await _announced(folder, process)
    if said is None and process.poll() is None:  # or it would measure after all, when nobody expects it
        process.terminate()
    with contextlib.suppress(OSError):  # what is left is removed by a later start
        await asyncio.to_thread(draft.unlink)
    if said:
        session = await asyncio.to_thread(LiveSession, folder, said, seat)
        await session.take_over()
        return session
    if process.returncode == lock.BUSY:  # another console was the faster one
        raise _going_on()
    lines = await asyncio.to_thread(log_lines, folder, 1)
    raise EnvironmentFault("the measuring process did not start", lines[0] if lines else "", "the log screen has more")


def _drafted(folder: Path, plan: Plan) -> Path:
    """The plan in a file of this start's own, as another screen may start a run at the same time."""
    for left in folder.glob("*next-plan*"):  # by a start that broke off
        with contextlib.suppress(OSError):
            if abs(time.time() - left.stat().st_mtime) > START_WAIT:
                left.unlink()
    draft = folder / f"next-plan-{os.getpid()}-{os.urandom(4).hex()}.json"
    atomic_files.replace(draft, json.dumps(codec.to_json(plan)))
    return draft


async def _announced(folder: Path, process: subprocess.Popen[bytes]) -> Announcement | None:
    """What the process says of itself once it measures; None where it ended or takes too long."""
    until = time.monotonic() + START_WAIT
    while time.monotonic() < until:
        said = await asyncio.to_thread(lock.announced, folder)
        if said and said.pid == process.pid and await asyncio.to_thread(lock.measuring, folder):
            return said
        if process.poll() is not None:
            break
        await asyncio.sleep(0.05)
    return None


def after_restart(folder: Path) -> None:
    """Take up the run for which this machine has restarted, if there is one, in a process of its own."""
    from linkladder.run import awaited  # imported late, so that the first frame comes sooner

    if awaited.came_up(folder):
        spawn(folder, [sys.executable, "-m", "linkladder.run.process", "--after-restart"])


async def last_run_gone(folder: Path, seat: Seat) -> None:
    """Wait for a finished run to clean up; raises EnvironmentFault if the run is still going on."""
    until = time.monotonic() + CLEAR_WAIT
    while running := await asyncio.to_thread(current, folder, seat):
        if time.monotonic() > until or not await running.ended():
            raise _going_on()
        await asyncio.sleep(0.1)


def _going_on() -> lock.GoingOn:
    hint = "watch it from Home, or cancel it first; nothing was started here"
    return lock.GoingOn("another screen or a command began it", hint)


def spawn(folder: Path, argv: list[str]) -> subprocess.Popen[bytes]:
    with (folder / log_file.NAME).open("ab") as errors:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )


def log_lines(folder: Path, count: int) -> list[str]:
    """The last `count` lines of the log."""
    try:
        with (folder / log_file.NAME).open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, count)]
    except FileNotFoundError:
        return []
