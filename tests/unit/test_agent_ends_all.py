"""At the end of a run nothing of it is left at an end: no listener, no open port, no tool."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from linkladder import wire
from linkladder.agent import Service

KEY = "0123456789abcdef" * 2


async def test_listeners_that_are_asked_for_at_once_are_gone_after_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that stayed would let an address be known in the next run which has answered in this one alone."""
    service = Service(lambda event: None)
    monkeypatch.setattr(service.firewall, "open", lambda *_: asyncio.sleep(0))  # as the helper takes a moment
    await service.do(wire.Reserve("test"))
    await asyncio.gather(*(service.do(wire.Listen("127.0.0.1", port, "127.0.0.1", KEY)) for port in (5397, 5398, 5399)))
    await service.do(wire.Release())
    for port in (5397, 5398, 5399):
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
    await service.close()


async def test_a_port_that_cannot_be_listened_at_is_shut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(lambda event: None)
    seen: list[str] = []

    def note(what: str) -> Any:
        async def noted(own: str, peer: str) -> None:
            seen.append(f"{what} {peer}")

        return noted

    for what in ("open", "shut"):
        monkeypatch.setattr(service.firewall, what, note(what))
    await service.do(wire.Reserve("test"))
    with socket.create_server(("127.0.0.1", 5396)), pytest.raises(wire.Refused, match="cannot be opened"):
        await service.do(wire.Listen("127.0.0.1", 5396, "192.0.2.8", KEY))
    assert seen == ["open 192.0.2.8", "shut 192.0.2.8"]
    await service.close()


async def test_tools_end_even_if_the_firewall_cannot_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(lambda event: None)

    async def refuse(*_: str) -> None:
        raise wire.Refused("the firewall cannot be set for a trial")

    await service.do(wire.Reserve("test"))
    await service.do(wire.Listen("127.0.0.1", 5395, "192.0.2.8", KEY))
    monkeypatch.setattr(service.firewall, "shut", refuse)
    child = await service.children.start(["sleep", "60"])
    with pytest.raises(wire.Refused, match="firewall"):
        await service.do(wire.Cancel())
    assert child.done.done() and not service.children
    await service.close()
    assert not service.lock.held
