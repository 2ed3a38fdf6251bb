"""The clients of one trial wait for each other at the end that runs them: starting fifty takes its time."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from pathlib import Path
from typing import Any

import pytest

from linkladder import tools, wire
from linkladder.agent import Service, answering, processes
from linkladder.agent.processes import Child, Children, Gate
from linkladder.agent.stdio import Agent
from linkladder.agent.targets import Caller
from linkladder.model import Experiment, Protocol
from linkladder.model.asked import BOUNDS
from linkladder.tools import ToolVersions

BOTH = ToolVersions({"netperf": "2.7.0"})
LATER = 0.5  # seconds after the others that the last one is asked for
OF = (5301, "key")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Service:
    """With a netperf that says when it began, and nobody to ask for leave."""
    program = tmp_path / "netperf"
    program.write_text('#!/bin/sh\nexec python3 -c "import time; print(time.monotonic())"\n')
    program.chmod(0o755)
    monkeypatch.setattr(answering.programs, "find", lambda name: str(program))
    made = Service(lambda event: None)
    for name in ("_own",):
        monkeypatch.setattr(made, name, lambda *_: None)
    for name in ("check_way", "check"):
        monkeypatch.setattr(made.targets, name, lambda *_: None)
    return made


def asked(index: int, sessions: int = 3, **more: Any) -> wire.RunClient:
    exp = Experiment("x", "netperf", Protocol.RR, sessions=sessions)
    return wire.RunClient(exp, tools.layout(exp, BOTH, BOTH), "127.0.0.1", "127.0.0.1", 5301, index, **more)


async def began(service: Service, number: int) -> float:
    finished = await service.children[number].finished()
    assert finished.exit_code == 0 and not finished.errors, finished
    return float(finished.output)


async def test_none_is_the_tool_before_the_last_is_there(service: Service) -> None:
    try:
        first = [await service.do_client(asked(index)) for index in range(2)]
        await asyncio.sleep(LATER)
        assert all(service.children[one.process].process.returncode is None for one in first), "they wait"
        last = await service.do_client(asked(2))
        assert all(started.argv[0] == "netperf" for started in (*first, last)), "what is told is the tool"
        assert all([await began(service, started.process) >= last.t for started in (*first, last)])
    finally:
        await service.close()


async def test_one_that_is_refused_is_not_waited_for(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST", 2)
    try:
        first = [await service.do_client(asked(index)) for index in range(2)]
        moment = time.monotonic()
        with pytest.raises(wire.Refused, match="2 tools run here already"):
            await service.do_client(asked(2))
        assert all([await began(service, started.process) >= moment for started in first])
    finally:
        await service.close()


async def test_what_is_given_up_never_becomes_the_tool(service: Service) -> None:
    try:
        started = await service.do_client(asked(0))
        child = service.children[started.process]
        await service.do_cancel(wire.Cancel())
        assert not child.output and not len(service.children)
        assert service.gate and service.gate.is_open
    finally:
        await service.close()


async def test_the_next_trial_has_a_gate_of_its_own(service: Service) -> None:
    try:
        left = await service.do_client(asked(0))
        every = [await service.do_client(asked(index, 2, key="another")) for index in range(2)]
        moments = [await began(service, started.process) for started in (left, *every)]
        assert all(moment >= every[1].t for moment in moments[1:])
    finally:
        await service.close()


async def test_one_alone_and_one_with_a_moment_of_its_own_have_none(service: Service) -> None:
    try:
        await service.do_client(asked(0, sessions=1))
        await service.do_client(asked(0, at=time.monotonic()))
        assert service.gate is None
    finally:
        await service.close()


async def test_a_client_is_told_that_it_is_enough_and_ends_with_its_figures(service: Service, tmp_path: Path) -> None:
    program = tmp_path / "netperf"
    program.write_text("#!/bin/sh\ntrap 'echo figures; exit 0' ALRM\necho asks\nwhile :; do sleep 0.05; done\n")
    try:
        every = [service.children[(await service.do_client(asked(index))).process] for index in range(3)]
        for child in every:
            while b"".join(child.output) != b"asks\n":
                await asyncio.sleep(0.01)
        for child in every:
            await service.do_enough(wire.Enough(child.number))
            assert (await child.finished()).output == "asks\nfigures\n"
        await service.do_enough(wire.Enough(every[0].number))
        with pytest.raises(wire.Refused):
            await service.do_enough(wire.Enough(99))
    finally:
        await service.close()


async def test_a_gate_that_not_all_come_to_opens_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "OPENS", 0.2)
    children = Children(lambda _: None)
    try:
        child: Child = await children.start_at(Gate(OF, 2), ["/bin/echo", "there"])
        assert (await child.finished()).output == "there\n"
    finally:
        await children.close()


async def test_fifty_are_answered_before_they_begin(service: Service) -> None:
    """None waits at the gate itself: whoever asks for one after the other would wait for good."""
    try:
        every = [await service.do_client(asked(index, 50)) for index in range(50)]
        assert len({started.process for started in every}) == 50
    finally:
        await service.close()


async def test_an_agent_hears_all_that_a_trial_may_have_before_it_has_answered_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions = int(BOUNDS["sessions"][1])
    asking = set[int]()
    agent = Agent(Caller.CONSOLE)
    all_there = asyncio.Event()

    async def slowly(request: wire.RunClient) -> wire.Started:
        asking.add(request.index)
        if len(asking) == sessions:
            all_there.set()
        await all_there.wait()
        return wire.Started(request.index, (), 0.0)

    monkeypatch.setattr(agent._service, "do", slowly)
    (heard, asks), (answers, says) = os.pipe(), os.pipe()
    fcntl.fcntl(asks, fcntl.F_SETPIPE_SZ, 1 << 20)
    every = [wire.question(index + 1, asked(index, sessions, key="0" * 32)) for index in range(sessions)]
    os.write(asks, b"".join(every))
    serving = asyncio.create_task(agent.serve(os.fdopen(heard, "rb"), os.fdopen(says, "wb")))
    try:
        with os.fdopen(answers, "rb") as lines:
            said = [wire.read_answer(await asyncio.to_thread(lines.readline)) for _ in every]
        assert [one.refused for one in said if isinstance(one, wire.Answer)] == [None] * sessions
    finally:
        os.close(asks)
        await serving
