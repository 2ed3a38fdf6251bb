"""Clients that go on until they are told: all of them once the last has had its time, and none that is not there."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from linkladder import tools, wire
from linkladder.engine import leg as legs
from linkladder.engine.leg import RunningLeg
from linkladder.engine.route import Route, Side
from linkladder.engine.tool_process import Process
from linkladder.model import Experiment, Path, Protocol

EXP = Experiment("x", "netperf", Protocol.RR, warmup=1, duration=2, sessions=2)
ASKED = 3


class Told(tools.Live):
    """A client that has told of the time from one moment to another."""

    until: tuple[float, float] | None = None

    @property
    def span(self) -> tuple[float, float] | None:
        return self.until


class Point:
    """An end whose clients end when they are told."""

    lost = False

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.clients: list[Process] = []

    async def ask(self, request: Any) -> None:
        assert isinstance(request, wire.Enough)
        self.asked.append(request.process)
        self.clients[request.process].exited.set()


def running() -> tuple[RunningLeg, Point]:
    point: Any = Point()
    side = Side(0, point, "near", "127.0.0.1", "")
    leg = RunningLeg(EXP, Route(Path("127.0.0.1", "127.0.0.1", ""), side, side), 0, 5301, "key", {})
    leg.clients = point.clients = [Process(side, "client", n, (), time.monotonic(), Told()) for n in range(2)]
    return leg, point


async def test_all_are_told_once_the_last_has_had_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legs, "LOOK", 0.001)
    leg, point = running()
    first, last = (client.live for client in leg.clients)
    waiting = asyncio.create_task(leg._wait(leg.clients, time.monotonic() + 60))
    for spans in (((0, 9), None), ((0, 9), (8, 9)), ((0, 10.9), (8, 11)), ((0, 11), (8, 10.9))):
        first.until, last.until = spans  # type: ignore[attr-defined]
        await asyncio.sleep(0.02)
        assert not point.asked, spans
    last.until = (8, 8 + ASKED)  # type: ignore[attr-defined]
    await waiting
    assert sorted(point.asked) == [0, 1] and not leg.watchdog


@pytest.mark.parametrize("there", [True, False])
async def test_what_stalls_is_waited_for_no_longer_than_what_has_begun_needs(
    there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "LOOK", 0.001)
    monkeypatch.setattr(legs, "WATCHDOG", 0.1 - tools.expected_seconds(EXP))
    leg, point = running()
    leg.clients[0].live.until = (0, 1)  # type: ignore[attr-defined]
    leg.clients[1].live.until = (0, 1) if there else None  # type: ignore[attr-defined]
    began = time.monotonic()
    limit = began + (600 if there else 0.5)  # of the first it is no matter: what waits for it runs into the test's own
    await leg._wait(leg.clients, limit)
    assert leg.watchdog and not point.asked
    assert there or time.monotonic() >= limit
    assert (leg.last_client_began is not None) == there
