"""Whether a peer is there: a machine that answers a ping is not yet one that can be measured with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from linkladder.app import probe as probing
from linkladder.app.backend import PeerView

pytestmark = pytest.mark.asyncio
HERE = "127.0.0.1"


@asynccontextmanager
async def listening(greeting: bytes | None) -> AsyncIterator[int]:
    """A port that says this to whoever comes, or nothing at all."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if greeting is None:
            await asyncio.sleep(30)
        writer.write(greeting or b"")
        writer.close()

    server = await asyncio.start_server(greet, HERE, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.fixture
def pings(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The round trip of each address that answers a ping."""
    known: dict[str, float] = {HERE: 0.25}

    async def ping(address: str) -> float | None:
        return known.get(address)

    monkeypatch.setattr(probing, "ping", ping)
    monkeypatch.setattr(probing, "WAIT", 0.3)
    return known


async def test_one_that_greets_is_reachable(pings: dict[str, float]) -> None:
    async with listening(b"SSH-2.0-OpenSSH_9.9\r\n") as port:
        found = await probing.probe(PeerView("beta", (HERE,), port=port))
    assert (found.reachable, found.rtt_ms, found.reason) == (True, 0.25, "")


async def test_the_greeting_is_enough_where_pings_are_filtered(pings: dict[str, float]) -> None:
    pings.clear()
    async with listening(b"SSH-2.0-x\r\n") as port:
        found = await probing.probe(PeerView("beta", (HERE,), port=port))
    assert (found.reachable, found.rtt_ms) == (True, None)


@pytest.mark.parametrize("greeting", [None, b"", b"HTTP/1.0 400"])
async def test_a_ping_alone_is_not_enough(pings: dict[str, float], greeting: bytes | None) -> None:
    async with listening(greeting) as port:
        found = await probing.probe(PeerView("beta", (HERE,), True, port=port))
    assert (found.reachable, found.reason) == (False, "answers ping, but linkladder does not answer")


async def test_a_closed_port_and_no_answer_at_all(pings: dict[str, float]) -> None:
    async with listening(b"") as port:
        pass
    beta = PeerView("beta", (HERE,), True, 0.2, port=port)
    assert (await probing.probe(beta)).reason == "answers ping, but linkladder does not answer"
    pings.clear()
    found = await probing.probe(beta)
    assert (found.reachable, found.rtt_ms, found.reason) == (False, None, "no answer")


async def test_its_other_addresses_are_tried(pings: dict[str, float]) -> None:
    async with listening(b"SSH-2.0-x\r\n") as port:
        found = await probing.probe(PeerView("beta", ("127.0.0.2", HERE), port=port))
    assert (found.reachable, found.rtt_ms) == (True, 0.25)


async def test_a_probe_that_is_called_off_leaves_no_ping_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who leaves Home does not leave a process there."""
    begun = []
    spawn = asyncio.create_subprocess_exec

    async def slow(*_: str, **how: Any) -> asyncio.subprocess.Process:
        begun.append(await spawn("sleep", "60", **how))
        return begun[0]

    monkeypatch.setattr(probing.asyncio, "create_subprocess_exec", slow)
    task = asyncio.create_task(probing.ping(HERE))
    while not begun:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun[0].returncode is not None
