"""Sends orders to the measuring process, as JSON lines like {"do": "skip"} over a Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from linkladder.errors import EnvironmentFault

if TYPE_CHECKING:
    from linkladder.engine import Controls  # a program that only sends orders need not load the engine

VERBS = ("skip", "repeat", "pause", "resume", "cancel", "proceed")
PATIENCE = 5.0  # seconds to wait for an answer


@contextlib.asynccontextmanager
async def listening(folder: Path, controls: Controls) -> AsyncIterator[str]:
    """Open the socket that takes the orders and yield its path, which is kept short enough for the system."""
    path, short = folder / "run.sock", ""
    if len(os.fsencode(path)) > 90:
        short = tempfile.mkdtemp(prefix="linkladder-")
        path = Path(short) / "run.sock"
    path.unlink(missing_ok=True)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ValueError):
            while line := await reader.readline():
                writer.write(json.dumps({"ok": obey(controls, line)}).encode() + b"\n")
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_unix_server(serve, sock=_bound(path), start_serving=False)
        try:
            await server.start_serving()
            yield str(path)
        finally:
            server.close()
    finally:
        with contextlib.suppress(OSError):  # if the disk cannot be written, the next run removes it
            path.unlink(missing_ok=True)
            if short:
                os.rmdir(short)


def _bound(path: Path) -> socket.socket:
    """A socket at this path, for this user alone; nothing else runs in this thread while the mask of files is set."""
    made, mask = socket.socket(socket.AF_UNIX), os.umask(0o177)
    try:
        made.bind(os.fspath(path))
    except OSError:
        made.close()
        raise
    finally:
        os.umask(mask)
    return made


def obey(controls: Controls, line: bytes) -> bool:
    """Carry out one order; False if the line is no valid order."""
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


async def send(address: str, verb: str, text: str = "") -> None:
    """Send an order and wait until it is carried out; raises EnvironmentFault if it is not."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(address)
            writer.write(json.dumps({"do": verb, "text": text}).encode() + b"\n")
            answer = json.loads(await reader.readline())
            writer.close()
    except (OSError, TimeoutError, ValueError) as error:
        raise EnvironmentFault(
            "the measuring process does not answer", str(error), "what it measured is kept"
        ) from error
    if not answer.get("ok"):
        raise EnvironmentFault(f"the measuring process refused {verb}")
