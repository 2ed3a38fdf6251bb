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

import linkladder
from linkladder import host, privilege, settings, state, wire
from linkladder.agent import Service, firewall
from linkladder.engine import Controls
from linkladder.engine.far_ends import FarEnds
from linkladder.engine.leg import RunningLeg
from linkladder.engine.route import Route, Side
from linkladder.events import Event, TrialStarted
from linkladder.model import End, Experiment, Plan, Protocol, Rung, RungName, RunState
from linkladder.model import Path as Way
from linkladder.peer import FarEnd
from linkladder.run import process
from linkladder.run.lock import locked
from linkladder.settings.journal import Journal, Record
from linkladder.store import Store
from linkladder.tools import Layout

KEY = "0123456789abcdef" * 2
ECHO = Experiment("round-trip", "ping", Protocol.ECHO, count=100, interval=1.0)
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

    async def connect(name: str) -> FarEnd:
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
trap '{told}' TERM INT
echo up
while :; do sleep 0.1; done
"""


def test_an_agent_that_is_told_twice_to_end_ends_all_that_it_began(own_state: Path, tmp_path: Path) -> None:
    """sshd hangs up, and whoever ends a peer's sessions sends a signal as well."""
    tool = tmp_path / "iperf"
    tool.write_text(STUBBORN.format(told="kill -TERM $PPID"))
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
    assert b'"up"' in agent.stdout.readline()
    agent.send_signal(signal.SIGTERM)  # while the tool is asked to end, it sends another one
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
    tool.write_text(STUBBORN.format(told=":"))
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


async def test_ports_whose_opening_was_given_up_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper may have opened them by then."""
    asked: list[str] = []

    async def run(verb: str, *words: str) -> privilege.Completed:
        asked.append(verb)
        await asyncio.sleep(0 if verb == "trial-close" else 3600)
        return privilege.Completed(0, "", "")

    monkeypatch.setattr(firewall, "active", lambda: True)
    monkeypatch.setattr(firewall.host, "interface_of", lambda address: "lo")
    monkeypatch.setattr(firewall.privilege, "run", run)
    monkeypatch.setattr(firewall, "LINGER", 0.0)
    made = firewall.Firewall(lambda argv: None)
    work = asyncio.create_task(made.open("10.94.0.1", "10.94.0.2"))
    while not asked:
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])
    made.trial_over()
    async with asyncio.timeout(20):
        while asked[-1] != "trial-close":
            await asyncio.sleep(0)


class Starts:
    """An end at which the first client is refused before the second one has started."""

    lost = False

    def __init__(self) -> None:
        self.refused = asyncio.Event()
        self.hello = HELLO

    async def ask(self, request: Any) -> Any:
        if request.index == 0:
            self.refused.set()
            raise wire.Refused("no room")
        await self.refused.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        return wire.Started(7, ("iperf",), 0.0)


async def test_a_client_that_starts_while_another_is_refused_is_known_to_its_trial() -> None:
    """Else it would not be ended with the others."""
    side = Side(0, Starts(), "near", "127.0.0.1", "")  # type: ignore[arg-type]
    leg = RunningLeg(Experiment("e"), Route(Way("127.0.0.1", "127.0.0.1", ""), side, side), 0, 5301, KEY, {})
    leg.layout = Layout(End.FAR, End.NEAR, clients=2, protocol_port="tcp")
    with pytest.raises(wire.Refused, match="no room"):
        await leg.run({})
    assert [process.number for process in leg.processes] == [7]


async def test_a_run_whose_watcher_fails_has_ended_before_its_ends_are_closed(own_state: Path) -> None:
    plan = Plan("p", rungs=(Rung(RungName.LOCALHOST, (Way("127.0.0.1", "127.0.0.1", ""),), (ECHO,)),))

    def tell(event: Event, at: float, controls: Controls) -> None:
        if isinstance(event, TrialStarted):
            raise BrokenPipeError("nobody reads on")

    with locked(own_state) as lock, pytest.raises(BrokenPipeError):
        await process.measure(lock, plan, tell=tell)
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    store = Store(own_state)
    assert [run.state for run in store.runs()] == [RunState.INCOMPLETE]
    store.close()


def test_no_wait_with_a_limit_loses_a_cancellation() -> None:
    """In Python 3.11 wait_for returns what came in the moment of a cancellation, and the cancellation is forgotten."""
    sources = Path(linkladder.__file__).parent.rglob("*.py")
    assert not [source for source in sources if "wait_for(" in source.read_text(encoding="utf-8")]
