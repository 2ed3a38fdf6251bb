"""The holder's side of the undo process, which restores a lease's settings if the lease is not renewed any more.

The process is root's (`priv/undo.py`), started before the first change. It gets the old values and the journal's lock,
so no other lease starts before the holder and the undo process are both gone. Once it has acted, `read_back` of this
package's `__main__` sees to the journal, as the holder's user.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Sequence

from linkladder import privilege
from linkladder.settings.journal import Entry, Journal
from linkladder.settings.reversible import SettingsError, request

ARMED, ACTED = b"armed\n", b"acted\n"
ROOM = 1 << 16  # bytes that a request may have; some systems give a socket less
START_LIMIT = 40.0  # seconds that it may take to start on a small, busy machine; if it dies, that is noticed at once
LEAVING = 10.0  # seconds to wait for it to end


class Unguarded(SettingsError):
    """The undo process was killed, and no other started: the settings are still changed, and are to be put back now."""

    def __init__(self, why: str) -> None:
        super().__init__("the process that would put the settings back was killed", why)


class Undo:
    """Arms the process, and tells it by a socket what to do."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._acted = False
        self._unarmed = ""  # why no process could replace one that was killed
        self._watching: asyncio.Task[None] | None = None

    async def arm(self, journal: Journal, entries: Sequence[Entry]) -> None:
        """Start the process; raises SettingsError if it does not start, and then nothing may be changed."""
        steps = [request(entry.kind, entry.target, entry.old) for entry in reversed(entries)]
        asked = {"folder": str(journal.folder), "seconds": self.seconds, "steps": list(dict.fromkeys(steps))}
        line = json.dumps(asked).encode() + b"\n"
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise _not_armed(str(error)) from error
        with contextlib.ExitStack() as unless_armed:  # also where it is cancelled, or it holds the lock all its seconds
            unless_armed.callback(ours.close)
            try:
                with theirs:
                    ours.setblocking(False)
                    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
                    whole = socket.send_fds(ours, [line], [journal.descriptor]) == len(line)
                    process = await asyncio.create_subprocess_exec(
                        *privilege.command("undo"), stdin=theirs.fileno(), stdout=asyncio.subprocess.DEVNULL,
                        stderr=asyncio.subprocess.PIPE, start_new_session=True, cwd="/", env=privilege.ENVIRONMENT,
                    )  # fmt: skip
                reader, writer = await asyncio.open_connection(sock=ours)
            except OSError as error:
                raise _not_armed(str(error)) from error
            unless_armed.pop_all()
            unless_armed.callback(writer.close)  # so that it ends, or brings back what was never changed
            said = b""
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(START_LIMIT if whole else 0):
                    said = await reader.readline()
            if said != ARMED:
                writer.close()
                assert process.stderr
                why = b""
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LEAVING):
                        why = await process.stderr.read()
                raise _not_armed(why.decode("utf-8", "replace").strip().removeprefix(privilege.PREFIX))
            unless_armed.pop_all()
        self._reader, self._writer = reader, writer
        self._watching = asyncio.create_task(self._replace_when_killed(reader, journal, entries))

    async def renew(self) -> None:
        """Renew the lease; raises SettingsError if the undo process has acted already, and Unguarded if it was killed
        and none could be started again.
        """
        if self._unarmed:
            raise Unguarded(self._unarmed)
        if self._writer is None or self._acted:
            raise SettingsError("the lease had run out, and its settings were put back")
        self._say(b"renew\n")

    async def stand_down(self) -> None:
        """End the process, as everything is restored already or is left to recover()."""
        try:
            if self._watching:
                self._watching.cancel()
                await asyncio.wait([self._watching])
            if self._reader:
                self._say(b"done\n")
                with contextlib.suppress(TimeoutError, OSError):
                    async with asyncio.timeout(LEAVING):
                        await self._reader.read()
        finally:
            if self._writer:
                self._writer.close()
            self._reader = self._writer = self._watching = None

    def leave(self) -> None:
        """Let the process act at once, as its holder was interrupted while it restored the settings itself."""
        if self._watching:
            self._watching.cancel()
        if self._writer:
            self._writer.transport.abort()
        self._reader = self._writer = self._watching = None

    async def _replace_when_killed(
        self, reader: asyncio.StreamReader, journal: Journal, entries: Sequence[Entry]
    ) -> None:
        """Start another process if this one was killed, as it has restored nothing.

        It is gone when its end of the socket is closed; the doas or sudo that started it may be killed before.
        """
        said = b""
        with contextlib.suppress(OSError):
            said = await reader.readline()
        if said == ACTED:
            self._acted = True
            return
        if self._writer:
            self._writer.close()
        try:
            await self.arm(journal, entries)
        except SettingsError as error:
            self._unarmed = error.cause  # the next renewal ends the loan

    def _say(self, word: bytes) -> None:
        if self._writer:
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.write(word)


def _not_armed(why: str) -> SettingsError:
    why = f"the undo process did not start{why and ': '}{why}"
    return SettingsError("nothing was changed, as nothing would put it back", why)
