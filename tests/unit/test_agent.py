"""The agent's own promises: hostile requests are refused by name, and no tool outlives it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import typing
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder import wire
from linkladder.agent import Service, answering, sampling
from linkladder.agent.probing import COORDINATES, SERVES, ProbeListener, probe
from linkladder.agent.processes import GRACE, Children
from linkladder.agent.sampling import Samples
from linkladder.codec import to_json
from linkladder.model import Bundle, End, Experiment, Member
from linkladder.tools import Layout

EXP = to_json(Experiment("e"))
LAYOUT = to_json(Layout(End.FAR, End.NEAR, protocol_port="tcp"))
CLIENT = {"experiment": EXP, "layout": LAYOUT, "local": "127.0.0.1", "remote": "127.0.0.1", "port": 5301}
CLIENT["key"] = "0123456789abcdef" * 2

HOSTILE = [
    ("client", {**CLIENT, "remote": "-h"}, "remote"),
    ("client", {**CLIENT, "remote": "10.0.0.1 -o /etc/passwd"}, "remote"),
    ("client", {**CLIENT, "remote": "10.0.0.1\n-P 9"}, "remote"),
    ("client", {**CLIENT, "remote": "224.0.0.1"}, "remote"),
    ("client", {**CLIENT, "local": "$(reboot)"}, "local"),
    ("client", {**CLIENT, "port": 0}, "port"),
    ("client", {**CLIENT, "port": 65536}, "port"),
    ("client", {**CLIENT, "port": 22}, "port"),
    ("client", {**CLIENT, "port": "5301"}, "port"),
    ("client", {**CLIENT, "index": -1}, "index"),
    ("client", {**CLIENT, "experiment": {**EXP, "streams": 100000}}, "streams"),
    ("client", {**CLIENT, "experiment": {**EXP, "duration": 1e300}}, "duration"),
    ("client", {**CLIENT, "experiment": {**EXP, "window": -1}}, "window"),
    ("client", {**CLIENT, "experiment": {**EXP, "tool": "/bin/sh"}}, "tool"),
    ("client", {**CLIENT, "experiment": {**EXP, "id": "x\ny"}}, "experiment.id"),
    ("client", {**CLIENT, "experiment": {**EXP, "argv": ["sh"]}}, "unknown key 'argv'"),
    ("serve", {"experiment": EXP, "bind": "0.0.0.0", "port": 5301, "peer": "127.0.0.1", "key": "0" * 32}, "bind"),
    ("serve", {"experiment": EXP, "bind": "127.0.0.1", "port": 5301, "peer": "224.0.0.1", "key": "0" * 32}, "peer"),
    ("listen", {"address": "127.0.0.1", "port": 5301, "peer": "127.0.0.1", "key": "0" * 31}, "key"),
    ("stop", {"process": 2**40}, "process"),
    ("reserve", {"holder": "x" * 10_000}, "holder"),
    ("counters", {"address": "127.0.0.1", "interface": "../../etc"}, "interface"),
    ("hello", {"protocol": 1, "version": "1", "name": "a\x1b[2J"}, "name"),
    ("hello", {"protocol": 1, "version": "1", "name": "a", "addresses": ["1.2.3.4"]}, "addresses"),
    ("__class__", {}, "unknown verb"),
    ("do_client", {}, "unknown verb"),
    (["client"], {}, "unknown verb"),
    (None, None, "unknown verb"),
]


@pytest.mark.parametrize(("verb", "args", "named"), HOSTILE)
def test_hostile_values_are_refused_by_name(verb: Any, args: Any, named: str) -> None:
    with pytest.raises(wire.Refused, match=named.replace(".", r"\.")):
        wire.request_of(verb, args)


@given(st.binary(max_size=200))
def test_no_line_breaks_the_decoder(line: bytes) -> None:
    with contextlib.suppress(wire.WireError):
        assert isinstance(wire.read_question(line), wire.Question)


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b'{"id": NaN}', b"{" * 5000 + b"}" * 5000, b"\xff\xfe", b"null", b"7"]
)
def test_lines_that_are_none(line: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.read_question(line)


async def test_a_line_above_the_limit_is_passed_over() -> None:
    reader = asyncio.StreamReader(limit=1024)
    reader.feed_data(b"x" * 10_000 + b"\n" + b'{"id":1}\n')
    reader.feed_eof()
    assert [line async for line in wire.read_lines(reader, 1024)] == [None, b'{"id":1}\n']


KEY = "0123456789abcdef" * 2


async def test_test_traffic_goes_only_where_a_nonce_was_answered() -> None:
    service = Service(lambda event: None)
    await service.do(wire.Reserve("test"))
    with pytest.raises(wire.Refused, match=r"192\.0\.2\.8 has not shown in this run that it takes part"):
        await service.do(wire.request_of("client", {**CLIENT, "remote": "192.0.2.8"}))
    for request in (
        wire.Listen("192.0.2.9", 5301, "127.0.0.1", KEY),
        wire.Probe("192.0.2.9", "127.0.0.1", 5301, KEY),
        wire.Serve(Experiment("e"), "192.0.2.9", 5301, "127.0.0.1", KEY),
        wire.request_of("client", {**CLIENT, "local": "192.0.2.9"}),
    ):
        with pytest.raises(wire.Refused, match=r"192\.0\.2\.9 is not an address of this appliance"):
            await service.do(request)
    await service.close()


async def test_a_server_is_looked_for_once_more_where_a_look_takes_longer_than_it_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answering, "LISTEN_WAIT", 0.05)
    looks = [False, True]

    def look(port: int, udp: bool, address: str) -> bool:
        time.sleep(0.1)
        return looks.pop(0)

    monkeypatch.setattr(answering.host, "listening", look)
    service = Service(lambda event: None)
    child = await service.children.start(["sleep", "60"])
    await service._until_listening(child, 5301, False, "127.0.0.1")
    looks[:] = [False] * 100
    with pytest.raises(wire.Refused, match=r"did not listen within 0\.05 s"):
        await service._until_listening(child, 5301, False, "127.0.0.1")
    assert child.done.done()
    await service.close()


async def test_looks_that_a_starved_machine_missed_are_not_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten in a hundredth of a second tell no rate, and take what the machine has not got."""
    clock = [0.0]
    taken: list[float] = []

    class Over(Exception):
        pass

    def look() -> None:
        taken.append(round(clock[0], 2))
        if len(taken) == 3:
            clock[0] += 1.07  # starved
        if len(taken) == 6:
            raise Over

    class Loop:
        """It calls back at once, when the clock has come so far."""

        def call_later(self, seconds: float, back: Callable[[], None]) -> None:
            clock[0] += seconds
            back()

    monkeypatch.setattr(sampling, "time", SimpleNamespace(monotonic=lambda: clock[0], process_time=lambda: 0.0))
    monkeypatch.setattr(sampling, "asyncio", SimpleNamespace(get_running_loop=Loop))
    samples = Samples(lambda event: None)
    monkeypatch.setattr(samples, "_send", look)
    with pytest.raises(Over):
        samples.begin(wire.Sampling(True, 0.1))
    assert taken == [0.1, 0.2, 0.3, 1.4, 1.5, 1.6]


async def test_one_run_at_a_time_and_busy_names_the_holder() -> None:
    first, second = (Service(lambda event: None) for _ in range(2))
    await first.do(wire.Reserve("alpha, run 1"))
    with pytest.raises(wire.Refused, match="busy: alpha, run 1") as refused:
        await second.do(wire.Reserve("gamma"))
    told = wire.read_answer(wire.refusal(7, str(refused.value), refused.value.holder))
    assert isinstance(told, wire.Answer) and (told.number, told.holder) == (7, "alpha, run 1")
    await first.do(wire.Release())
    await second.do(wire.Reserve("gamma"))
    await first.close()
    await second.close()


@pytest.mark.parametrize("udp", [False, True])
async def test_open_and_refused_are_told_apart(udp: bool) -> None:
    key, met = bytes.fromhex(KEY), list[tuple[str, bytes]]()

    async def knock(key: bytes, role: bytes = COORDINATES, welcome: bytes = SERVES) -> tuple[str, str]:
        return await probe("127.0.0.1", "127.0.0.1", 5399, udp, key, role, lambda one: one == welcome)

    def take(address: str, role: bytes) -> bool:
        met.append((address, role))
        return role == COORDINATES

    assert (await knock(key))[0] == "refused"
    listener = await ProbeListener.open("127.0.0.1", 5399, udp, key, SERVES, take)
    assert await knock(bytes(16)) == ("filtered", "something else listens on this port")
    assert await knock(key, welcome=COORDINATES) == (
        "filtered",
        "it serves this run as well, and no introductions are taken here",
    )
    assert met == []
    assert await knock(key) == ("open", "")
    assert met == [("127.0.0.1", COORDINATES)]
    await listener.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as sock:
        sock.bind(("127.0.0.1", 5399))  # free again at once, without any waiting state


@pytest.mark.parametrize("udp", [False, True])
async def test_who_has_the_key_but_is_not_welcome_is_not_let_in(udp: bool) -> None:
    key, asked = bytes.fromhex(KEY), list[tuple[str, bytes]]()
    listener = await ProbeListener.open("127.0.0.1", 5397, udp, key, SERVES, lambda *who: asked.append(who) is not None)
    seen = await probe("127.0.0.1", "127.0.0.1", 5397, udp, key, SERVES, lambda role: True)
    assert seen[0] == "filtered" and set(asked) == {("127.0.0.1", SERVES)}
    await listener.close()


async def test_a_server_on_a_taken_port_says_so() -> None:
    listener = await ProbeListener.open("127.0.0.1", 5398, False, bytes.fromhex(KEY), SERVES, lambda *who: True)
    service = Service(lambda event: None)
    await service.do(wire.Reserve("test"))
    with pytest.raises(wire.Refused, match=r"port 5398 of 127\.0\.0\.1 cannot be opened"):
        await service.do(wire.Listen("127.0.0.1", 5398, "127.0.0.1", KEY))
    await listener.close()
    await service.close()


def running(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (
                    marker.encode() in (entry / "cmdline").read_bytes()
                    and (entry / "stat").read_text().split()[2] != "Z"
                ):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


FORKS = "import os, time; os.fork(); time.sleep({0})"


async def test_children_and_their_children_end_with_stop() -> None:
    marker = "4711.5"
    children = Children(lambda event: None)
    child = await children.start([sys.executable, "-c", FORKS.format(marker)])
    async with asyncio.timeout(30):
        while len(running(marker)) < 2:
            await asyncio.sleep(0.02)
    await children.stop(child.number)
    assert running(marker) == []
    await children.close()


async def test_a_child_that_ignores_the_asking_is_killed() -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(4712.5)"
    lines: list[Any] = []
    children = Children(lines.append)
    child = await children.start([sys.executable, "-c", code])
    while not lines:
        await asyncio.sleep(0.02)
    finished = await children.stop(child.number)
    assert finished.hung and finished.exit_code == -signal.SIGKILL and GRACE <= 1.0
    await children.close()


async def test_a_machine_that_stands_still_for_a_moment_lets_go_of_no_child_that_ended() -> None:
    """Its end and the end of the grace are then seen in the same breath."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(4712.7)"
    lines: list[Any] = []
    children = Children(lines.append)
    child = await children.start([sys.executable, "-c", code])
    while not lines:
        await asyncio.sleep(0.02)
    kill = child._signal

    def stands_still(number: signal.Signals) -> None:
        kill(number)
        if number is signal.SIGKILL and child.process.returncode is None:
            asyncio.get_running_loop().call_soon(time.sleep, 1.5 * GRACE)

    child._signal = stands_still  # type: ignore[method-assign]
    finished = await children.stop(child.number)
    assert finished.hung and finished.exit_code == -signal.SIGKILL
    await children.close()


@pytest.mark.skipif(not shutil.which("iperf"), reason="needs iperf")
async def test_an_iperf_server_that_is_told_twice_ends_at_once() -> None:
    lines: list[Any] = []
    children = Children(lines.append)
    child = await children.start(["/usr/bin/env", "iperf", "-s", "-B", "127.0.0.1", "-p", "5399"])
    while not lines:
        await asyncio.sleep(0.02)
    finished = await children.stop(child.number, at_once=True)
    assert not finished.hung and finished.exit_code == 0, finished
    await children.close()


OWNER = """
import asyncio, sys
from linkladder.agent.processes import Children
async def main():
    children = Children(lambda event: None)
    await children.start([sys.executable, "-c", {code!r}])
    print("up", flush=True)
    await asyncio.sleep(100)
asyncio.run(main())
"""


def test_kill_9_of_the_owner_leaves_no_orphan() -> None:
    marker = "4713.5"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(code=FORKS.format(marker))], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout and owner.stdout.readline() == "up\n"
    deadline = time.monotonic() + 30
    while len([p for p in running(marker) if p != owner.pid]) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    while running(marker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running(marker) == []


def test_output_is_capped_and_foreign_bytes_survive() -> None:
    async def go() -> wire.Finished:
        children = Children(lambda event: None)
        child = await children.start([sys.executable, "-c", "import os; os.write(1, b'\\xff\\x00ok\\n' * 3)"])
        await child.done
        finished = await children.stop(child.number)
        await children.close()
        return finished

    finished = asyncio.run(go())
    assert finished.output.count("ok") == 3
    json.dumps(to_json(finished))


@pytest.mark.parametrize("request_type", wire.VERBS.values(), ids=wire.VERBS)
def test_every_request_has_a_method_that_takes_it_and_returns_its_reply(request_type: type[wire.Request[Any]]) -> None:
    hints = typing.get_type_hints(getattr(Service, f"do_{request_type.verb}"))
    promised = hints.pop("return")
    assert promised is request_type.reply and list(hints.values()) == [request_type]


async def test_whether_a_card_is_a_bundle_is_looked_up_once_until_settings_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    asked: list[str] = []
    bundles: dict[str, Bundle] = {}

    def bundle(name: str) -> Bundle | None:
        asked.append(name)
        return bundles.get(name)

    monkeypatch.setattr(answering.host, "bundle", bundle)
    service = Service(lambda event: None)
    try:
        await service.do(wire.Reserve("a test"))
        for _ in range(3):
            await service.do(wire.Counters("127.0.0.1"))
        assert asked == ["lo"]
        bundles["lo"] = Bundle("lacp", members=(Member("lo"),))
        await service.do(wire.ReturnLease())
        counted = [await service.do(wire.Counters("127.0.0.1")) for _ in range(2)]
        assert asked == ["lo"] * 3, "the members of one may change at any time"
        assert all([m.name for m in one.members] == ["lo"] for one in counted)
    finally:
        await service.close()
