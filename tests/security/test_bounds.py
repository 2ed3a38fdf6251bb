"""What a peer may take of an appliance is bounded: tools at once, and their time, which ends with its reservation."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from itertools import islice, pairwise
from pathlib import Path

import psutil
import pytest

from linkladder import host, reservation, tools, wire
from linkladder.agent import Service, answering, processes, targets
from linkladder.agent.targets import Caller
from linkladder.engine import ports as drawing
from linkladder.model import End, Experiment
from linkladder.tools import Layout
from world import wait_for

HERE, KEY = "127.0.0.1", "0123456789abcdef" * 2


async def test_a_tool_ends_after_its_time_whoever_forgot_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "OVERTIME", 0.2)
    end = Service(lambda event: None)
    child = await end._start(["sleep", "60"], Experiment("e", warmup=0, duration=0.1))
    finished = await child.finished()
    assert finished.exit_code
    await end.close()


async def test_so_many_tools_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST", 3)
    end = Service(lambda event: None)
    for _ in range(3):
        await end._start(["sleep", "60"], Experiment("e"))
    with pytest.raises(wire.Refused, match="3 tools run here already"):
        await end._start(["sleep", "60"], Experiment("e"))
    await end.close()


@pytest.mark.parametrize("field", [{"duration": 8 * 86400.0}, {"udp_rate_bps": 2e12}, {"streams": 129}])
def test_a_trial_has_an_end_a_rate_and_a_number_of_streams(field: dict[str, float]) -> None:
    with pytest.raises(wire.Refused, match=next(iter(field))):
        wire.Serve(Experiment("e", **field), "127.0.0.1", 5301, "127.0.0.1", "0" * 32).check()


def test_ports_are_drawn_and_rest_after_use() -> None:
    first, second = (list(islice(drawing.ports(), 1000)) for _ in range(2))
    assert set(first) == set(wire.PORTS)
    assert first != second and first[:20] != sorted(first[:20])
    for place, port in enumerate(first):
        assert port not in first[max(0, place - drawing.APART) : place]


async def test_nobody_is_flooded_with_knocks(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One silent address may be knocked at again and again: a peer had hundreds of SYNs a second sent to a stranger."""
    sent: list[float] = []

    async def probe(*_: object) -> tuple[str, str]:
        sent.append(time.monotonic())
        return "refused", ""

    monkeypatch.setattr(answering, "probe", probe)
    end, knock = Service(lambda event: None, Caller.PEER, "eve"), wire.Probe(HERE, "198.51.100.1", 5301, KEY)
    try:
        await end.do(wire.Reserve("eve"))
        await asyncio.gather(*(end.do(knock) for _ in range(6)))
        assert all(later - before >= 0.9 * targets.APART for before, later in pairwise(sent)), sent
        monkeypatch.setattr(targets, "APART", 3600.0)
        end.targets.met("198.51.100.1")
        await asyncio.gather(*(end.do(knock) for _ in range(6)))  # who answers is waited for no longer
        assert len(sent) == 12
    finally:
        await end.close()


async def test_what_was_reserved_is_free_only_once_its_tools_have_ended() -> None:
    """A load that its run does not stop, one that is just being started, and a listener: release ends them all."""
    first, second = (Service(lambda event: None) for _ in range(2))
    await first.do(wire.Reserve("first"))
    exp = Experiment("e", duration=60.0)
    server = await first.do(wire.Serve(exp, HERE, 5356, HERE, KEY))
    where = Layout(End.FAR, End.NEAR, protocol_port="tcp")
    client = await first.do(wire.RunClient(exp, where, HERE, HERE, 5356, 0, KEY))
    await first.do(wire.Listen(HERE, 5355, HERE, KEY))
    running = [first.children[one.process].process.pid for one in (server, client)]
    in_3_s = wire.RunClient(exp, where, HERE, HERE, 5356, 0, KEY, time.monotonic() + 3)
    starting = asyncio.create_task(first.do(in_3_s))
    while len(first.children) < 3:
        await asyncio.sleep(0.01)
    running += [child.process.pid for child in first.children._running.values()]

    release = asyncio.create_task(first.do(wire.Release()))
    while not release.done():
        if any(map(lives, running)):
            with pytest.raises(wire.Refused, match="busy: first"):
                await second.do(wire.Reserve("second"))
        await asyncio.sleep(0.01)
    await release
    await second.do(wire.Reserve("second"))
    assert not any(map(lives, running))
    assert not any(host.listening(port, False, HERE) for port in (5355, 5356))
    await asyncio.wait([starting])
    with pytest.raises(wire.Refused, match="reserve this appliance first"):
        await first.do(wire.Serve(exp, HERE, 5356, HERE, KEY))
    for end in (first, second):
        await end.close()


async def test_a_request_under_way_starts_nothing_after_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Service(lambda event: None)
    await end.do(wire.Reserve("run"))
    go_on = asyncio.Event()

    async def versions() -> tools.ToolVersions:
        await go_on.wait()
        return tools.ToolVersions(await end._versions(), host.system())

    monkeypatch.setattr(end, "_tool_versions", versions)
    late = asyncio.create_task(end.do(wire.Serve(Experiment("e"), HERE, 5356, HERE, KEY)))
    await asyncio.sleep(0)
    release = asyncio.create_task(end.do(wire.Release()))
    await asyncio.sleep(0)
    assert end.lock.held
    go_on.set()
    await release
    with pytest.raises(wire.Refused, match="reservation of this appliance is over"):
        await late
    assert not end.children and not end.lock.held
    await end.close()


def test_a_killed_agent_frees_its_appliance_only_once_its_tools_are_ended(own_state: Path) -> None:
    """What outlives it holds the reservation, ends the tools, and then does what was to be done at the end."""
    done = own_state / "ports-closed"
    script = f"""
import asyncio, os, signal
from linkladder import wire
from linkladder.agent import Service
from linkladder.model import Experiment
async def main():
    end = Service(lambda event: None)
    await end.do(wire.Reserve("run"))
    child = await end._start(["sleep", "60"], Experiment("e"))
    end.children.at_end(["/usr/bin/touch", "{done}"])
    os.kill(end.children._reaper._process.pid, signal.SIGSTOP)
    print(child.process.pid, end.children._reaper._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    killed = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert killed.stdout
    tool, reaper = map(int, killed.stdout.readline().split())
    try:
        assert killed.wait(10) == -signal.SIGKILL
        assert reservation.holder() == "run" and not done.exists()
    finally:
        os.kill(reaper, signal.SIGCONT)
        killed.stdout.close()
    wait_for(lambda: not reservation.holder(), 10, "it is reserved still")
    assert done.exists() and not lives(tool)


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
