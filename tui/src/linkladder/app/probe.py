"""Whether a peer is there: it answers a ping, and linkladder's own port greets."""

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
    """One address after the other until linkladder answers at one: its sshd counts callers that do not log in."""
    pinged = None
    for address in peer.addresses:
        rtt, greeted = await asyncio.gather(ping(address), greets(address, peer.port))
        if greeted:
            return replace(peer, reachable=True, rtt_ms=rtt, reason="")
        pinged = rtt if pinged is None else pinged
    why = "no answer" if pinged is None else "answers ping, but linkladder does not answer"
    return replace(peer, reachable=False, rtt_ms=pinged, reason=why)


async def greets(address: str, port: int) -> bool:
    """Whether an sshd greets there; a port that is only open may belong to a machine that hangs."""
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
    """Milliseconds of one ping, which any user may send; None without an answer."""
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
    finally:  # a probe that is called off leaves no process behind
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return tools.pinged(out.decode("utf-8", "replace")).min_ms if process.returncode == 0 else None
