"""A trial's connections are seen before they close: with the samples of an end, or by asking it, half-way too."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from linkladder import wire
from linkladder.engine import connections as looking
from linkladder.engine.account import Watched
from linkladder.engine.connections import Connections
from linkladder.engine.route import Side
from linkladder.model import SocketsSeen, SocketStat
from linkladder.peer import EndPoint, PeerLost

PORT = 5301
AWAY = 500.0  # seconds by which the end's clock is ahead


def connection(sent: int, port: int = PORT) -> SocketStat:
    return SocketStat("10.0.0.1", 40000, "10.0.0.2", port, "ESTABLISHED", sent_bytes=sent)


class Clock:
    """That goes on only where somebody sleeps, however long the machine that tests takes."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class End:
    """Whose system shows these bytes at each look; None if the connection is closed by then, -1 if the end is lost.

    One that looks by itself tells `seen` at the end.
    """

    def __init__(self, *looks: int | None, seen: wire.SocketsReply | None = None, clock: Clock | None = None) -> None:
        self.looks, self.seen, self.asked = list(looks), seen, list[wire.Request[Any]]()
        self.clock = clock or Clock()

    async def ask(self, request: wire.Request[Any]) -> Any:
        self.asked.append(request)
        if isinstance(request, wire.Sampling):
            return wire.SamplingReply(self.seen)
        sent, now = self.looks.pop(0), self.clock.monotonic() + AWAY
        if sent == -1:
            raise PeerLost("gone")
        return wire.SocketsReply(now, "ss", () if sent is None else (connection(sent),))


def connections(end: End, watched: Watched, ports: tuple[int, ...] = (PORT,)) -> Connections:
    side = Side(0, cast(EndPoint, end), "near", "10.0.0.1", "eth0")
    return Connections({0: side}, {0: watched}, {0: AWAY}, ports)


@pytest.mark.parametrize(
    ("looks", "sent", "when"),
    [
        ((50, 90), 90, 50.0),
        ((50, None), 50, 25.0),
        ((None, 90), 90, 50.0),
        ((None, None), None, 25.0),
        ((50, -1), 50, 25.0),
    ],
    ids=["both", "too late", "connected late", "never", "lost"],
)
async def test_the_last_look_counts_unless_it_came_too_late(
    looks: tuple[int | None, ...], sent: int | None, when: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(looking, "LOOK", 1.0)
    monkeypatch.setattr(looking, "time", clock)
    monkeypatch.setattr(looking, "asyncio", SimpleNamespace(sleep=clock.sleep, gather=asyncio.gather))
    end, watched, begun = End(*looks, clock=clock), Watched("far"), clock.now
    these = connections(end, watched)
    await these.sample(0, 1.0, sends=False, at_once=False)
    await these.ask(begun, 51.0)
    await these.sample_no_more(0, begun)
    seen = watched.sockets
    assert seen and not end.looks
    assert [s.sent_bytes for s in seen.sockets] == ([] if sent is None else [sent])
    assert seen.t == pytest.approx(when)  # what was counted is of that moment


async def test_an_end_that_looks_by_itself_is_asked_nothing_meanwhile() -> None:
    """A question wakes both ends, which takes from what is measured."""
    begun, watched = time.monotonic(), Watched("near")
    seen = wire.SocketsReply(begun + AWAY + 3.2, "netstat", (connection(70), connection(5, port=22)))
    end = End(seen=seen)
    these = connections(end, watched)
    await these.sample(0, 1.0, sends=True, at_once=True)
    await these.ask(begun, 60.0)
    await these.sample_no_more(0, begun)
    assert end.asked == [wire.Sampling(True, 1.0, (), (PORT,), True, True), wire.Sampling(False)]
    assert watched.sockets == SocketsSeen(3.2, "netstat", (connection(70),))


async def test_a_trial_without_connections_asks_for_none() -> None:
    end, watched = End(), Watched("near")
    these, begun = connections(end, watched, ports=()), time.monotonic()
    await these.sample(0, 1.0, sends=False, at_once=False)
    await these.ask(begun, 60.0)
    assert [type(one) for one in end.asked] == [wire.Sampling]
    assert watched.sockets is None
