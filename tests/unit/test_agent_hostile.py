"""Every field of every request is tried with hostile values on a real agent, which refuses by name and goes on."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import psutil
import pytest

from linkladder import wire
from linkladder.agent.stdio import AT_ONCE
from linkladder.codec import to_json
from linkladder.model import End, Experiment, Setting, SettingKind
from linkladder.tools import Layout
from linkladder.trust import peers
from pairing_ends import a_key

EXP = to_json(Experiment("e"))
HERE = "127.0.0.1"
KEY = "0123456789abcdef" * 2
GENUINE: dict[str, dict[str, Any]] = {
    "hello": {"protocol": 1, "version": "1", "name": "a"},
    "reserve": {"holder": "alpha"},
    "known": {"address": HERE},
    "route": {"local": HERE, "remote": HERE},
    "introduce": {"name": "gamma", "address": HERE},
    "listen": {"address": HERE, "port": 5301, "peer": HERE, "key": KEY, "udp": False},
    "probe": {"local": HERE, "remote": HERE, "port": 5301, "key": KEY, "udp": False},
    "serve": {"experiment": EXP, "bind": HERE, "port": 5301, "peer": HERE, "key": KEY},
    "client": {"experiment": EXP, "layout": to_json(Layout(End.FAR, End.NEAR, protocol_port="tcp")), "local": HERE,
               "remote": HERE, "port": 5301, "index": 0, "key": KEY, "at": 0.0},
    "stop": {"process": 7, "at_once": False}, "enough": {"process": 7},
    "sampling": {"on": False, "every": 1.0, "cards": ["eth0"], "ports": [5301], "windows": True, "at_once": True},
    "member": {"down": True},
    "counters": {"address": HERE, "interface": "lo"},
    "lease": {"settings": [to_json(Setting(SettingKind.MTU, "9000"))], "addresses": [HERE], "seconds": 5.0,
              "control": ["192.0.2.1"]},
    "renew": {}, "return": {},
    "facts": {}, "release": {}, "clock": {}, "unlisten": {}, "sockets": {}, "cancel": {},
}  # fmt: skip
ADDRESSES, PORTS, LINES = (
    ("address", "local", "remote", "bind", "peer"),
    ("port",),
    ("name", "version", "holder", "id", "label", "baseline"),
)
OPTIONAL = ("window", "write_size", "udp_rate_bps", "client_port", "cores", "server", "protocol_port")
DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]
BAD_LINES = ["a\nb", "a\0b", "a\x1b[2J", "x" * 5000]
BAD_WORDS = ["-h", "-o /etc/passwd", "10.0.0.1 -P 9", "10.0.0.1\n-P 9", "$(reboot)", "../../etc/passwd", "127.0.0.1;id",
             "224.0.0.1", "0.0.0.0", "::", "fe80::1%eth0;id", "", "1" * 5000]  # fmt: skip
NO_NUMBERS = [True, "5301", [5301], {"a": 1}, DEEP]
PORT_VALUES = [0, 65536, -1, 22, 8622, 5301.5, 1 << 70, *NO_NUMBERS]


def hostile(name: str, value: Any) -> list[Any]:
    """What must not be taken for that field, whose genuine value is the given one."""
    bad: list[Any] = [{"a": 1}, DEEP] + ([] if name in OPTIONAL else [None])
    if name in ADDRESSES:
        return [*bad, *BAD_WORDS, 5, True]
    if name in PORTS:
        return [*bad, *PORT_VALUES]
    if name in ("addresses", "control"):
        return [*bad, *([w] for w in BAD_LINES), ["192.0.2.1"] * 65, "192.0.2.1", [5]]
    if name == "key":
        return [*bad, "", KEY[1:], KEY + "0", KEY.upper().replace("0", "O"), "x" * 5000, 5, True, [KEY]]
    if name == "interface":
        return [*bad, *[w for w in BAD_WORDS if w], "a b", "x" * 16, 5]
    if name in LINES:
        return [*bad, *BAD_LINES, 5, True, ["a"]]
    if name == "protocol" and value == 1:
        return [*bad, "1", 1.5, True]
    if isinstance(value, bool):
        return [*bad, 1, 0, "true", [True]]
    if isinstance(value, str) or name in ("server", "protocol_port"):  # one of a few words
        return [*bad, "-h", "a\nb", "/bin/sh", 5, ["tcp"], True]
    if name == "paths":
        return [*bad, ["1500"], [-1], [1e300], [20_001], [1] * 101, 1500]
    if isinstance(value, list):
        return [*bad, ["1500"], [-1], [1e300], [1500] * 40, 1500]
    return [*bad, *NO_NUMBERS, -1, 1 << 70, -1e300, 1e300]


def cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(verb, field, arguments with a hostile value in that field)"""
    for verb, genuine in GENUINE.items():
        yield verb, "extra", {**genuine, "extra": 1}
        places: list[tuple[str, ...]] = [(name,) for name in genuine if name not in ("experiment", "layout")]
        places += [(part, name) for part in ("experiment", "layout") for name in genuine.get(part, {})]
        for part in ("experiment", "layout"):
            if part in genuine:
                for value in (None, 5, "x", [], DEEP, {"argv": ["sh"]}):
                    yield verb, part, {**genuine, part: value}
        for place in places:
            inner = genuine if len(place) == 1 else genuine[place[0]]
            for value in hostile(place[-1], inner[place[-1]]):
                args = copy.copy(genuine)
                if len(place) == 1:
                    args[place[0]] = value
                else:
                    args[place[0]] = {**inner, place[-1]: value}
                yield verb, place[-1], args


class Agent:
    """As sshd starts it, with a peer at the other end of its pipes."""

    def __init__(self, state: Path) -> None:
        environment = {**os.environ, "LINKLADDER_STATE": str(state)}
        argv = [sys.executable, "-m", "linkladder", "agent", "--peer", "eve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, env=environment)
        self.number = 0

    def raw(self, line: bytes) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def ask(self, verb: Any, args: Any) -> dict[str, Any]:
        self.number += 1
        said = self.raw(json.dumps({"id": self.number, "verb": verb, "args": args}).encode())
        assert said["id"] == self.number
        return said

    def resident(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)


@pytest.fixture
def agent(own_state: Path) -> Iterator[Agent]:
    peers.add(peers.Peer("eve", ("192.0.2.9",), a_key(), a_key()))
    made = Agent(own_state)
    yield made
    made.process.kill()
    made.process.communicate()


def test_every_field_of_every_request_is_among_those_tried() -> None:
    assert {verb: set(args) for verb, args in GENUINE.items()} == {
        verb: {field.name for field in fields(request)} for verb, request in wire.VERBS.items()
    }


def test_every_field_with_hostile_values(agent: Agent) -> None:
    count = 0
    for verb, field, args in cases():
        said = agent.ask(verb, args)
        assert "ok" not in said and field in said["error"], (verb, field, str(args)[:300], said)
        assert len(said["error"]) < 400  # nobody's 10 MB come back
        count += 1
    assert "ok" in agent.ask("clock", {}) and count > 500
    print(f"{count} requests refused by name")


def test_no_request_but_those_that_exist(agent: Agent) -> None:
    for verb in ("__class__", "do_client", "close", "", "client\n", ["client"], {"a": 1}, None, 5, "x" * 50_000):
        said = agent.ask(verb, {})
        assert "unknown verb" in said["error"] and len(said["error"]) < 100
    for args in ([], "x", 5, DEEP):
        assert "expected an object" in agent.ask("clock", args)["error"]
    assert "ok" in agent.ask("clock", None)


@pytest.mark.parametrize(("tool", "protocol"), [("iperf", "rr"), ("netperf", "udp"), ("ping", "tcp")])
def test_no_tool_is_asked_for_what_it_cannot_do(agent: Agent, tool: str, protocol: str) -> None:
    said = agent.ask("client", {**GENUINE["client"], "experiment": {**EXP, "tool": tool, "protocol": protocol}})
    assert "experiment.protocol" in said["error"]


def test_who_asks_without_waiting_for_answers_has_so_many_requests_in_progress(agent: Agent) -> None:
    assert "ok" in agent.ask("reserve", GENUINE["reserve"])
    knock = {**GENUINE["probe"], "remote": "127.0.0.9"}  # one may be knocked at only now and then, so that these wait
    lines = (json.dumps({"id": n, "verb": "probe", "args": knock}).encode() for n in range(100, 100 + AT_ONCE + 30))
    said = [agent.raw(b"\n".join(lines))]
    assert agent.process.stdout
    said += [json.loads(agent.process.stdout.readline()) for _ in range(29)]
    assert {one.get("error") for one in said} == {"too many requests at once"}


BROKEN = [
    (b'{"id": 1, "verb": "reserve", "args": {"holder": NaN}}', "NaN is not a number"),
    (b'{"id": 1, "verb": "reserve", "args": {"holder": -Infinity}}', "-Infinity is not a number"),
    (b'{"id": 1, "verb": "stop", "args": {"process": ' + b"9" * 5000 + b"}}", "not a JSON line"),
    (b'{"id": 1, "verb": "stop", "args": ' + b"[" * 30_000, "not a JSON line"),
    (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "not a JSON line"),
    (b"\xff\xfe\x00", "not a JSON line"),
    (b"", "not a JSON line"),
    (b"null", "expected an object"),
    (b'{"id": 1, "verb": "reserve", "args": {"holder": "' + b"x" * 10_000_000 + b'"}}', "at most 65536 bytes"),
    (b"[" * 10_000_000, "at most 65536 bytes"),
]


def test_lines_that_are_no_requests(agent: Agent) -> None:
    assert "ok" in agent.ask("clock", {})
    before = agent.resident()
    for _ in range(3):
        for line, named in BROKEN:
            said = agent.raw(line)
            assert said["id"] is None and named in said["error"], (line[:60], said)
    assert "ok" in agent.ask("clock", {})
    assert agent.resident() - before < 4 << 20  # sixty million bytes later


def test_numbers_beyond_all_measure(agent: Agent) -> None:
    text = json.dumps({"id": 1, "verb": "client", "args": GENUINE["client"]}).replace(
        '"duration": 10.0', '"duration": 1e999'
    )
    assert "duration" in agent.raw(text.encode())["error"]
    assert "ok" in agent.ask("clock", {})


def test_who_takes_no_answers_is_heard_no_more(agent: Agent) -> None:
    """A peer that asks and asks and never reads must not fill the agent's memory."""
    assert agent.process.stdin
    assert "ok" in agent.ask("clock", {})
    before = agent.resident()
    os.set_blocking(agent.process.stdin.fileno(), False)
    taken = 0
    for _ in range(2000):
        try:
            taken += os.write(agent.process.stdin.fileno(), b'{"id":1,"verb":"clock"}\n' * 400)
        except BlockingIOError:
            break
    else:
        raise AssertionError("it took all of it")
    assert agent.resident() - before < 8 << 20, taken
    assert agent.process.poll() is None
