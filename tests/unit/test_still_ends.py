"""An end that stands still itself says nothing meanwhile: neither of it nor of its tools."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from linkladder.engine import leg as legs
from linkladder.engine import tool_process
from linkladder.engine.account import Watched
from linkladder.engine.leg import RunningLeg
from linkladder.engine.route import Route, Side
from linkladder.engine.tool_process import Process
from linkladder.model import CoreLoad, End, Experiment, HostSample, Path
from linkladder.tools import Layout, Live


class Point:
    """An end that is there."""

    lost = False


def running() -> RunningLeg:
    point: Any = Point()
    near, far = (Side(number, point, name, "127.0.0.1", "") for number, name in enumerate(("near", "far")))
    leg = RunningLeg(Experiment("x"), Route(Path("", "", "beta"), near, far), 0, 5301, "key", {})
    leg.layout = Layout(End.FAR, End.NEAR, protocol_port="tcp")
    leg.clients = [Process(near, "client", 1, (), time.monotonic(), Live())]
    leg.processes = list(leg.clients)
    return leg


def sample(t: float) -> HostSample:
    return HostSample(t, (CoreLoad(1.0, 0.0, 0.0, 99.0),), 1)


@pytest.mark.parametrize("still", [False, True])
async def test_a_tool_is_silent_only_while_its_end_tells_of_itself(
    still: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen on emulated FreeBSD: an end stood still for 9 s, and its whole output was told at once afterwards."""
    monkeypatch.setattr(legs, "SILENCE", 0.4)
    monkeypatch.setattr(legs, "LOOK", 0.01)
    monkeypatch.setattr(tool_process, "STILL", 0.1)
    leg = running()
    waiting = asyncio.create_task(leg._wait(leg.clients, time.monotonic() + 30))
    if still:
        await asyncio.sleep(1.0)
        leg.looked(0)
        await asyncio.sleep(0.05)
        assert not waiting.done()
        leg.clients[0].exited.set()
    while not waiting.done():
        leg.looked(1)
        leg.looked(0)
        await asyncio.sleep(0.05)
    assert leg.watchdog != still
    leg.clients[0].note_line()
    assert leg.clients[0].quiet == 0


def test_what_stood_still_is_told_on_the_clock_of_the_tool() -> None:
    leg = running()
    leg.clients[0].began = 102.0
    watched = {number: Watched(name) for number, name in enumerate(("near", "far"))}
    for t in (1.0, 2.0, 6.0, 7.0):
        watched[0].look(sample(t))
        watched[1].look(sample(t / 2))
    leg.stood_still(watched, 100.0)
    assert leg.still == ((0.0, 4.0),)
    watched[0].samples.append(sample(4.0))
    leg.stood_still(watched, 100.0)
    assert not leg.still, "it looked at itself meanwhile, only late to be heard"
