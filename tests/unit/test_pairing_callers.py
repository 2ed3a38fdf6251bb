"""Who has to leave a pairing window that is full, and who may come in."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from linkladder.pairing import callers
from linkladder.pairing.callers import Callers, Failing
from linkladder.pairing.connection import Connection
from linkladder.pairing.messages import Confirm, Role
from pairing_ends import end

FULL = 8


class Window:
    """Callers with room for FULL, over real sockets, each by the name of its source."""

    def __init__(self, by_secret: bool) -> None:
        self.failing = Failing(3)
        self.callers = Callers(self.failing, by_secret)
        self._open: list[tuple[asyncio.StreamWriter, socket.socket]] = []
        self._listening = socket.create_server(("127.0.0.1", 0))

    async def call(self, source: str) -> Connection:
        far = socket.create_connection(self._listening.getsockname())
        near, _ = self._listening.accept()
        reader, writer = await asyncio.open_connection(sock=near)
        self._open.append((writer, far))
        link = Connection(end(Role.RESPONDER, "beta"), reader, writer)
        self.callers.add(asyncio.create_task(asyncio.sleep(60)), source, link)
        return link

    def sources(self) -> list[str]:
        return [source for source, _ in self.callers._all.values()]

    async def close(self) -> None:
        left = list(self.callers._all)
        for task in left:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*left, return_exceptions=True)
        for writer, far in self._open:
            writer.close()
            far.close()
        self._listening.close()


@pytest.fixture
async def guarded(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Window]:
    """A window that a site secret guards."""
    monkeypatch.setattr(callers, "WAITING", FULL)
    window = Window(by_secret=True)
    yield window
    await window.close()


async def test_one_source_has_few_places_and_leaves_the_others_to_everybody_else(guarded: Window) -> None:
    for _ in range(callers.PER_SOURCE):
        assert guarded.callers.admits("192.0.2.1", ())
        await guarded.call("192.0.2.1")
    assert callers.PER_SOURCE <= FULL / 2, "else one source fills half of the window"
    assert not guarded.callers.admits("192.0.2.1", ()) and guarded.callers.admits("192.0.2.2", ())
    assert len(guarded.callers) == callers.PER_SOURCE


async def test_who_has_shown_the_secret_is_never_dropped(guarded: Window) -> None:
    """Not though its source has failed before, by which it would be the first to go."""
    guarded.failing.failed("192.0.2.1")
    true = await guarded.call("192.0.2.1")
    true.session.claim = Confirm("", "", "")
    for number in range(FULL - 1):
        await guarded.call(f"198.51.100.{number}")
    for number in range(5 * FULL):
        assert guarded.callers.admits(f"203.0.113.{number}", ())
        await guarded.call(f"203.0.113.{number}")
    assert guarded.sources().count("192.0.2.1") == 1 and len(guarded.callers) == FULL


async def test_a_flood_of_new_sources_does_not_always_push_out_the_oldest(guarded: Window) -> None:
    """A genuine exchange takes a few turns of the flood, and would never be done if the oldest went each time."""
    outlived = []
    for attempt in range(40):  # one in three comes through: that none or all do is a matter of one in a million
        assert guarded.callers.admits("192.0.2.1", ())
        await guarded.call("192.0.2.1")
        for number in range(FULL):
            if guarded.callers.admits(f"198.51.{attempt}.{number}", ()):
                await guarded.call(f"198.51.{attempt}.{number}")
        outlived.append("192.0.2.1" in guarded.sources())
        for task, (source, _) in list(guarded.callers._all.items()):
            if source == "192.0.2.1":
                guarded.callers._all.pop(task)
                task.cancel()
    assert 0 < sum(outlived) < len(outlived)
