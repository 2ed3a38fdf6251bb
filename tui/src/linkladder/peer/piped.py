"""A program at the other end of pipes, for asyncio; also one that was started before there was a loop."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import threading
from typing import IO


class Piped:
    """`stdout` and `stderr` are read, `stdin` is written, and `wait` waits for the program's end."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program = program
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._pipes: list[asyncio.BaseTransport] = []

    @classmethod
    async def over(cls, program: subprocess.Popen[bytes], limit: int) -> Piped:
        """Read and write the program's pipes; no line of it is longer than `limit`."""
        piped = cls(program)
        try:
            await piped._connect(limit)
        except BaseException:  # nobody else knows of the program yet
            program.kill()
            raise
        return piped

    async def _connect(self, limit: int) -> None:
        program = self._program
        assert program.stdin and program.stdout and program.stderr
        threading.Thread(target=self._await_end, daemon=True).start()
        self.stdout = await self._reader(program.stdout, limit)
        self.stderr = await self._reader(program.stderr, limit)
        unread = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(unread)  # of the loop's protocols, the one that lets a writer wait
        transport, _ = await self._loop.connect_write_pipe(lambda: protocol, program.stdin)
        self._pipes.append(transport)
        self.stdin = asyncio.StreamWriter(transport, protocol, unread, self._loop)

    async def _reader(self, pipe: IO[bytes], limit: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit)
        transport, _ = await self._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._pipes.append(transport)
        return reader

    def _await_end(self) -> None:
        code = self._program.wait()
        with contextlib.suppress(RuntimeError):  # the loop has ended before the program
            self._loop.call_soon_threadsafe(self._tell_end, code)

    def _tell_end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    @property
    def pid(self) -> int:
        return self._program.pid

    @property
    def returncode(self) -> int | None:
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        self._program.kill()

    def close(self) -> None:
        """Close what the program, or a child that it left, still holds open."""
        for pipe in self._pipes:
            pipe.close()
