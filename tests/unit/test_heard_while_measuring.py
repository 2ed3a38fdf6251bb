"""What the ends send during a trial: samples with the windows of connections, and the news that end its waits."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest

from linkladder import host, wire
from linkladder.agent import Service, sampling
from linkladder.agent.sampling import Samples
from linkladder.agent.stdio import Agent
from linkladder.agent.targets import Caller
from linkladder.engine import leg as legs
from linkladder.engine.route import Route, Side
from linkladder.engine.tool_process import Process
from linkladder.engine.trial import Trial
from linkladder.model import Direction, Experiment, Path, SocketStat, WindowSeen

PORT = 5301


def connection(port: int, cwnd: int | None, state: str = "ESTABLISHED") -> SocketStat:
    return SocketStat("10.0.0.1", 40000, "10.0.0.2", port, state, cwnd_bytes=cwnd, ssthresh_bytes=2 * (cwnd or 0))


@pytest.mark.parametrize(
    ("found", "cwnds"),
    [
        ([connection(PORT, 1000), connection(PORT, 3000)], (1000, 3000)),
        ([connection(PORT, 1000, "FIN_WAIT_1"), connection(PORT, None)], None),
        ([], None),
    ],
    ids=["two flows", "none that carries data", "a system that tells none"],
)
async def test_a_sample_tells_the_windows_of_the_connections_asked_for(
    found: list[SocketStat], cwnds: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Collection[int]] = []

    def windows(ports: Collection[int]) -> tuple[SocketStat, ...]:
        asked.append(ports)
        return tuple(found)

    monkeypatch.setattr(host, "windows", windows)
    said: list[wire.Event] = []
    samples = Samples(said.append)
    for ports in ((), (PORT,)):
        samples.begin(0.1, ports)
        while len(said) < 1:
            await asyncio.sleep(0.01)
        samples.end()
        (seen,) = (one for one in said[:1] if isinstance(one, wire.RawSample))
        told = WindowSeen(seen.t, cwnds, tuple(2 * cwnd for cwnd in cwnds)) if ports and cwnds else None
        assert seen.windows == told
        said.clear()
    assert asked and set(asked) == {(PORT,)}


class End:
    """An end that takes every request and answers nothing."""

    lost = False

    def __init__(self) -> None:
        self.asked: list[wire.Request[Any]] = []

    async def ask(self, request: wire.Request[Any]) -> None:
        self.asked.append(request)


def two_ends(way: Direction) -> tuple[Trial, list[End]]:
    ends = [End(), End()]
    near, far = (Side(number, cast(Any, end), name, f"10.0.0.{number + 1}", "") for number, (end, name) in
                 enumerate(zip(ends, ("near", "far"), strict=True)))  # fmt: skip
    route = Route(Path("10.0.0.1", "10.0.0.2", "far"), near, far)
    return Trial([route], Experiment("e", duration=9, direction=way), 0, [PORT], lambda _: None), ends


@pytest.mark.parametrize(
    ("way", "senders"), [(Direction.FORWARD, {0}), (Direction.REVERSE, {1}), (Direction.DUPLEX, {0, 1})]
)
async def test_the_senders_are_asked_for_their_windows_which_are_kept_in_seconds_of_the_trial(
    way: Direction, senders: set[int]
) -> None:
    trial, ends = two_ends(way)
    trial.clock_offset = {0: 0.0, 1: 500.0}
    for number, end in enumerate(ends):
        await trial._sample(number)
        (request,) = end.asked
        assert request == wire.Sampling(True, 1.0, (PORT,) if number in senders else ())
        t = trial.begun + trial.clock_offset[number] + 3.0
        trial._take(number, wire.RawSample(t, (), 1, windows=WindowSeen(t, (1000,), (2000,))))
        trial._take(number, wire.RawSample(t + 1, (), 1))
        assert trial.watched[number].windows == [WindowSeen(3.0, (1000,), (2000,))]


@pytest.mark.parametrize("heard", ["a sample", "a line", "its end", "nothing"])
async def test_who_waits_for_a_tool_looks_when_something_is_heard(heard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And by no timer meanwhile: each wake-up of a run takes from what it measures."""
    monkeypatch.setattr(legs, "LOOK", 60.0)
    trial, _ = two_ends(Direction.FORWARD)
    (leg,) = trial.legs
    live = SimpleNamespace(span=None, feed=lambda line: [], round_trip=lambda line: None)
    client = Process(leg.route.near, "client", 1, (), time.monotonic(), cast(Any, live))
    leg.clients = leg.processes = [client]
    looks: list[float] = []
    leg.progressed = lambda: looks.append(time.monotonic())
    waiting = asyncio.create_task(leg._wait(leg.clients, math.inf))
    await asyncio.sleep(0.05)
    assert len(looks) == 1
    if heard == "a sample":
        trial._take(0, wire.RawSample(trial.begun + 1.0, (), 1))
    elif heard != "nothing":
        trial._take(0, wire.Line(1, ("x",)) if heard == "a line" else wire.Exited(1))
    await asyncio.sleep(0.05)
    assert waiting.done() == (heard == "its end")
    assert len(looks) == (2 if heard in ("a sample", "a line") else 1)
    waiting.cancel()


@pytest.mark.parametrize(
    ("every", "lines", "taken"),
    [
        (1.0, [], [1.0, 2.0, 3.0, 4.0]),
        (1.0, [0.9, 1.9, 2.95, 3.9], [0.9, 1.9, 2.95, 3.9]),  # with the lines, also where one comes late
        (1.0, [0.3, 1.3, 2.3, 3.3], [1.3, 2.3, 3.3]),  # it waits for the next line once
        (1.0, [0.9, 1.9], [0.9, 1.9, 3.0, 4.0]),  # of a tool that falls silent
        (1.0, [0.25 * n for n in range(1, 17)], [0.75, 1.5, 2.25, 3.0, 3.75]),
        (0.5, [0.4, 0.9, 1.4], [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]),  # those of an outage keep their time
    ],
)
def test_a_sample_is_taken_when_the_tool_prints(
    every: float, lines: list[float], taken: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    timers: list[tuple[float, Any]] = []

    class Loop:
        def call_later(self, seconds: float, back: Any) -> Any:
            timer = (now + seconds, back)
            timers.append(timer)
            return SimpleNamespace(cancel=lambda: timers.remove(timer))

    monkeypatch.setattr(sampling, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(sampling, "asyncio", SimpleNamespace(get_running_loop=Loop))
    samples = Samples(lambda event: None)
    seen: list[float] = []

    def send() -> None:
        seen.append(round(now, 3))
        samples._last = now

    monkeypatch.setattr(samples, "_send", send)
    samples.begin(every, ())
    coming = list(lines)
    while (due := min([*coming[:1], *(at for at, _ in timers)])) < 4.05:
        now = due
        if coming and coming[0] == due:
            del coming[0]
            samples.beside_a_line()
        else:
            ((_, back),) = timers
            timers.clear()
            back()
    assert seen == taken


async def test_what_is_said_at_one_moment_is_sent_together_and_before_the_next_answer() -> None:
    agent, sent = Agent(Caller.CONSOLE), list[bytes]()
    writer = SimpleNamespace(write=sent.append, transport=SimpleNamespace(get_write_buffer_size=lambda: 0))
    agent._writer = cast(Any, writer)
    line, sample, ended = wire.Line(1, ("x",)), wire.RawSample(1.0, (), 1), wire.Exited(1)
    agent._say(line)
    agent._say(sample)
    assert not sent
    await asyncio.sleep(0)
    assert sent == [wire.event(line) + wire.event(sample)]
    agent._say(ended)
    agent._send(wire.answer(1, None))
    assert sent[1:] == [wire.event(ended) + wire.answer(1, None)]
    await asyncio.sleep(0)
    assert len(sent) == 2


async def test_lines_of_a_ping_bring_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five a second would be five samples."""
    service, beside = Service(lambda event: None), list[int]()
    monkeypatch.setattr(service, "samples", SimpleNamespace(beside_a_line=lambda: beside.append(1)))
    children = {number: SimpleNamespace(loads=loads) for number, loads in ((1, True), (2, False))}
    monkeypatch.setattr(service, "children", children)
    for event in (wire.Line(1, ("x",)), wire.Line(2, ("x",)), wire.Line(3, ("x",)), wire.Exited(1)):
        service._tell(event)
    assert len(beside) == 1
