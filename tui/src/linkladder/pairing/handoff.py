"""How `pair --yes-code` reaches the window that another process of this appliance has open."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from linkladder import state
from linkladder.errors import LinkladderError
from linkladder.pairing.service import PairingService


@contextlib.asynccontextmanager
async def serve(service: PairingService) -> AsyncIterator[None]:
    """Accept codes from other programs of this appliance's user, until the context is left."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            typed = (await asyncio.wait_for(reader.readline(), 5)).decode("utf-8", "replace")
            writer.write((await _try(service, typed)).encode())
            await writer.drain()
        writer.close()

    path = await asyncio.to_thread(_free_path)  # in threads all that is a file: this loop draws a screen as well
    server = None
    with contextlib.suppress(OSError):  # a path too long for a socket: codes are typed at the window only
        server = await asyncio.start_unix_server(answer, path)
        await asyncio.to_thread(os.chmod, path, 0o600)
    try:
        yield
    finally:
        if server:
            server.close()
            await asyncio.to_thread(path.unlink, missing_ok=True)


async def ask(typed: str) -> str | None:
    """'ok' or a reason; None when no window is open here."""
    try:
        reader, writer = await asyncio.open_unix_connection(_path())
    except OSError:
        return None
    writer.write(typed.encode() + b"\n")
    reply = (await asyncio.wait_for(reader.read(200), 10)).decode("utf-8", "replace")
    writer.close()
    return reply or "the window closed"


async def _try(service: PairingService, typed: str) -> str:
    for _ in range(30):  # it may be on its way
        if service.ready:
            break
        await asyncio.sleep(0.1)
    if not service.ready:
        return "no code is waiting to be confirmed"
    try:
        if await service.answer(typed):
            return "ok"
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
