"""Failures caused on two appliances, whatever they run on: the same list serves the lab and two FreeBSD machines.

A `World` says how to run a command on a site and how to find its processes; everything else is here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

from linkladder import formats
from linkladder.model import Document, TrialResult
from linkladder.tools.contract import TEST_PORTS

Found = TypeVar("Found")
PATIENCE = 60.0  # seconds for what has no limit of its own: the machine may be busy with other tests
PLAN = """
name = "trial"
[[experiment]]
rungs = ["{rung}"]
streams = {streams}
duration = {duration}
warmup = 1
repeats = {repeats}
direction = "{direction}"
{more}
"""
SOME = 1 << 20  # bytes: more than the first segments and an exchange of settings
TOOLS = ("iperf", "netperf", "netserver", "ping")
# Emulated machines take many times what real ones take: every limit is multiplied.
SLOW = float(os.environ.get("LINKLADDER_VM_SLOW", "1"))
# And trials are longer there, as looking for a process and killing it takes seconds.
LONGER = max(1, min(3, round(SLOW / 2)))


class World(Protocol):
    """Two appliances, alpha and beta, paired."""

    def run(self, site: str, script: str, check: bool = True) -> str:
        """A shell script as root on a site; its output."""

    def linkladder(self, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """A linkladder command started on alpha."""

    def write(self, site: str, path: str, text: str, mode: int = 0o644) -> None: ...

    def processes(self, site: str) -> dict[int, str]:
        """pid -> command line of what runs there."""

    def path_interface(self, site: str) -> str:
        """The interface of the rung that is tested."""

    def false_iperf(self, site: str, script: str) -> AbstractContextManager[dict[str, str]]:
        """A script in iperf's place on a site, until the end; what a command on alpha needs in its environment."""

    @property
    def rung(self) -> str: ...

    @property
    def python(self) -> str:
        """A Python on both sites."""

    @property
    def folder(self) -> str:
        """A scratch folder that exists on both sites."""


def plan_text(
    world: World, duration: int = 4, repeats: int = 1, streams: int = 2, direction: str = "forward", more: str = ""
) -> str:
    return PLAN.format(
        rung=world.rung, streams=streams, duration=duration * LONGER, repeats=repeats, direction=direction, more=more
    )


class Run:
    """One `linkladder run` on alpha, under way."""

    def __init__(self, world: World, plan: str, env: dict[str, str] | None = None, name: str = "trial") -> None:
        self.world = world
        world.write("alpha", f"{world.folder}/{name}.toml", plan)
        self.began, self.said = time.monotonic(), ""
        self.process = world.linkladder("run", "--plan", f"{world.folder}/{name}.toml", "--peer", "beta", env=env)

    def wait(self, seconds: float = 90.0) -> int:
        """The exit code; what it printed is in `said`."""
        self.said = "".join(text or "" for text in self.process.communicate(timeout=seconds * SLOW))
        return self.process.returncode

    def document(self) -> Document:
        shown = self.world.linkladder("show", "last", "--json")
        out, errors = shown.communicate(timeout=60 * SLOW)
        assert shown.returncode == 0, errors
        return formats.document(json.loads(out))

    def trials(self) -> list[TrialResult]:
        return [t for r in self.document().rungs for e in r.experiments for t in e.trials]


def tool(world: World, site: str, *words: str, seconds: float = PATIENCE) -> int:
    """The pid of the iperf with these words in its command line, once it runs; pings also run before a trial."""

    def find() -> int | None:
        for pid, line in world.processes(site).items():
            name = line.split(" ", 1)[0].rsplit("/", 1)[-1]
            if name == "iperf" and all(w in line.split() for w in words):
                return pid
        return None

    return until(find, seconds, f"no tool with {words} came up on {site}")


def serving(world: World, site: str = "beta") -> int | None:
    """The pid of the agent that serves a peer, if there is one."""
    for pid, line in world.processes(site).items():
        words = line.split()
        if "agent" in words and "--peer" in words and "python" in words[0]:
            return pid
    return None


def agent(world: World, site: str = "beta") -> int:
    """The pid of the agent that serves alpha."""
    return until(lambda: serving(world, site), PATIENCE, f"no agent on {site}")


def until(found: Callable[[], Found | None], seconds: float, otherwise: str) -> Found:
    deadline = time.monotonic() + seconds * SLOW
    while (value := found()) is None:
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.1)
    return value


def no_tool_left(world: World, seconds: float = 5.0) -> None:
    """Neither end has a tool of ours running."""

    def none() -> bool | None:
        left = [
            line
            for site in ("alpha", "beta")
            for line in world.processes(site).values()
            if line.split(" ", 1)[0].rsplit("/", 1)[-1] in TOOLS
        ]
        return None if left else True

    until(none, seconds, "tools were left behind")


def sent(world: World) -> int:
    """Bytes that have left alpha by the path's adapter."""
    name = world.path_interface("alpha")
    linux = f"cat /sys/class/net/{name}/statistics/tx_bytes 2>/dev/null"
    column = 'NR == 1 { while (n < NF && $n != "Obytes") n++ } NR == 2 { print $n }'
    return int(world.run("alpha", f"{linux} || netstat -bnI {name} | awk -v n=1 '{column}'"))


def under_way(world: World) -> int:
    """The pid of alpha's client, once what it sends is on its way."""
    client = tool(world, "alpha", "-c")
    before = sent(world)
    until(lambda: True if sent(world) > before + SOME else None, PATIENCE, "the client sends nothing")
    return client


def ended(world: World, site: str, pid: int, seconds: float, otherwise: str) -> None:
    until(lambda: None if pid in world.processes(site) else True, seconds, otherwise)


@contextmanager
def link_down(world: World, site: str) -> Iterator[None]:
    name = world.path_interface(site)
    world.run(site, f"ifconfig {name} down 2>/dev/null || ip link set {name} down")
    try:
        yield
    finally:
        world.run(site, f"ifconfig {name} up 2>/dev/null || ip link set {name} up")


# --- the list: each causes one failure and says what must come of it


def server_killed(world: World) -> None:
    run = Run(world, plan_text(world, repeats=2))
    under_way(world)
    world.run("beta", f"kill -9 {tool(world, 'beta', '-s')}")
    assert run.wait() == 1, run.said
    first, second = run.trials()
    assert not first.ok and first.fault == "tool" and first.reason
    assert second.ok, second.reason
    no_tool_left(world)


def client_killed(world: World) -> None:
    run = Run(world, plan_text(world, repeats=2))
    world.run("alpha", f"kill -9 {under_way(world)}")
    assert run.wait() == 1, run.said
    first, second = run.trials()
    assert not first.ok and first.reason
    assert second.ok, second.reason
    no_tool_left(world)


def link_down_and_up(world: World) -> None:
    run = Run(world, plan_text(world, duration=6, repeats=2))
    client = under_way(world)
    with link_down(world, "beta"):
        ended(world, "alpha", client, PATIENCE, "the trial went on without its link")
    assert run.wait(120) == 1, run.said
    first, second = run.trials()
    assert not first.ok and first.fault == "path", first.reason
    assert second.repeat == 1
    no_tool_left(world)


def channel_killed(world: World) -> None:
    """The sshd session dies: the run reconnects and does the same trial again."""
    run = Run(world, plan_text(world, repeats=2))
    under_way(world)
    session = until(lambda: _sshd_session(world), PATIENCE, "no sshd session on beta")
    world.run("beta", f"kill -9 {session}")
    assert run.wait() == 0, run.said
    assert [t.ok for t in run.trials()] == [True, True]
    no_tool_left(world)


def _sshd_session(world: World) -> int | None:
    """The sshd that the agent belongs to: the nearest one above it."""
    running = world.processes("beta")
    pid = agent(world)
    while pid > 1:
        if running.get(pid, "").startswith("sshd"):
            return pid
        pid = int(world.run("beta", f"ps -o ppid= -p {pid}", check=False).strip() or 0)
    return None


def agent_killed(world: World) -> None:
    """No orphan is left, and the run goes on."""
    run = Run(world, plan_text(world, repeats=2))
    tool(world, "alpha", "-c")
    server = tool(world, "beta", "-s")
    world.run("beta", f"kill -9 {agent(world)}")
    ended(world, "beta", server, 5.0, "the killed agent's server runs on")
    assert run.wait() == 0, run.said
    assert [t.ok for t in run.trials()] == [True, True]
    no_tool_left(world)


def run_killed(world: World) -> None:
    """The near process dies: both ends are clean, and the run can be taken up again."""
    run = Run(world, plan_text(world, repeats=2))
    tool(world, "alpha", "-c")
    pid = until(lambda: _run_pid(world), PATIENCE, "no run on alpha")
    world.run("alpha", f"kill -9 {pid}")
    run.process.communicate(timeout=20 * SLOW)
    no_tool_left(world, 10.0)
    again = world.linkladder("run", "--resume", "last")
    again.communicate(timeout=90 * SLOW)
    assert again.returncode == 0
    assert [t.ok for t in run.trials()] == [True, True]


def _run_pid(world: World) -> int | None:
    for pid, line in world.processes("alpha").items():
        words = line.split()
        if "python" in words[0] and "run" in words and "--plan" in words:
            return pid
    return None


def cancelled(world: World) -> None:
    """Both ends stop long before the trial would; how soon is printed by tests/bench."""
    run = Run(world, plan_text(world, duration=60))
    under_way(world)
    pid = until(lambda: _run_pid(world), PATIENCE, "no run on alpha")
    world.run("alpha", f"kill -INT {pid}")
    no_tool_left(world, 20.0)
    assert run.wait(20) == 3
    assert run.document().run.state == "incomplete"


def false_iperf(world: World, site: str, body: str) -> AbstractContextManager[dict[str, str]]:
    """An iperf of our own making, which says its version as the real one does."""
    version = "iperf version 2.1.8 (12 August 2022) pthreads"
    return world.false_iperf(site, f'#!/bin/sh\ncase "$*" in -v) echo "{version}"; exit 1;; esac\n{body}\n')


def tool_hangs(world: World) -> None:
    with false_iperf(world, "alpha", "exec sleep 600") as env:
        run = Run(world, plan_text(world, duration=2), env=env)
        assert run.wait(60) == 1, run.said
    (trial,) = run.trials()
    assert not trial.ok and trial.fault == "tool" and trial.reason
    assert trial.seconds < 30 * SLOW
    no_tool_left(world)


def tool_prints_garbage(world: World) -> None:
    body = "head -c 200000 /dev/urandom; echo '[  1] 0.00-1.00 sec  nan Bytes  inf bits/sec'; sleep 3"
    with false_iperf(world, "alpha", body) as env:
        run = Run(world, plan_text(world, duration=2), env=env)
        assert run.wait(60) == 1, run.said
    (trial,) = run.trials()
    assert not trial.ok and trial.reason
    assert trial.goodput_bps == 0


def server_does_not_listen(world: World) -> None:
    with false_iperf(world, "beta", "exec sleep 600") as env:
        run = Run(world, plan_text(world, duration=2), env=env)
        assert run.wait(60) == 1, run.said
        (trial,) = run.trials()
        assert not trial.ok and "did not listen" in trial.reason
        no_tool_left(world)


def port_taken(world: World) -> None:
    code = (
        "import socket, time\n"
        "held = []\n"
        f"for port in range({TEST_PORTS.start}, {TEST_PORTS.stop}):\n"
        "    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "    s.bind(('', port)); s.listen(1)\n"
        "    held.append(s)\n"
        "print('held', flush=True); time.sleep(600)\n"
    )
    world.write("beta", f"{world.folder}/hold.py", code)
    world.run(
        "beta",
        f"nohup {world.python} {world.folder}/hold.py >{world.folder}/held 2>&1 & echo $! >{world.folder}/hold.pid",
    )
    try:
        until(lambda: True if "held" in world.run("beta", f"cat {world.folder}/held") else None, 10.0, "ports not held")
        run = Run(world, plan_text(world, duration=2))
        assert run.wait(60) == 1, run.said
        (trial,) = run.trials()
        assert not trial.ok and trial.fault == "tool"
        taken = re.search(r"port (\d+) of .* cannot be opened: Address already in use", trial.reason)
        assert taken and int(taken[1]) in TEST_PORTS, trial.reason
    finally:
        world.run("beta", f"kill $(cat {world.folder}/hold.pid)")


def wrong_local_address(world: World) -> None:
    path = f'[path.{world.rung}]\nlocal = "192.0.2.1"\nremote = "{_remote(world)}"\npeer = "beta"\n'
    text = plan_text(world, duration=2).replace("[[experiment]]", path + "[[experiment]]", 1)
    run = Run(world, text)
    assert run.wait(60) == 1, run.said
    (trial,) = run.trials()
    assert not trial.ok and "192.0.2.1 is not an address of this appliance" in trial.reason


def _remote(world: World) -> str:
    shown = world.linkladder("run", "--plan", "quick", "--rung", world.rung, "--dry-run")
    out, _ = shown.communicate(timeout=30 * SLOW)
    return next(line.split(" to ")[1].split()[0] for line in out.splitlines() if " to " in line and "from " in line)


def window_refused(world: World) -> None:
    run = Run(world, plan_text(world, duration=2, more='window = "512M"'))
    assert run.wait(60) == 1, run.said
    (trial,) = run.trials()
    assert not trial.ok and trial.fault == "tool"
    assert "window" in trial.reason or "socket buffer" in trial.reason


ALL: tuple[Callable[[World], None], ...] = (
    server_killed,
    client_killed,
    link_down_and_up,
    channel_killed,
    agent_killed,
    run_killed,
    cancelled,
    tool_hangs,
    tool_prints_garbage,
    server_does_not_listen,
    port_taken,
    wrong_local_address,
    window_refused,
)
