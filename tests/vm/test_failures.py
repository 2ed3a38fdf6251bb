"""The failures of tests/lab/mischief.py on two FreeBSD machines.

With LINKLADDER_IMAGE two machines are started from it.  Two that run already are used instead where LINKLADDER_ALPHA
and LINKLADDER_BETA are commands that run their last argument as root on them, for instance "ssh -p 2201
root@127.0.0.1"; LINKLADDER_TEST_INTERFACE is then the interface under test there (vmx1), LINKLADDER_RUNG the rung
whose path link.toml of alpha describes (same-vlan), LINKLADDER_USER whose state it is (root's where not given).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

import mischief

from .pair import PROGRAM, USER

GIVEN = {"alpha": os.environ.get("LINKLADDER_ALPHA", ""), "beta": os.environ.get("LINKLADDER_BETA", "")}
IPERF = "/usr/local/bin/iperf"


class VmWorld:
    """Two FreeBSD machines as a mischief.World."""

    rung = os.environ.get("LINKLADDER_RUNG", "same-vlan")
    folder = "/tmp/mischief"
    python = os.environ.get("LINKLADDER_PYTHON", "/usr/local/bin/python3")
    program = os.environ.get("LINKLADDER_PROGRAM", PROGRAM)

    def __init__(self, commands: Mapping[str, Sequence[str]], user: str) -> None:
        self.commands, self.user = commands, user

    def run(self, site: str, script: str, check: bool = True) -> str:
        argv = [*self.commands[site], script]
        done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        assert not check or done.returncode == 0, f"{script}: {done.stderr}"
        return done.stdout

    def as_user(self, line: str) -> str:
        return f"su -m {self.user} -c {shlex.quote('exec ' + line)}" if self.user else line

    def linkladder(self, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        settings = [f"{k}={v}" for k, v in (env or {}).items()]
        line = shlex.join(["env", *settings, *shlex.split(self.program), *args])
        pipe = subprocess.PIPE
        argv = [*self.commands["alpha"], self.as_user(line)]
        return subprocess.Popen(argv, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, text=True)

    def write(self, site: str, path: str, text: str, mode: int = 0o644) -> None:
        name, folder = shlex.quote(path), shlex.quote(os.path.dirname(path))
        script = f"mkdir -p {folder}; cat > {name}; chmod {mode:o} {name}"
        subprocess.run([*self.commands[site], script], input=text, text=True, check=True)

    def processes(self, site: str) -> dict[int, str]:
        found = {}
        for line in self.run(site, "ps -axww -o pid= -o stat= -o command=").splitlines():
            pid, stat, command = line.split(None, 2)
            if "Z" not in stat:
                found[int(pid)] = command
        return found

    def path_interface(self, site: str) -> str:
        return os.environ.get("LINKLADDER_TEST_INTERFACE", "vmx1")

    @contextmanager
    def false_iperf(self, site: str, script: str) -> Iterator[dict[str, str]]:
        """Over the image's own: what runs as another user there has an environment of its own."""
        self.run(site, f"mv {IPERF} {IPERF}.real")
        try:
            self.write(site, IPERF, script, 0o755)
            yield {}
        finally:
            self.run(site, f"mv {IPERF}.real {IPERF}")


@pytest.fixture
def world(request: pytest.FixtureRequest) -> VmWorld:
    if all(GIVEN.values()):
        return VmWorld({k: shlex.split(v) for k, v in GIVEN.items()}, os.environ.get("LINKLADDER_USER", ""))
    pair = request.getfixturevalue("pair")
    pair.paired()
    pair.describe()
    return VmWorld({"alpha": pair.alpha.command(), "beta": pair.beta.command()}, USER)


@pytest.mark.parametrize("failure", mischief.ALL, ids=lambda f: f.__name__)
def test_failure(failure: Callable[[mischief.World], None], world: VmWorld) -> None:
    began = time.monotonic()
    failure(world)
    print(f"{failure.__name__}: as promised, {time.monotonic() - began:.0f} s in all")
