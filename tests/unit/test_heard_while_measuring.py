"""What the ends send during a trial: samples with the windows of connections, and the news that end its waits."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest

from linkladder import host, wire
from linkladder.agent import Service, sampling, stdio
from linkladder.agent.sampling import Samples
from linkladder.agent.stdio import Agent
from linkladder.agent.targets import Caller
from linkladder.engine import leg as legs
from linkladder.engine.tool_process import Process
from linkladder.model import (
    Direction,
    Experiment,
    NicCounters,
    Protocol,
    SocketStat,
    TcpCounters,
    WindowSeen,
)
from linkladder.peer.ends import MOST_EVENTS
from trial_ends import PORT, two_ends


def connection(port: int, cwnd: int | None, state: str = "ESTABLISHED") -> SocketStat:
    return SocketStat("10.0.0.1", 40000, "10.0.0.2", port, state, cwnd_bytes=cwnd, ssthresh_bytes=2 * (cwnd or 0))


@pytest.mark.parametrize(
    ("found", "open_at_the_last_look", "cwnds"),
    [
        ([connection(PORT, 1000), connection(PORT, 3000)], 2, (1000, 3000)),
        ([connection(PORT, 1000, "FIN_WAIT_1"), connection(PORT, None)], 1, None),
        ([], 0, None),
        (None, None, None),
    ],
    ids=["two flows", "none that carries data", "no flow", "a system that tells none without a program"],
)
@pytest.mark.parametrize("windows", [True, False])
async def test_connections_are_looked_at_with_samples_which_tell_their_windows_if_they_are_asked_to(
    found: list[SocketStat] | None,
    open_at_the_last_look: int | None,
    cwnds: tuple[int, ...] | None,
    windows: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Collection[int]] = []

    def connections(ports: Collection[int]) -> tuple[SocketStat, ...] | None:
        asked.append(ports)
        return None if found is None else tuple(found)

    monkeypatch.setattr(host, "connections", connections)
    said: list[wire.Event] = []
    service = Service(said.append)
    for ports in ((), (PORT,)):
        begun = await service.do_sampling(wire.Sampling(True, 0.1, (), ports, windows))
        assert (begun.connections is None) == (not ports or found is None)
        while len(said) < 1:
            await asyncio.sleep(0.01)
        over = await service.do_sampling(wire.Sampling(False))
        seen = next(one for one in said if isinstance(one, wire.RawSample))
        told = WindowSeen(seen.t, cwnds, tuple(2 * cwnd for cwnd in cwnds)) if ports and windows and cwnds else None
        assert seen.windows == told
        if ports and found is not None:
            assert over.connections and len(over.connections.sockets) == open_at_the_last_look
        else:
            assert over.connections is None
        said.clear()
    assert asked and set(asked) == {(PORT,)}


async def test_connections_that_have_closed_are_told_as_they_last_were(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [(), (connection(PORT, 1000),), (connection(PORT, 3000),), (connection(PORT, 1, "TIME_WAIT"),), ()]
    monkeypatch.setattr(host, "connections", lambda ports: looks.pop(0) if looks else ())
    said: list[wire.Event] = []
    service = Service(said.append)
    await service.do_sampling(wire.Sampling(True, 0.1, (), (PORT,), windows=True))
    while looks:
        await asyncio.sleep(0.01)
    over = await service.do_sampling(wire.Sampling(False))
    samples = [one for one in said if isinstance(one, wire.RawSample)]
    assert over.connections and over.connections.sockets == (connection(PORT, 3000),)
    assert over.connections.t == samples[1].t


async def test_only_the_cards_of_the_trial_are_counted_each_second() -> None:
    said: list[wire.Event] = []
    service = Service(said.append)
    for cards in ((), ("lo",), ("lo", "none-of-that-name")):
        await service.do_sampling(wire.Sampling(True, 0.1, cards))
        while not said:
            await asyncio.sleep(0.01)
        await service.do_sampling(wire.Sampling(False))
        seen = next(one for one in said if isinstance(one, wire.RawSample))
        assert [card.name for card in seen.nics] == list(cards[:1])
        said.clear()


RR = Experiment("e", "netperf", Protocol.RR, sessions=2)  # runs until all have run at once for long enough


@pytest.mark.parametrize(
    ("way", "senders", "exp"),
    [
        (Direction.FORWARD, {0}, None),
        (Direction.REVERSE, {1}, None),
        (Direction.DUPLEX, {0, 1}, None),
        (Direction.FORWARD, {0}, RR),
    ],
)
async def test_the_senders_are_asked_for_their_windows_which_are_kept_in_seconds_of_the_trial(
    way: Direction, senders: set[int], exp: Experiment | None
) -> None:
    trial, ends = two_ends(way, exp)
    trial.clock_offset[1] = 500.0
    counted = wire.CountersReply("eth1", NicCounters("eth1"), TcpCounters(), None, 1, (NicCounters("eth2"),))
    trial.watched[0].count("10.0.0.1", counted)
    for number, end in enumerate(ends):
        await trial._sample(number)
        (request,) = end.asked
        cards = () if number else ("eth1", "eth2")
        ports = trial.legs[0].data_ports
        assert request == wire.Sampling(True, 1.0, cards, ports, number in senders, at_once=exp is RR)
        t = trial.begun + trial.clock_offset[number] + 3.0
        trial._take(number, wire.RawSample(t, (), 1, windows=WindowSeen(t, (1000,), (2000,))))
        trial._take(number, wire.RawSample(t + 1, (), 1))
        assert trial.watched[number].windows == [WindowSeen(3.0, (1000,), (2000,))]


@pytest.mark.parametrize("exp", [Experiment("e", duration=9), RR], ids=["for a time", "until enough"])
@pytest.mark.parametrize("heard", ["a sample", "a line", "its end", "nothing"])
async def test_who_waits_for_a_tool_looks_when_that_may_be_over(
    heard: str, exp: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not at what else is heard: each wake-up of a run takes from what it measures."""
    monkeypatch.setattr(legs, "LOOK", 60.0)
    trial, _ = two_ends(Direction.FORWARD, exp)
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
        trial._take(0, wire.Line(1, ("x",), 1.0) if heard == "a line" else wire.Exited(1))
    await asyncio.sleep(0.05)
    assert waiting.done() == (heard == "its end")
    assert len(looks) == (2 if exp is RR and heard == "a line" else 1)
    waiting.cancel()


@pytest.mark.parametrize(
    ("every", "lines", "taken"),
    [
        (1.0, [], [1.0, 2.0, 3.0, 4.0]),
        (1.0, [0.9, 1.9, 2.95, 3.9], [0.9, 1.9, 2.95, 3.9]),  # with the lines, also where one comes late
        (1.0, [0.3, 1.3, 2.3, 3.3], [0.3, 1.3, 2.3, 3.3]),  # the first one soon
        (1.0, [0.05, 1.05, 2.05, 3.05], [1.05, 2.05, 3.05]),  # but not of too short a time
        (1.0, [0.9, 1.3, 2.3, 3.3], [0.9, 2.3, 3.3]),  # it waits for the next line once
        (1.0, [0.9, 1.9], [0.9, 1.9, 3.0, 4.0]),  # of a tool that falls silent
        (1.0, [0.25 * n for n in range(1, 17)], [0.25, 1.0, 1.75, 2.5, 3.25, 4.0]),
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

    monkeypatch.setattr(sampling, "time", SimpleNamespace(monotonic=lambda: now, process_time=lambda: 0.0))
    monkeypatch.setattr(sampling, "asyncio", SimpleNamespace(get_running_loop=Loop))
    samples = Samples(lambda event: None)
    seen: list[float] = []

    def send() -> None:
        seen.append(round(now, 3))
        samples._last, samples._taken = now, samples._taken + 1

    monkeypatch.setattr(samples, "_send", send)
    samples.begin(wire.Sampling(True, every))
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
    line, sample, ended = wire.Line(1, ("x",), 1.0), wire.RawSample(1.0, (), 1), wire.Exited(1)
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
    for event in (*(wire.Line(number, ("x",), 1.0) for number in (1, 2, 3)), wire.Exited(1)):
        service._tell(event)
    assert len(beside) == 1


async def test_a_receiver_is_looked_at_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look is in the last third of the trial, however long that is."""
    samples, looks = Samples(lambda event: None), list[int]()
    monkeypatch.setattr(host, "connections", lambda ports: looks.append(samples._taken) or ())
    samples.begin(wire.Sampling(True, 1.0, (), (PORT,)))
    looks.clear()
    for _ in range(100):
        samples._send()
    samples.end()
    assert looks == [1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94]


@pytest.mark.parametrize(
    ("slow", "asked", "sent"),
    [
        (False, wire.Sampling(True), [1, 2, 3, 4, 5, 6, 7, 8]),
        (True, wire.Sampling(True), [6, 8]),
        (True, wire.Sampling(True, at_once=True), [1, 2, 3, 4, 5, 6, 7, 8]),
        (True, wire.Sampling(True, 0.5), [1, 2, 3, 4, 5, 6, 7, 8]),
        (True, wire.Sampling(False), [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
    ids=["a usual machine", "a slow one", "one who must be heard at once", "in an outage", "without a trial"],
)
async def test_on_a_slow_machine_what_a_trial_tells_is_sent_together(
    slow: bool, asked: wire.Sampling, sent: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But the end of a tool waits for nothing, and neither does an answer."""
    now = 0.0
    agent, lines = Agent(Caller.CONSOLE), list[bytes]()
    await agent._service.do_sampling(asked)
    if agent._service.samples:
        agent._service.samples._took = 0.0031 if slow else 0.0004
    transport = SimpleNamespace(get_write_buffer_size=lambda: 0)
    agent._writer = cast(Any, SimpleNamespace(write=lines.append, transport=transport))
    monkeypatch.setattr(stdio, "time", SimpleNamespace(monotonic=lambda: now))
    seconds: list[int] = []
    said: list[wire.Event] = []
    for second in range(1, 9):
        now = float(second)
        new: list[wire.Event] = [wire.Line(1, ("x",), now), wire.RawSample(now, (), 1)]
        for event in [*new, *([wire.Exited(1)] if second == 8 else [])]:
            agent._say(event)
            said.append(event)
        await asyncio.sleep(0)
        seconds += [second] * (len(lines) - len(seconds))
    assert seconds == sent
    assert b"".join(lines) == b"".join(map(wire.event, said))
    agent._say(said[0])
    agent._send(wire.answer(2, None))
    assert lines[-1] == wire.event(said[0]) + wire.answer(2, None)
    agent._writer = None
    await agent._service.close()


def test_what_a_sample_takes_shows_a_slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for takes in (0.001, 0.003):
        spent = itertools.count(0.0, takes)
        clock = SimpleNamespace(monotonic=lambda: 0.0, process_time=lambda spent=spent: next(spent))
        monkeypatch.setattr(sampling, "time", clock)
        timer = SimpleNamespace(cancel=lambda: None)
        loop = SimpleNamespace(get_running_loop=lambda timer=timer: SimpleNamespace(call_later=lambda *_: timer))
        monkeypatch.setattr(sampling, "asyncio", loop)
        samples = Samples(lambda event: None)
        assert not samples.may_wait
        samples.begin(wire.Sampling(True))
        assert samples.may_wait == (takes > sampling.SLOW)
        samples.end()
        assert not samples.may_wait


def test_what_was_heard_late_is_of_the_moment_at_which_it_was_read() -> None:
    """Lines that waited at their end tell as well as others when the first second began, and how long it was silent."""
    trial, _ = two_ends(Direction.FORWARD)
    trial.clock_offset[1] = 500.0
    trial.begun -= 60.0
    (leg,) = trial.legs
    second = SimpleNamespace(end=3.0)
    live = SimpleNamespace(span=None, feed=lambda line: [second], round_trip=lambda line: 7.5)
    trial.seconds = cast(Any, SimpleNamespace(add=lambda number, second: []))
    server = Process(leg.route.far, "server", 1, (), trial.begun, cast(Any, live), heard=trial.begun)
    leg.processes = [server]
    read = trial.begun + 500.0 + 3.1
    trial._take(1, wire.Line(1, ("x",), read))
    assert server.zero == pytest.approx(trial.begun + 0.1)
    ((at, ms),) = server.round_trips
    assert at == pytest.approx(3.1) and ms == 7.5
    for late in (1.0, 2.0, 9.0):
        trial._take(1, wire.RawSample(read + late, (), 1))
    assert server.quiet == pytest.approx(1.0 + 1.0 + 2.0)  # of the last seven seconds only those of a usual gap
    trial._take(1, wire.Line(1, ("x",), read + 9.5))
    assert server.quiet == 0.0
    for wrong in (read + 1e9, read + 1e9 + 1.0):
        trial._take(1, wire.Line(1, ("x",), wrong))
        assert server.heard == pytest.approx(time.monotonic(), abs=5.0), "no end has seen anything later than now"


async def test_a_caller_is_sent_no_more_events_together_than_he_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, lines = Agent(Caller.CONSOLE), list[bytes]()
    agent._service = cast(Any, SimpleNamespace(may_wait=True))
    transport = SimpleNamespace(get_write_buffer_size=lambda: 0)
    agent._writer = cast(Any, SimpleNamespace(write=lines.append, transport=transport))
    for number in range(1000):
        agent._say(wire.Line(number, ("x",), 1.0))
        await asyncio.sleep(0)
    assert len(lines) == 1000 // stdio.TOGETHER
    assert all(one.count(b"\n") == stdio.TOGETHER < MOST_EVENTS for one in lines)
