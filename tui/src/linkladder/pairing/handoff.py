"""Lets `pair --yes-code` reach the pairing window that another process of this appliance has open."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from linkladder import state
from linkladder.errors import LinkladderError
from linkladder.pairing.service import PairingService

RIGHT = "ok"  # the answer to the right code


@contextlib.asynccontextmanager
async def serve(service: PairingService) -> AsyncIterator[None]:
    """Accept codes from other processes of this user until the context is left."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(5):
                typed = (await reader.readline()).decode("utf-8", "replace")
            writer.write((await _try(service, typed)).encode())
            await writer.drain()
        writer.close()

    path = await asyncio.to_thread(_free_path)  # file operations are done in threads, as this loop also draws a screen
    server = None
    with contextlib.suppress(OSError):  # if the path is too long for a socket, codes can only be typed at the window
        server = await asyncio.start_unix_server(answer, path, start_serving=False)
    try:
        if server:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(os.chmod, path, 0o600)
            await server.start_serving()
        yield
    finally:
        if server:
            server.close()
            await asyncio.to_thread(path.unlink, missing_ok=True)


async def ask(typed: str) -> str | None:
    """Send a code to the open window; returns RIGHT or a reason, and None if no window is open here."""
    try:
        reader, writer = await asyncio.open_unix_connection(_path())
    except OSError:
        return None
    writer.write(typed.encode() + b"\n")
    with contextlib.closing(writer), contextlib.suppress(TimeoutError):
        async with asyncio.timeout(10):
            reply = (await reader.read(200)).decode("utf-8", "replace")
            return reply or "the window closed"
    return "the window does not answer"


async def _try(service: PairingService, typed: str) -> str:
    for _ in range(30):  # the code may be ready in a moment
        if service.ready:
            break
        await asyncio.sleep(0.1)
    if not service.ready:
        return "no code is waiting to be confirmed"
    try:
        if await service.answer(typed):
            return RIGHT
    except LinkladderError as error:
        return error.title
    return "the other end must show another one; it was refused"


def _free_path() -> Path:
    path = _path()
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
    return path


def _path() -> Path:
    return state.ensure(state.folder() / "run") / "pair.sock"
