"""An end that stands still itself says nothing meanwhile: neither of it nor of its tools."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from linkladder import tools, wire
from linkladder.engine import leg as legs
from linkladder.engine import tool_process
from linkladder.engine.account import Watched
from linkladder.engine.leg import RunningLeg
from linkladder.engine.route import Route, Side
from linkladder.engine.tool_process import Process
from linkladder.model import CoreLoad, Direction, End, Experiment, Fault, HostSample, Path, WindowSeen
from linkladder.tools import Layout, Live
from tools_cases import TWO_ENDS
from trial_ends import two_ends

CAPTURES = FilePath(__file__).parents[1] / "captures"


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
        leg.note_sample(0, time.monotonic())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        leg.clients[0].exited.set()
    while not waiting.done():
        leg.note_sample(1, time.monotonic())
        leg.note_sample(0, time.monotonic())
        await asyncio.sleep(0.05)
    assert leg.watchdog != still
    leg.clients[0].note_line(time.monotonic())
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
    assert leg.still_at == ("near",)
    watched[0].samples.append(sample(4.0))
    leg.stood_still(watched, 100.0)
    assert not leg.still, "it looked at itself meanwhile, only late to be heard"


def test_an_end_that_is_not_heard_of_again_stood_still_to_the_end() -> None:
    """Seen where the far machine was frozen in the last seconds: no later sample showed the gap."""
    end = Watched("far")
    for t in (1.0, 2.0, 3.0):
        end.look(sample(t))
    assert not end.stood_still() and not end.stood_still(4.5)
    assert [(one.at, one.seconds) for one in end.stood_still(11.0)] == [(3.0, 8.0)]


@pytest.mark.parametrize(
    ("still", "fault", "said"),
    [
        ((), Fault.PATH, ""),
        (((1.0, 9.0),), Fault.TOOL, ", but beta stood still itself for 8.0 s meanwhile"),
        (((1.0, 1.5),), Fault.PATH, ""),
    ],
)
def test_figures_that_end_early_are_the_ends_own_where_one_stood_still(
    still: tuple[tuple[float, float], ...], fault: Fault, said: str
) -> None:
    name = "iperf-2.1.8-two-ends/tcp-p2"
    server, client = ((CAPTURES / f"{name}.{end}.txt").read_text() for end in ("server", "client"))
    lines = [line for line in server.splitlines() if " 0.0000-1.0000 " in line or " sec " not in line]
    exp = Experiment("x", streams=2, duration=8, warmup=0)
    expect = replace(TWO_ENDS, still=still, still_at=("beta",) * len(still), watchdog=True)
    outcome = tools.finish(exp, Layout(End.FAR, End.NEAR), ("\n".join(lines), ""), ((client, ""),), expect)
    assert (outcome.ok, outcome.fault) == (False, fault), outcome.reason
    assert said in outcome.reason


@pytest.mark.parametrize(("first", "stood"), [(1.9, []), (2.5, [2.5])])
async def test_an_end_that_stands_still_from_the_beginning_is_seen(first: float, stood: list[float]) -> None:
    """Seen on emulated FreeBSD: the first sample came after 2.2 s of silence, for which the link was blamed."""
    trial, _ = two_ends(Direction.FORWARD)
    trial.begun -= 60.0  # what is arranged before a trial takes its time
    await trial._sample(1)
    trial._barrier()
    asked = trial.begun
    for t in (first, first + 1):
        trial._take(1, wire.RawSample(asked + t, (), 1))
    found = trial.watched[1].stood_still(first + 2)
    assert [one.seconds for one in found] == pytest.approx(stood, abs=0.05)
    assert [one.at for one in found] == pytest.approx([0.0] * len(stood), abs=0.05)
    assert not trial.watched[0].stood_still(first + 2), "an end that was asked for no sample"


async def test_what_an_end_told_before_the_trial_began_is_told_as_before_it() -> None:
    trial, _ = two_ends(Direction.FORWARD)
    trial.begun -= 60.0
    await trial._sample(1)
    asked = trial.begun + 60.0
    for t in (1.0, 5.0, 6.0):  # it stood still, but before
        trial._take(1, wire.RawSample(asked + t, (), 1, windows=WindowSeen(asked + t, (1000,), (2000,))))
    trial.begun += 66.5  # the server took so long
    for watched in trial.watched.values():
        watched.count_from(66.5)
    end = trial.watched[1]
    assert [one.t for one in end.samples] == [one.t for one in end.windows]
    assert [one.t for one in end.samples] == pytest.approx([-5.5, -1.5, -0.5], abs=0.05)
    assert not end.stood_still(1.0)
    trial._take(1, wire.RawSample(asked + 9.0, (), 1))
    (one,) = end.held_up
    assert (one.at, one.seconds) == pytest.approx((-0.5, 3.0), abs=0.05)
