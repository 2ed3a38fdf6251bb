"""The undo process: a separate process that restores a lease's settings if the lease is not renewed any more.

`python -m linkladder.settings FOLDER SECONDS` is started before the first change. Its standard input gets the lines
`renew` and `done`; if it closes, or brings nothing for SECONDS, the process restores what the journal in FOLDER says.
It inherits the journal's lock, so no other lease starts before the holder and the undo process are both gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path

from linkladder import privilege
from linkladder.errors import LinkladderError
from linkladder.settings.journal import Journal
from linkladder.settings.reversible import NotPutBack, SettingsError, put_back

ARMED = b"armed\n"
START_LIMIT = 40.0  # seconds that it may take to start on a small, busy machine; if it dies, that is noticed at once
LEAVING = 10.0  # seconds to wait for it to end
TRIES, PAUSE = 5, 1.0  # how often restoring is tried, and the seconds in between


class Undo:
    """The holder's side of the undo process, which it tells by a pipe what to do."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._watching: asyncio.Task[None] | None = None

    async def arm(self, journal: Journal) -> None:
        """Start the process; raises SettingsError if it does not start, and then nothing may be changed."""
        argv = [sys.executable, "-I", "-m", "linkladder.settings", str(journal.folder), str(self.seconds)]
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True, cwd="/", pass_fds=(journal.descriptor,),
        )  # fmt: skip
        assert process.stdout
        said = b""
        with contextlib.suppress(TimeoutError):
            said = await asyncio.wait_for(process.stdout.readline(), START_LIMIT)
        if said != ARMED:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise SettingsError("nothing was changed, as nothing would put it back", "the undo process did not start")
        self._process = process
        self._watching = asyncio.create_task(self._replace_when_killed(process, journal))

    async def renew(self) -> None:
        """Renew the lease; raises SettingsError if the undo process has acted already."""
        if self._process is None or self._process.returncode is not None:
            raise SettingsError("the lease had run out, and its settings were put back")
        self._say(b"renew\n")

    async def stand_down(self) -> None:
        """End the process, as everything is restored already or is left to recover()."""
        if self._watching:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        if self._process and self._process.stdin:
            self._say(b"done\n")
            self._process.stdin.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), LEAVING)
        self._process = self._watching = None

    async def _replace_when_killed(self, process: asyncio.subprocess.Process, journal: Journal) -> None:
        """Start another process if this one was killed, as it has restored nothing."""
        if await process.wait() < 0:
            with contextlib.suppress(SettingsError):  # the next renewal reports it
                await self.arm(journal)

    def _say(self, word: bytes) -> None:
        if self._process and self._process.stdin:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(word)


def main(folder: Path, seconds: float) -> int:
    """Wait until the holder is done, silent or gone; unless it is done, restore everything. 0 if that worked."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    privilege.restrict()
    with contextlib.suppress(OSError):  # if the holder is gone already, go on and restore
        os.write(1, ARMED)
    if _wait(0, seconds) == "done":
        return 0
    return asyncio.run(_put_back(Journal(folder)))


def _wait(source: int, seconds: float) -> str:
    """Read lines until the end: 'done' was read, the input 'closed', or it was 'silent' for so many seconds."""
    deadline, rest = time.monotonic() + seconds, b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([source], [], [], left)[0]:
            continue
        data = os.read(source, 4096)
        if not data:
            return "closed"
        *words, rest = (rest + data).split(b"\n")
        if b"done" in words:
            return "done"
        deadline = time.monotonic() + seconds
    return "silent"


async def _put_back(journal: Journal) -> int:
    for _ in range(TRIES):
        try:
            if record := journal.read():
                try:
                    await put_back(record.entries)
                except NotPutBack as error:
                    journal.mark(record, error.cause)
                    raise
                journal.clear()
            return 0
        except (LinkladderError, OSError):
            await asyncio.sleep(PAUSE)
    return 1
