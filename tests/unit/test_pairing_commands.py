"""`linkladder pair` at a terminal, and what it lists when the segment is full of liars."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pty
import re
import select
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linkladder import cli, plan
from linkladder.app.live_backend import LiveBackend
from linkladder.commands import pairing
from linkladder.model import Contract, RungName
from linkladder.model import Path as Way
from linkladder.pairing import discovery, handoff, sieve
from linkladder.pairing.window_events import Appliance
from linkladder.plan.link import Side
from linkladder.trust import keys, peers
from pairing_ends import a_key, free_port


class Terminal:
    """The real command with a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        argv = [sys.executable, "-m", "linkladder", "pair", "--port", str(free_port()), *words]
        self.process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.text = ""

    def until(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, self.text
            if select.select([self._ours], [], [], 0.1)[0]:
                self.text += os.read(self._ours, 4096).decode()
        self.text = self.text[found.end() :]
        return found

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode() + b"\n")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_a_window_counts_down_on_a_terminal() -> None:
    one = Terminal("--open", "--minutes", "2")
    try:
        one.until("pairing is open for 2 min 00 s")
        first = int(one.until(r"\r\x1b\[Kopen for 1 min (\d\d) s")[1])
        assert int(one.until(r"\r\x1b\[Kopen for 1 min (\d\d) s")[1]) < first
        one.type("")
        one.until("nobody is heard yet")
        one.type("127.0.0.1")  # nobody pairs here but this one itself, on its own port
        one.until("this is the appliance itself")
    finally:
        one.end()


@pytest.mark.parametrize("minutes", ["0", "-1", "61", "nan"])
def test_a_window_is_open_for_an_hour_at_most(minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["pair", "--open", "--minutes", minutes]) == 2
    assert "cannot be open for" in capsys.readouterr().err


def liar(number: int) -> bytes:
    name, key = f"x{number}", keys.fingerprint(a_key())
    return discovery.encode(discovery.Beacon(1, f"{number:032x}", name, "1", ("192.0.2.1",), 8623, key, ask="ab" * 8))


async def test_beacons_without_end_fill_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand appliances that are none: at most so many are listed, answered and remembered, and for a while."""
    told: list[tuple[Appliance, bool]] = []
    mine = discovery.Beacon(1, "f" * 32, "alpha", "1", (), 8623, keys.fingerprint(a_key()))
    one = discovery.Discovery(mine, lambda appliance, there: told.append((appliance, there)), free_port())
    monkeypatch.setattr(discovery, "interface_of", lambda source: "vmx0")
    sent: list[bytes] = []
    monkeypatch.setattr(one, "_send", lambda data, target: sent.append(data))
    for number in range(2_000):
        one._take(liar(number), ("192.0.2.9", 8623))
    assert len(one.heard()) == len(told) == discovery.MOST
    assert len(one._asked) <= discovery.MOST and max(map(len, sent)) <= discovery.LIMIT
    assert len(sent) <= 2_000 + discovery.MOST  # an answer to each; how many are read in a second is limited before
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)
    call = asyncio.create_task(one._call())
    await asyncio.sleep(0)
    call.cancel()
    assert not one.heard() and len(one._asked) == 1 and len(told) == 2 * discovery.MOST


async def test_no_more_than_a_share_is_looked_at_each_second() -> None:
    told: list[Any] = []
    port = free_port()
    mine = discovery.Beacon(1, "f" * 32, "alpha", "1", (), port, keys.fingerprint(a_key()))
    one = discovery.Discovery(mine, lambda appliance, there: told.append(appliance), port)
    looked = 0
    eve_is: object = None

    def take(data: bytes, source: object) -> None:
        nonlocal looked
        looked += source == eve_is

    one._take = take
    await one.open()
    began = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as eve:
        eve.bind(("127.0.0.1", 0))
        eve_is = eve.getsockname()
        for number in range(600):
            eve.sendto(liar(number), ("127.0.0.1", port))
            if number % 50 == 0:
                await asyncio.sleep(0.005)
    await asyncio.sleep(0.1)
    await one.close()
    choices = (time.monotonic() - began) / discovery.TICK + 1
    assert 0 < looked <= choices * (sieve.FIRST + 1) < 600, "of one source, the first of all and then one"


class Silent:
    """A service that hears a crowd and must not be asked to call all of it."""

    is_open, ready = True, False

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.crowd: list[Appliance] = []
        self.most = self.now = 0

    def heard(self) -> tuple[Appliance, ...]:
        return tuple(self.crowd)

    async def dial(self, address: str, port: int | None = None) -> None:
        self.calls.append(address)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1


async def test_a_crowd_is_listed_and_called_within_limits(capsys: pytest.CaptureFixture[str]) -> None:
    silent = Silent()
    args = argparse.Namespace(json=False, secret_file=Path("s"), address=None, open=False, yes_code=None)
    args.forget_secret, args.ends, args.wait = False, None, None
    one = pairing.Pairing(silent, args)
    key = keys.fingerprint(a_key())
    for number in range(1000):
        seen = Appliance(f"{number:032x}", f"x{number}", "1", ("192.0.2.1", "fd00::1"), "vmx0", key, 8623, 0.0, 0.3)
        silent.crowd.append(replace(seen, heard=time.monotonic(), answers=True))
        one._hear(seen)
    assert len(one._heard) == pairing.UNPROVEN, "anybody can say any number of names"
    await asyncio.sleep(0.1)
    assert not silent.calls, "to call each would leave no time for those that are there"
    for seen in silent.crowd:
        one._hear(seen)
    assert len(one._heard) == pairing.MOST
    async with asyncio.timeout(10):
        while len(silent.calls) < pairing.MOST:
            await asyncio.sleep(0.01)
    assert silent.most <= pairing.AT_ONCE
    said = capsys.readouterr().out
    assert "  1  x0  192.0.2.1  on vmx0, heard 0 s ago, round trip 0.300 ms\n     fd00::1, SHA256:" in said
    assert "x99 " not in said


async def test_what_a_site_was_told_once_is_remembered_of_so_many_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Each caller says under what name it failed, for as long as the window is open."""
    args = argparse.Namespace(json=False, secret_file=Path("s"), address=None, open=False, yes_code=None)
    args.ends, args.wait = None, None
    one = pairing.Pairing(Silent(), args)
    for number in range(3 * pairing.REMEMBERED):
        one._print_once(f"pairing with x{number} failed")
        one._print_once(f"pairing with x{number} failed")
    assert capsys.readouterr().out.count("failed") == 3 * pairing.REMEMBERED
    assert len(one._told) <= pairing.REMEMBERED


async def test_a_digit_that_is_no_number_is_called_as_a_name_and_is_no_error() -> None:
    silent = Silent()
    args = argparse.Namespace(json=False, secret_file=None, address=None, open=False, yes_code=None)
    one = pairing.Pairing(silent, args)
    await one._answer("\u00b2")
    await asyncio.gather(*one._calls)
    assert silent.calls == ["\u00b2"]


def test_what_is_known_of_each_is_said() -> None:
    one = Appliance("a", "beta", "1", ("192.0.2.1",), "vmx0", "SHA256:x", 8623, time.monotonic() - 5, None, "far", True)
    first, second = pairing.appliance_lines(2, one)
    assert first == "  2  beta  192.0.2.1  on vmx0, heard 5 s ago"
    assert second == "     SHA256:x, paired as far, not the only one of this name"


@pytest.mark.parametrize("console", [True, False])
def test_a_peer_that_is_renamed_keeps_its_rungs(own_state: Path, console: bool) -> None:
    peers.pin(peers.Peer("beta", ("192.0.2.1",), a_key(), a_key()))
    paths = {RungName.DC_LINK: (Way("10.0.0.1", "10.0.0.2", "beta"), Way("10.0.1.1", "10.0.1.2", "gamma"))}
    plan.save_link(own_state, plan.Link(Contract(), paths, ends={"near": Side("10.0.0.1"), "beta": Side("10.0.0.2")}))
    if console:
        LiveBackend("a test").rename_peer("beta", "far")
    else:
        assert cli.main(["peers", "rename", "beta", "far"]) == 0
    link = plan.load_link(own_state)
    assert [path.peer for _, path in link.every_path()] == ["far", "gamma"]
    assert list(link.ends) == ["near", "far"]


def test_peers_are_listed_renamed_and_removed(own_state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peers.pin(peers.Peer("beta", ("192.0.2.1", "fd00::1"), a_key(), a_key()))
    assert cli.main(["peers"]) == 0 and "192.0.2.1,fd00::1" in capsys.readouterr().out
    assert cli.main(["peers", "rename", "beta", "far end"]) == 2 and "no name" in capsys.readouterr().err
    assert cli.main(["peers", "rename", "beta", "far"]) == 0
    fingerprint = peers.find("far").fingerprint
    assert cli.main(["peers", "remove", fingerprint[:20]]) == 0 and not peers.load()
    assert "far is trusted no more" in capsys.readouterr().out
    assert cli.main(["peers", "remove", "far"]) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--open", "192.0.2.1"), "--open only waits to be called\n  do:  linkladder pair 192.0.2.1"),
        (("192.0.2.1", "--yes-code", "12345"), "--yes-code is no code\n  why: it is six digits, or three words"),
        (("192.0.2.1", "--yes-code", ""), "--yes-code is no code"),
        (("--secret-file", "s", "--wait", "0"), "nobody can wait for 0 minutes here\n  do:  above 0"),
    ],
)
def test_a_wrong_option_is_said_before_anybody_is_called(
    words: tuple[str, ...], said: str, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["pair", "--minutes", "0.01", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err


@pytest.mark.parametrize("answer", [handoff.RIGHT, "no code is waiting to be confirmed"])
def test_what_the_open_window_says_to_a_code_is_json_where_that_was_asked_for(
    answer: str, own_state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ask(typed: str) -> str:
        return answer

    monkeypatch.setattr(handoff, "ask", ask)
    right = answer == handoff.RIGHT
    assert cli.main(["pair", "--yes-code", "123 456", "--json"]) == (not right)
    assert json.loads(capsys.readouterr().out) == {
        "event": "Answered",
        "right": right,
        "reason": "" if right else answer,
    }


def test_a_key_file_that_cannot_be_read_is_named_with_the_reason(
    own_state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key.pub"
    assert cli.main(["peers", "add", "x", "192.0.2.1", "--host-key", str(key), "--user-key", str(key)]) == 2
    assert f"{key} cannot be read\n  why: No such file or directory\n" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--json",), ("list", "--json"), ("--json", "list")])
def test_peers_are_listed_for_scripts_where_json_is_asked_for(
    words: tuple[str, ...], own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peers.pin(peers.Peer("beta", ("192.0.2.1",), a_key(), a_key()))
    assert cli.main(["peers", *words]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["beta"]
