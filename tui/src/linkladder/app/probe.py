"""Checks whether a peer can be reached: by a ping, and by the greeting on its control port."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from dataclasses import replace

from linkladder import host, tools
from linkladder.app.backend import PeerView

WAIT = 2.0  # seconds for an answer
GREETING = b"SSH-"


async def probe(peer: PeerView) -> PeerView:
    """Try one address after the other until linkladder answers; not all at once, as sshd limits callers who do not log
    in.
    """
    pinged = None
    for address in peer.addresses:
        rtt, greeted = await asyncio.gather(ping(address), greets(address, peer.port))
        if greeted:
            return replace(peer, reachable=True, rtt_ms=rtt, reason="")
        pinged = rtt if pinged is None else pinged
    why = "no answer" if pinged is None else "answers ping, but linkladder does not answer"
    return replace(peer, reachable=False, rtt_ms=pinged, reason=why)


async def greets(address: str, port: int) -> bool:
    """Whether an sshd sends its greeting; an open port alone may belong to a machine that hangs."""
    try:
        async with asyncio.timeout(WAIT):
            reader, writer = await asyncio.open_connection(address, port)
            try:
                return await reader.readexactly(len(GREETING)) == GREETING
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False


async def ping(address: str) -> float | None:
    """The round trip of one ping in ms; None without an answer."""
    try:
        process = await asyncio.create_subprocess_exec(
            *tools.ping_argv(host.system(), "", address, 1, 1.0), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(WAIT):
            out, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:  # so that a cancelled probe leaves no process behind
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return tools.pinged(out.decode("utf-8", "replace")).min_ms if process.returncode == 0 else None
