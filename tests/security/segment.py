"""One segment with machines on it, each a network namespace of its own: an appliance, its peer, and strangers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import spaces
from spaces import ip

TOP = Path(__file__).resolve().parents[2]
NET = "10.94.0"
WAIT = 60


class Segment:
    """Machines by name, at 10.94.0.1, .2 and so on, in the order of their names."""

    def __init__(self, prefix: str, names: Sequence[str]) -> None:
        self.prefix, self.names = prefix, tuple(names)

    def space(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def address(self, name: str) -> str:
        return f"{NET}.{self.names.index(name) + 1}"

    def up(self) -> None:
        self.down()
        for name in ("net", *self.names):
            ip("netns", "add", self.space(name))
            ip("-n", self.space(name), "link", "set", "lo", "up")
        # A bridge that snoops joins a group itself, and sends IGMP reports that its machines would count as received.
        ip("-n", self.space("net"), "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        ip("-n", self.space("net"), "link", "set", "br0", "up")
        for name in self.names:
            ip("link", "add", "te0", "netns", self.space(name), "type", "veth", "peer", "name", f"v{name[:12]}",
               "netns", self.space("net"))  # fmt: skip
            ip("-n", self.space("net"), "link", "set", f"v{name[:12]}", "master", "br0", "up")
            ip("-n", self.space(name), "addr", "add", f"{self.address(name)}/24", "brd", "+", "dev", "te0")
            ip("-n", self.space(name), "link", "set", "te0", "up")

    def down(self) -> None:
        spaces.remove(*(self.space(name) for name in ("net", *self.names)))

    def argv(self, name: str, *command: str | Path) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.space(name)}", *map(str, command)]

    def run(self, name: str, *command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": WAIT, **options}
        return subprocess.run(self.argv(name, *command), **settings)

    def start(self, name: str, *command: str | Path, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(self.argv(name, *command), text=True, **options)

    def python(self, name: str, script: str, *words: str) -> subprocess.Popen[str]:
        """A script that prints 'ready' once it is."""
        process = self.start(name, sys.executable, "-c", script, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout and process.stdout.readline() == "ready\n"
        return process

    def received(self, name: str) -> int:
        """IP packets that came in by the segment; ARP and the like do not count."""
        total = 0
        for line in self.run(name, "cat", "/proc/net/snmp").stdout.splitlines():
            if line.startswith("Ip: ") and line.split()[1].isdigit():
                total = int(line.split()[3])
        return total


@contextmanager
def segment(*names: str) -> Iterator[Segment]:
    made = Segment(f"lls{os.getpid()}", names)
    made.up()
    try:
        yield made
    finally:
        made.down()


class HostileAgent:
    """A real agent on a machine, and at the other end of its pipes a peer that asks for what it likes."""

    def __init__(self, world: Segment, name: str, state: Path, *options: str, **settings: str) -> None:
        environment = {**os.environ, "LINKLADDER_STATE": str(state), **settings}
        environment["LINKLADDER_TOOLS_PATH"] = str(TOP / ".work/netperf/usr/bin")
        pipe = subprocess.PIPE
        agent = [sys.executable, "-m", "linkladder", "agent", "--peer", "eve", *options]
        self.process = world.start(name, *agent, stdin=pipe, stdout=pipe, env=environment)
        self.number = 0

    def ask(self, verb: str, **args: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.number += 1
        self.process.stdin.write(json.dumps({"id": self.number, "verb": verb, "args": args}) + "\n")
        self.process.stdin.flush()
        while True:
            said: dict[str, Any] = json.loads(self.process.stdout.readline())
            if said.get("id") == self.number:
                return said

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
