"""What is given up half-way keeps nothing: no process, no channel, no socket, no lock, no file."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from linkladder import host, privilege, settings, state, wire
from linkladder.agent import Service
from linkladder.engine.far_ends import FarEnds
from linkladder.model import End, Experiment
from linkladder.peer import FarEnd
from linkladder.settings.journal import Journal, Record
from linkladder.tools import Layout

KEY = "0123456789abcdef" * 2
HELLO = wire.HelloReply(wire.PROTOCOL, "", "alpha", "", {}, (), None, 1)
ANSWERS = (  # so many questions are answered, and the last one that came is told in a file
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    number, verb = json.loads(line)['id'], json.loads(line)['verb']\n"
    "    open(sys.argv[1], 'w').write(verb)\n"
    f"    reply = {wire.answer(0, HELLO).decode()!r} if verb == 'hello' else '{{\"id\": 0, \"ok\": null}}\\n'\n"
    "    if verb not in sys.argv[2:]:\n"
    "        print(json.dumps({**json.loads(reply), 'id': number}), flush=True)\n"
)


class Near:
    """The end that coordinates."""

    name, hello = "alpha", HELLO


@pytest.mark.parametrize("silent", ["reserve", "facts"])
async def test_a_peer_that_is_given_up_while_it_is_asked_keeps_no_channel(silent: str, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    opened: list[FarEnd] = []

    async def connect(name: str, near: wire.HelloReply) -> FarEnd:
        opened.append(await FarEnd.open(name, [sys.executable, "-c", ANSWERS, str(heard), silent]))
        return opened[-1]

    far_ends = FarEnds(Near(), connect, (), lambda _: None, lambda: None, lambda *_: None)
    work = asyncio.create_task(far_ends.reserve(["beta"]))
    while not heard.exists() or heard.read_text() != silent:
        await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert opened[0].exit_code is not None


async def test_a_channel_whose_end_is_not_waited_for_is_gone_as_well() -> None:
    far = await FarEnd.open(
        "beta",
        [sys.executable, "-c", f"print({wire.answer(1, HELLO).decode()!r}, flush=True); import time; time.sleep(60)"],
    )
    pid = far._process.pid
    closing = asyncio.create_task(far.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    async with asyncio.timeout(20):
        while os.path.exists(f"/proc/{pid}"):
            await asyncio.sleep(0.01)
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_a_question_that_is_given_up_as_its_answer_comes_is_given_up(tmp_path: Path) -> None:
    """Else an operator's order to end a trial would be lost, and the trial go on."""
    far = await FarEnd.open("beta", [sys.executable, "-c", ANSWERS, str(tmp_path / "heard")])
    asking = asyncio.create_task(far.ask(wire.Reserve("alpha")))
    while not (waited := [one for one in far._waiting.values() if one.done()]):
        await asyncio.sleep(0)
    assert waited and asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await far.close()


STUBBORN = """#!/bin/sh
case "$1" in -v) echo "iperf version 2.1.8 (5 August 2022) pthreads"; exit;; esac
trap 'echo . >> "{told}"' TERM INT
while :; do sleep 0.1; done
"""


def test_an_agent_that_is_told_twice_to_end_ends_all_that_it_began(own_state: Path, tmp_path: Path) -> None:
    """sshd hangs up, and whoever ends a peer's sessions sends a signal as well."""
    told = tmp_path / "told"
    tool = tmp_path / "iperf"
    tool.write_text(STUBBORN.format(told=told))
    tool.chmod(0o755)
    environment = {**os.environ, "LINKLADDER_TOOLS_PATH": str(tmp_path)}
    agent = subprocess.Popen(
        [sys.executable, "-m", "linkladder", "agent", "--near"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert agent.stdin and agent.stdout
    layout = Layout(End.FAR, End.NEAR, protocol_port="tcp")
    client = wire.RunClient(Experiment("e"), layout, "127.0.0.1", "127.0.0.1", 5301, 0, KEY)
    for number, request in enumerate((wire.Reserve("test"), client), 1):
        agent.stdin.write(wire.question(number, request))
        agent.stdin.flush()
        assert b'"ok"' in agent.stdout.readline()
    agent.send_signal(signal.SIGTERM)
    while not told.exists():
        time.sleep(0.01)
    agent.send_signal(signal.SIGTERM)
    agent.communicate()
    assert agent.returncode == 0


@pytest.mark.parametrize("moment", range(4))
async def test_a_reservation_that_is_given_up_while_settings_are_looked_at_is_free(
    moment: int, own_state: Path
) -> None:
    journal = Journal(state.measuring())
    assert journal.lock()
    journal.write(Record("", ()))
    service = Service(lambda event: None)
    work = asyncio.create_task(service.do(wire.Reserve("test")))
    while not service.lock.held:
        await asyncio.sleep(0)
    for _ in range(moment):
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not service.lock.held
    journal.unlock()


SLOW_UNDO = "import os, socket, sys; open(sys.argv[1], 'w').write(str(os.getpid())); s = socket.socket(fileno=0); "


@pytest.mark.parametrize("moment", range(6))
async def test_an_undo_that_is_given_up_while_it_ends_lets_go_of_the_loans(
    moment: int, own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold the lock of the loans until it ends, and ends once nobody is at the other end of its socket."""
    started = tmp_path / "started"
    script = f"{SLOW_UNDO}s.sendall(b'armed\\n'); [0 for _ in iter(lambda: s.recv(1 << 16), b'')]"
    monkeypatch.setattr(privilege, "command", lambda verb: [sys.executable, "-c", script, str(started)])
    monkeypatch.setattr(privilege, "run", changed)
    monkeypatch.setattr(host, "setting", lambda kind, target: "1500")
    undo = settings.Undo(60)
    lease = settings.Lease([settings.mtu("vmx1", 1500)], undo)
    await lease.acquire()
    watching = undo._watching
    assert watching
    work = asyncio.create_task(lease.release())
    while not watching.cancelling():
        await asyncio.sleep(0)
    for _ in range(moment):
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])
    async with asyncio.timeout(20):
        while Journal(state.measuring()).lent() or os.path.exists(f"/proc/{started.read_text()}"):
            await asyncio.sleep(0.01)


async def changed(verb: str, *words: str) -> privilege.Completed:
    return privilege.Completed(0, "", "")


@pytest.mark.parametrize("at", [0.0, 0.2])
async def test_a_tool_that_is_starting_when_its_trial_is_cancelled_ends_too(
    at: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would know of it, and it would load the path beside the next trial."""
    tool = tmp_path / "iperf"
    tool.write_text(STUBBORN.format(told=tmp_path / "told"))
    tool.chmod(0o755)
    monkeypatch.setenv("LINKLADDER_TOOLS_PATH", str(tmp_path))
    service, starting = Service(lambda event: None), asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def noted(*argv: Any, **options: Any) -> Any:
        starting.set()
        return await start(*argv, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    await service.do(wire.Reserve("test"))
    layout = Layout(End.FAR, End.NEAR, protocol_port="tcp")
    client = wire.RunClient(
        Experiment("e"), layout, "127.0.0.1", "127.0.0.1", 5301, 0, KEY, at and time.monotonic() + at
    )
    work = asyncio.create_task(service.do(client))
    await starting.wait()
    await service.do(wire.Cancel())
    with pytest.raises(wire.Refused, match=r"is over|was cancelled"):
        await work
    assert not service.children
    await service.close()
