"""What a paired peer makes an agent remember is bounded, whatever it has measured, asks for, and does not read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from linkladder import tools, wire
from linkladder.agent import Service, processes
from linkladder.agent.targets import Caller
from linkladder.codec import to_json
from linkladder.host import programs
from linkladder.model import End, Experiment, Protocol
from linkladder.tools import Layout
from linkladder.trust import peers, sshd
from pairing_ends import a_key
from world import wait_for

OWN = Path(__file__).parents[2] / ".work/netperf/usr/bin/netperf"  # where build.sh puts it
NETPERF = programs.find("netperf") or (str(OWN) if OWN.exists() else "")
HERE, KEY = "127.0.0.1", "0123456789abcdef" * 2
TALKERS, EACH = 12, 34 << 20
# All that is kept, and one answer on its way: as bytes, text, JSON, line, what waits to be sent, and what goes late.
MOST = processes.PRINTED + 6 * tools.OUTPUT_LIMIT
TALKER = f"""#!/bin/sh
case $* in *-v*) echo 'iperf version 2.1.8 (12 August 2022) pthreads'; exit ;; esac
case $* in *-u*) exec yes 'and so on and so on and so on' ;; esac
head -c {EACH} /dev/zero | tr '\\0' '1'
exec sleep 600
"""


class Eve:
    """A paired peer: the other end of a real agent's pipes, which it reads only when it likes."""

    def __init__(self, tools_path: Path) -> None:
        environment = {**os.environ, "LINKLADDER_TOOLS_PATH": str(tools_path)}
        argv = [sys.executable, "-m", "linkladder", "agent", "--peer", "eve"]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.reads = threading.Event()
        self.reads.set()
        self.answers: dict[int, dict[str, Any]] = {}
        self.peak = self.number = 0
        self._turn = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()
        threading.Thread(target=self._keep_alive, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.reads.wait()
            if line.startswith(b'{"id"'):
                said = json.loads(line)
                self.answers[said["id"]] = {
                    "error": said.get("error"),
                    "size": len(line),
                    "ok": len(line) < 9999 and said,
                }

    def _keep_alive(self) -> None:
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                self.send("clock")
            time.sleep(wire.KEEPALIVE)

    def _watch(self) -> None:
        process = psutil.Process(self.process.pid)
        while self.process.poll() is None:
            try:
                self.peak = max(self.peak, process.memory_info().rss)
            except psutil.Error:
                return
            time.sleep(0.02)

    def send(self, verb: str, **args: Any) -> int:
        assert self.process.stdin
        with self._turn:
            self.number += 1
            self.process.stdin.write(json.dumps({"id": self.number, "verb": verb, "args": args}).encode() + b"\n")
            self.process.stdin.flush()
            return self.number

    def ask(self, verb: str, **args: Any) -> dict[str, Any]:
        number = self.send(verb, **args)
        wait_for(lambda: number in self.answers, 120, f"no answer to {verb}")
        return self.answers[number]

    def close(self) -> None:
        self.reads.set()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def eve(own_state: Path, tmp_path: Path) -> Iterator[Eve]:
    peers.add(peers.Peer("eve", ("192.0.2.9",), a_key(), a_key()))
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "iperf").write_text(TALKER)
    (folder / "iperf").chmod(0o755)
    made = Eve(folder)
    yield made
    made.close()


def client(**keys: Any) -> dict[str, Any]:
    exp = to_json(Experiment("e", duration=600.0, **keys))
    where = to_json(Layout(End.FAR, End.NEAR, protocol_port="tcp"))
    return {"experiment": exp, "layout": where, "local": HERE, "remote": HERE, "port": 5301, "index": 0, "key": KEY}


def sleeping(eve: Eve) -> int:
    """How many tools have printed all: each is a shell that has become sleep."""
    names = []
    for one in psutil.Process(eve.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            names.append(one.name())
    return names.count("sleep")


def test_tools_that_print_without_end_and_answers_that_nobody_reads(eve: Eve) -> None:
    assert not eve.ask("reserve", holder="eve")["error"]
    before = eve.peak
    running = [eve.ask("client", **client())["ok"]["ok"]["process"] for _ in range(TALKERS)]
    wait_for(lambda: sleeping(eve) == TALKERS, 120, "the tools have not printed all")
    eve.reads.clear()
    asked = [eve.send("stop", process=one, at_once=True) for one in running]
    wait_for(lambda: sleeping(eve) < TALKERS, 60, "they run still")
    eve.reads.set()
    wait_for(lambda: set(asked) <= set(eve.answers), 120, "not all was answered")
    assert not any(eve.answers[one]["error"] for one in asked)
    sizes = [eve.answers[one]["size"] for one in asked]
    assert sum(sizes) >= processes.PRINTED and max(sizes) < tools.OUTPUT_LIMIT + 4096
    # What was sent makes room again, for the next tool.
    once_more = eve.ask("client", **client())["ok"]["ok"]["process"]
    wait_for(lambda: sleeping(eve) == 1, 120, "it prints still")
    assert eve.ask("stop", process=once_more)["size"] > tools.OUTPUT_LIMIT
    assert eve.peak - before < MOST, f"{(eve.peak - before) >> 20} MB"


def test_events_that_nobody_reads_end_the_agent(eve: Eve) -> None:
    assert not eve.ask("reserve", holder="eve")["error"]
    before = eve.peak
    eve.reads.clear()
    for _ in range(TALKERS):
        eve.send("client", **client(protocol="udp"))
    eve.process.wait(wire.IDLE_LIMIT / 2)  # not the silence ends it, which is waited for longer
    assert eve.peak - before < MOST, f"{(eve.peak - before) >> 20} MB"


def test_the_buffers_of_all_tools_together(eve: Eve) -> None:
    assert not eve.ask("reserve", holder="eve")["error"]
    large = client(streams=8, write_size=1 << 26)
    assert not eve.ask("client", **large)["error"] and not eve.ask("client", **large)["error"]
    assert "write in smaller pieces" in eve.ask("client", **large)["error"]
    assert not eve.ask("clock")["error"]


ALLOC = "import sys; kept = []; [kept.append(b'x' * (1 << 20)) for _ in range(int(sys.argv[1]))]"


async def test_a_tool_has_the_memory_that_its_experiment_needs_and_no_more(own_state: Path) -> None:
    """A peer says to netserver with its own netperf: forty buffers of 50 MB each; to iperf: pieces of 700 MB."""
    end = Service(lambda event: None, Caller.PEER, "eve")
    try:
        for exp in (Experiment("e"), Experiment("e", "netperf", Protocol.TCP)):
            for megabytes, fits in ((48, True), (1000, False)):
                child = await end._start([sys.executable, "-c", ALLOC, str(megabytes)], exp)
                finished = await child.finished()
                assert (finished.exit_code == 0) == fits, (exp, megabytes, finished.errors)
    finally:
        await end.close()


@pytest.mark.skipif(not NETPERF, reason="needs netperf")
async def test_netserver_takes_no_memory_that_its_own_client_asks_it_for(
    own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKLADDER_TOOLS_PATH", str(Path(NETPERF).parent))
    end = Service(lambda event: None, Caller.PEER, "eve")
    client = None
    try:
        await end.do(wire.Reserve("eve"))
        exp = to_json(Experiment("e", "netperf", Protocol.TCP, duration=30.0))
        asked = {"experiment": exp, "bind": HERE, "port": 5321, "peer": HERE, "key": KEY}
        started = await end.do(wire.request_of("serve", asked))
        assert isinstance(started, wire.Started)
        server = psutil.Process(end.children[started.process].process.pid)
        argv = [NETPERF, "-Z", KEY, "-4", "-H", f"{HERE},4", "-p", "5321", "-t", "TCP_MAERTS", "-l", "5", "-W", "60,60"]
        client = subprocess.Popen([*argv, "--", "-P", "0,5322", "-m", "50000000,50000000", "-M", "1000,1000"])
        most = 0
        while client.poll() is None:
            with contextlib.suppress(psutil.Error):
                most = max(most, sum(one.memory_info().rss for one in (server, *server.children(recursive=True))))
            await asyncio.sleep(0.02)
        assert 0 < most < 1 << 30, f"{most >> 20} MB"
        assert server.is_running()
    finally:
        if client:
            client.kill()
            client.wait()
        await end.close()


def test_names_of_cards_that_are_not_there(eve: Eve) -> None:
    for _ in range(3):
        for number in range(300):
            last = eve.send("counters", address=HERE, interface=f"n{number}")
            wait_for(lambda last=last: last in eve.answers, 60, "no answer")  # type: ignore[misc]
    assert not eve.answers[last]["error"]


def test_so_many_sessions_of_one_peer_and_no_more(own_state: Path) -> None:
    peers.add(peers.Peer("eve", ("192.0.2.9",), a_key(), a_key()))
    argv = [sys.executable, "-m", "linkladder", "agent", "--peer", "eve"]
    pipe = subprocess.PIPE
    agents = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(sshd.MOST)]
    try:
        for one in agents:
            assert one.stdin and one.stdout
            one.stdin.write(b'{"id": 1, "verb": "clock"}\n')
            one.stdin.flush()
            assert b'"ok"' in one.stdout.readline()
        more = subprocess.run(argv, input="", capture_output=True, text=True, timeout=60)
        assert more.returncode and f"eve has {sshd.MOST} sessions here already" in more.stderr
        assert agents[0].stdin
        agents[0].stdin.close()
        agents[0].wait(30)
        again = subprocess.run(argv, input="", capture_output=True, text=True, timeout=60)
        assert again.returncode == 0, again.stderr
    finally:
        for one in agents:
            one.kill()
            one.wait()


def test_what_is_kept_of_all_holds_three_whole_outputs() -> None:
    assert wire.REPLY_LIMIT >= tools.OUTPUT_LIMIT
    assert processes.PRINTED == 3 * tools.OUTPUT_LIMIT


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"0,", b'"",', b'{"":[]},'])
def test_a_peers_answer_is_text_if_it_is_long(piece: bytes) -> None:
    """A line of 96 MB may come; of lists of nothing that was a run's process of two gigabytes and more."""
    line = b'{"id":1,"ok":[' + piece * ((8 << 20) // len(piece) * (2 if b'"' in piece else 1)) + b"0]}\n"
    with pytest.raises(wire.WireError, match="output"):
        wire.read_answer(line)
    output = '[{"\\"}],\n\\' * (1 << 20)  # what a tool prints may look like that
    told = wire.read_answer(wire.answer(1, wire.Finished(1, 0, output, "")))
    assert isinstance(told, wire.Answer) and told.value["output"] == output
