"""A run calls its peer before it has imported what it needs itself, and nobody stays called for nothing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as File

import pytest

from linkladder import cli, wire
from linkladder import plan as plans
from linkladder.commands import early_call, measuring
from linkladder.peer import connector, ends
from linkladder.peer.piped import Piped
from linkladder.run import process
from linkladder.trust import calling, peers

HELLO = wire.answer(1, wire.HelloReply(wire.PROTOCOL, "", "beta", "", {}, (), None, 1)).decode()
AGENT = f"import sys; sys.stdin.readline(); print({HELLO!r}, end='', flush=True); sys.stdin.read()"
ALONE = 'name = "here"\n[[experiment]]\nrungs = ["localhost"]\n'
PEER = peers.Peer("beta", ("192.0.2.1", "192.0.2.2"), "", "")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[peers.Peer]:
    """The paired appliances; each is reached by a program that answers as an agent does."""
    paired = [PEER]
    monkeypatch.setattr(calling.peers, "load", lambda: tuple(paired))
    monkeypatch.setattr(calling.peers, "ssh_command", lambda peer, address=None: [sys.executable, "-c", AGENT])
    return paired


def channel(call: calling.Call | None) -> subprocess.Popen[bytes]:
    assert call
    found = call.taken(call.name, call.address)
    assert found
    return found


def is_there(program: subprocess.Popen[bytes]) -> bool:
    return program.poll() is None


def test_the_only_peer_is_called_or_the_one_that_is_named(known: list[peers.Peer]) -> None:
    for name in ("", "beta"):
        call = calling.call(name)
        assert call and (call.name, call.address) == ("beta", "192.0.2.1")
        call.end()
    assert calling.call("gamma") is None
    known.append(peers.Peer("gamma", ("192.0.2.3",), "", ""))
    assert calling.call() is None  # the plan says which of them
    call = calling.call("gamma")
    assert call and call.name == "gamma"
    call.end()
    known[:] = [peers.Peer("far", (), "", "")]
    assert calling.call() is None


def test_whoever_is_called_for_nothing_is_hung_up_on(known: list[peers.Peer]) -> None:
    call = calling.call()
    assert call and call._channel
    program = call._channel
    assert is_there(program)
    call.end()
    assert not is_there(program) and program.stdout and program.stdout.closed
    assert call.taken("beta", "192.0.2.1") is None
    call.end()  # once more is no fault


def test_only_who_wants_this_peer_at_this_address_takes_the_call_and_only_once(known: list[peers.Peer]) -> None:
    call = calling.call()
    assert call
    assert call.taken("beta", "192.0.2.2") is None and call.taken("gamma", "192.0.2.1") is None
    program = call.taken("beta", "192.0.2.1")
    assert program and call.taken("beta", "192.0.2.1") is None
    call.end()
    assert is_there(program)  # it is the taker's now
    program.kill()
    program.communicate()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["run"], ""),
        (["run", "--plan", "quick", "--peer", "beta", "--json", "-"], "beta"),
        (["tune", "--rung", "same-host", "--rung", "localhost", "--peer=gamma"], "gamma"),
        (["run", "--rung", "localhost"], None),
        (["run", "--dry-run"], None),
        (["run", "--resume", "2026"], None),
        (["run", "--follow-up", "2026"], None),
        (["run", "-h"], None),
        (["run", "--peer"], None),
    ],
)
def test_a_run_calls_whom_its_arguments_need(
    arguments: list[str], name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(early_call, "call", lambda who: asked.append(who))
    with early_call.called(arguments):
        pass
    assert asked == ([] if name is None else [name])


@pytest.mark.parametrize("command", [*cli.GROUPS["linkladder.commands.measuring"], "runs", "peers"])
def test_whatever_measures_calls_and_hangs_up_however_it_ends(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: File
) -> None:
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    open_calls: list[str] = []

    @contextmanager
    def called(arguments: list[str]) -> Iterator[None]:
        open_calls.append(arguments[0])
        try:
            yield
        finally:
            open_calls.append("over")

    monkeypatch.setattr(early_call, "called", called)
    with pytest.raises(SystemExit):
        cli.main([command, "--no-such-option"])
    assert open_calls == ([command, "over"] if command in cli.MEASURING else [])


def test_the_call_reaches_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: File, known: list[peers.Peer]) -> None:
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    seen: list[subprocess.Popen[bytes]] = []

    def measure(*_: object, called: calling.Call | None, **__: object) -> None:
        seen.append(channel(called))
        raise measuring.UsageError("it is enough")

    monkeypatch.setattr(measuring.process, "measure", measure)
    assert cli.main(["run", "--plan", "quick", "--quiet"]) == 2
    assert is_there(seen[0])
    seen[0].kill()
    seen[0].communicate()


async def test_the_connector_goes_on_with_the_call(known: list[peers.Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector.peers, "find", lambda name: PEER)
    monkeypatch.setattr(ends, "start", lambda argv: pytest.fail("a second channel was opened"))
    call = calling.call()
    assert call and call._channel
    program = call._channel
    far = await connector.Connector(called=call)("beta")
    assert far.hello.name == "beta" and far.address == "192.0.2.1" and is_there(program)
    await far.close()
    assert not is_there(program)


async def test_a_call_at_an_address_that_is_not_chosen_is_hung_up_on_before_the_run(
    known: list[peers.Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would go on beside the tests, over a card that they may load."""
    monkeypatch.setattr(connector.peers, "find", lambda name: PEER)
    monkeypatch.setattr(connector, "in_order", lambda *_: iter(("192.0.2.2",)))
    call = calling.call()
    assert call and call._channel
    program = call._channel
    far = await connector.Connector(called=call)("beta")
    assert far.address == "192.0.2.2" and not is_there(program)
    await far.close()


async def test_a_plan_without_the_peer_that_was_called_hangs_up_on_it(known: list[peers.Peer]) -> None:
    call = calling.call()
    assert call and call._channel
    program = call._channel
    async with process._peers(plans.read_plan(ALONE), call, call=True):
        assert not is_there(program)


async def test_a_call_that_fails_is_explained_as_any_channel_that_fails() -> None:
    program = calling.start([sys.executable, "-c", "raise SystemExit('Connection refused')"])
    with pytest.raises(ends.PeerLost, match="Connection refused"):
        await ends.FarEnd.open("beta", [], begun=program)


async def test_a_program_in_pipes_is_read_written_and_waited_for() -> None:
    echo = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)\nsys.stderr.write('bye')"
    piped = await Piped.over(calling.start([sys.executable, "-c", echo]), 1 << 20)
    long = b"x" * 300_000 + b"\n"  # more than a pipe holds
    piped.stdin.write(long)
    reading = asyncio.create_task(piped.stdout.readline())
    await piped.stdin.drain()
    assert await reading == long.upper() and piped.returncode is None
    piped.stdin.close()
    assert await piped.wait() == 0 and piped.returncode == 0
    assert await piped.stderr.read() == b"bye" and await piped.stdout.read() == b""


async def test_pipes_are_closed_although_a_child_that_the_program_left_still_holds_them() -> None:
    leaves = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
    before = len(os.listdir("/dev/fd"))
    piped = await Piped.over(calling.start([sys.executable, "-c", leaves]), 1 << 20)
    child = int(await piped.stdout.readline())
    try:
        piped.kill()
        assert await piped.wait() == -9
        piped.close()
        await asyncio.sleep(0)
        assert len(os.listdir("/dev/fd")) == before
    finally:
        os.kill(child, 9)


async def test_a_program_that_nobody_can_take_up_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    program = calling.start([sys.executable, "-c", AGENT])
    loop = asyncio.get_running_loop()

    async def fails(*_: object) -> None:
        raise OSError("no more files")

    monkeypatch.setattr(loop, "connect_write_pipe", fails)
    with pytest.raises(OSError, match="no more files"):
        await Piped.over(program, 1 << 20)
    until = time.monotonic() + 5
    while is_there(program) and time.monotonic() < until:
        await asyncio.sleep(0.01)
    assert program.returncode == -9
