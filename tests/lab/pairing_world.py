"""Two unpaired appliances, a router between them, a third host: real namespaces, real sshd, an unprivileged user."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

import spaces
from network import GENTLE, bucket
from taken import hold, release

TOP = Path(__file__).resolve().parents[2]
SITES = ("alpha", "beta")
APPLIANCES = (*SITES, "third")
SPACES = (*APPLIANCES, "router")
UID = 4242
PATIENCE = 60.0  # seconds for what has no limit of its own: the machine may be busy with other tests
SEGMENT = {"alpha": "10.91.0.1", "beta": "10.91.0.2"}
ROUTED = {"alpha": "10.91.1.1", "beta": "10.91.2.2", "third": "10.91.3.3"}
ROUTED6 = {"alpha": "fd91:1::1", "beta": "fd91:2::2", "third": "fd91:3::3"}


def sh(*argv: str, check: bool = True) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def readable_python() -> tuple[str, dict[str, str]]:
    """This interpreter, or the system's with this one's packages where a home folder hides this one."""
    as_user = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "env", "-i"]
    packages = ":".join([str(TOP / "tui" / "src"), *(p for p in sys.path if p.endswith("site-packages"))])
    for python, libraries in ((sys.executable, {}), ("/usr/bin/python3", {"PYTHONPATH": packages})):
        words = [
            *as_user,
            *(f"{k}={v}" for k, v in libraries.items()),
            python,
            "-c",
            "import linkladder.commands.pairing",
        ]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return python, libraries
    pytest.skip("no Python that another user may run: this one lies in a closed folder")


class World:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.folder = Path("/var/lib") / prefix
        self.sshd: dict[str, subprocess.Popen[bytes]] = {}
        self.children: list[subprocess.Popen[str]] = []
        self.interpreter, self.libraries = readable_python()

    def space(self, site: str) -> str:
        return f"{self.prefix}-{site}"

    def state(self, site: str) -> Path:
        return self.folder / site / "state"

    # --- up and down

    @contextlib.contextmanager
    def standing(self) -> Iterator[Self]:
        """Up, then gone; what a crashed one of the same name left goes first."""
        lock = hold(self.prefix)
        try:
            self._clear()
            self._build()
            yield self
        finally:
            self._clear()
            release(self.prefix, lock)

    def _build(self) -> None:
        for site in SPACES:
            sh("ip", "netns", "add", self.space(site))
            for key in ("all", "default"):
                self.within(site, "sysctl", "-qw", f"net.ipv6.conf.{key}.accept_dad=0")
            self.within(site, "ip", "link", "set", "lo", "up")
        self._veth("alpha", "seg0", "beta", "seg0")
        for site in SITES:
            self.within(site, "ip", "addr", "add", f"{SEGMENT[site]}/24", "dev", "seg0")
        self.within("router", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        for site in APPLIANCES:
            self._veth(site, "rt0", "router", f"to{site}")
            self.within(site, "tc", "qdisc", "replace", "dev", "rt0", "root", *bucket(GENTLE, 50))
            for address, length, via in ((ROUTED[site], 24, ".254"), (ROUTED6[site], 64, "::fe")):
                router = address.rsplit("." if length == 24 else "::", 1)[0] + via
                self.within(site, "ip", "addr", "add", f"{address}/{length}", "dev", "rt0")
                self.within("router", "ip", "addr", "add", f"{router}/{length}", "dev", f"to{site}")
                family, net = ("-4", "10.91.0.0/16") if length == 24 else ("-6", "fd91::/16")
                self.within(site, "ip", family, "route", "add", net, "via", router)
        users = Path("/etc/passwd").read_text() + f"ladder:x:{UID}:{UID}::{self.folder}:/bin/sh\n"
        hosts = Path("/etc/hosts").read_text() + f"{ROUTED6['beta']} beta.example\n"
        for site in APPLIANCES:
            own = Path("/etc/netns") / self.space(site)
            own.mkdir(parents=True, exist_ok=True)
            (own / "passwd").write_text(users)
            (own / "hosts").write_text(hosts)
            self.state(site).mkdir(mode=0o700, parents=True)
            os.chown(self.state(site), UID, UID)
        deadline = time.monotonic() + 5
        while not all("fe80:" in self.within(s, "ip", "-6", "addr", "show", "dev", "seg0") for s in SITES):
            assert time.monotonic() < deadline, "no link-local addresses"
            time.sleep(0.05)

    def _clear(self) -> None:
        self._end_children()
        for one in self.sshd.values():
            one.terminate()
            one.wait()
        self.sshd.clear()
        for site in SPACES:
            spaces.remove(self.space(site))
            shutil.rmtree(Path("/etc/netns") / self.space(site), ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _veth(self, one: str, name: str, other: str, other_name: str) -> None:
        sh("ip", "link", "add", name, "netns", self.space(one), "type", "veth", "peer", "name", other_name,
           "netns", self.space(other))  # fmt: skip
        self.within(one, "ip", "link", "set", name, "up")
        self.within(other, "ip", "link", "set", other_name, "up")

    # --- programs

    def within(self, site: str, *argv: str, check: bool = True) -> str:
        return sh("ip", "netns", "exec", self.space(site), *argv, check=check)

    def command(self, site: str, *argv: str) -> list[str]:
        """As the appliance's own unprivileged user."""
        drop = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
        settings = {"LINKLADDER_STATE": str(self.state(site)), "HOME": str(self.folder), **self.libraries,
                    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}  # fmt: skip
        pairs = [f"{k}={v}" for k, v in settings.items()]
        return ["ip", "netns", "exec", self.space(site), *drop, "env", "-i", *pairs, *argv]

    def linkladder(self, site: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = self.command(site, self.interpreter, "-m", "linkladder", *words)
        return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)

    def python(self, site: str, code: str, *words: str) -> subprocess.CompletedProcess[str]:
        argv = self.command(site, self.interpreter, "-c", code, *words)
        return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)

    def pair(self, site: str, *words: str, name: str = "") -> Talk:
        argv = [self.interpreter, "-u", "-m", "linkladder", "pair", "--name", name or site, "--minutes", "1", *words]
        talk = Talk(self.command(site, *argv))
        self.children.append(talk.process)
        return talk

    def start_sshd(self, site: str) -> None:
        """Configured as the user, started as root, as on the appliance."""
        call = f"sshd.ensure_config(state.folder(), 'ladder', ('0.0.0.0', '::'), 8622, {self.libraries!r})"
        code = f"from linkladder import state; from linkladder.trust import sshd; print({call})"
        config = self.python(site, code)
        assert config.returncode == 0, config.stderr
        Path("/run/sshd").mkdir(exist_ok=True)
        log = (self.folder / site / "sshd.log").open("ab")
        self.sshd[site] = subprocess.Popen(
            ["ip", "netns", "exec", self.space(site), "/usr/sbin/sshd", "-D", "-e", "-f", config.stdout.strip()],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 5
        while ":8622" not in self.within(site, "ss", "-Hltn"):
            assert time.monotonic() < deadline, (self.folder / site / "sshd.log").read_text()
            time.sleep(0.05)

    def peers(self, site: str) -> list[str]:
        """As stored; what the command says is tested once."""
        path = self.state(site) / "peers.json"
        return [p["name"] for p in json.loads(path.read_text())] if path.exists() else []

    def forget(self) -> None:
        """No window is open, and all know nobody again."""
        self._end_children()
        for site in APPLIANCES:
            for file in ("peers.json", "sshd/authorized_keys"):
                (self.state(site) / file).unlink(missing_ok=True)

    def _end_children(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
        self.children.clear()

    def middle(self, *words: str, site: str = "router") -> Talk:
        """`pairing_middle.py` in a namespace; in the router as root, at an end as its user."""
        script = [str(TOP / "tests" / "lab" / "pairing_middle.py"), *words]
        argv = ["ip", "netns", "exec", self.space(site), sys.executable, *script]
        if site != "router":
            argv = self.command(site, self.interpreter, *script)
        talk = Talk(argv)
        self.children.append(talk.process)
        return talk

    def ssh(self, site: str, to: str = "beta") -> list[str]:
        """The client as linkladder runs it."""
        code = ("import sys; from linkladder.trust import peers;"
                "print(chr(0).join(peers.ssh_command(peers.find(sys.argv[1]))))")  # fmt: skip
        done = self.python(site, code, to)
        assert done.returncode == 0, done.stderr
        return self.command(site, *done.stdout.rstrip("\n").split("\0"))


class Talk:
    """A `linkladder pair` with a person in front of it."""

    def __init__(self, argv: list[str]) -> None:
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
        )
        self.lines: list[str] = []
        self.due = ""  # what the other console shows
        self._queue: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._queue.put(line.rstrip("\n"))

    def until(self, mark: str, seconds: float = PATIENCE) -> str:
        """The first line with the mark, from where the last one was found."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._queue.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {mark!r} in:\n" + "\n".join(self.lines)) from None
            self.lines.append(line)
            if mark in line:
                return line

    def rest(self) -> list[str]:
        """All that was said so far."""
        while True:
            try:
                self.lines.append(self._queue.get(timeout=0.2))
            except queue.Empty:
                return self.lines

    def code(self) -> str:
        return self.until("code: ").removeprefix("code: ")

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def confirm(self) -> None:
        self.say(self.due)

    def wait(self, seconds: float = PATIENCE) -> int:
        return self.process.wait(seconds)

    def die(self) -> None:
        self.process.kill()
        self.process.wait()


def ready(one: Talk, other: Talk) -> None:
    """Both consoles show their codes, and each person has looked at the other one."""
    shown = one.code(), other.code()
    assert shown[0] != shown[1]
    one.due, other.due = shown[1][:7], shown[0][:7]


def agree(one: Talk, other: Talk) -> None:
    """Both people type what the other console shows."""
    ready(one, other)
    for talk in (one, other):
        talk.confirm()
    for talk in (one, other):
        talk.until("paired with")
        assert talk.wait() == 0


def opened(world: World, site: str, *words: str, name: str = "") -> Talk:
    """Its pairing window is open."""
    talk = world.pair(site, *words, name=name)
    talk.until("pairing is open")
    return talk


HALF_OPEN = """
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
held = []
for port in sys.argv[3:]:
    for _ in range(1000):
        one = socket.socket()
        one.bind((sys.argv[1], 0))
        one.setblocking(False)
        one.connect_ex((sys.argv[2], int(port)))
        held.append(one)
time.sleep(1)
print("held", flush=True)
time.sleep(120)
"""


def flood(world: World, source: str, *ports: str) -> subprocess.Popen[str]:
    """A thousand connections a port from an address of the third host, which then say nothing."""
    argv = [
        "ip",
        "netns",
        "exec",
        world.space("third"),
        sys.executable,
        "-c",
        HALF_OPEN,
        source,
        ROUTED["beta"],
        *ports,
    ]
    one = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert one.stdout and one.stdout.readline() == "held\n"
    return one
