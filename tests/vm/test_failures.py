"""The failures of tests/lab/mischief.py on two FreeBSD machines.

LINKLADDER_ALPHA and LINKLADDER_BETA are commands that run their last argument as root on the two paired
machines, for instance "ssh -p 2201 root@127.0.0.1"; LINKLADDER_TEST_INTERFACE is the interface under test there
(vmx1), and LINKLADDER_RUNG the rung whose path link.toml of alpha describes (same-vlan).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable

import pytest

import mischief

SITES = {"alpha": os.environ.get("LINKLADDER_ALPHA", ""), "beta": os.environ.get("LINKLADDER_BETA", "")}
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not all(SITES.values()), reason="LINKLADDER_ALPHA and LINKLADDER_BETA name no two paired FreeBSD machines"
    ),
]


class VmWorld:
    """Two FreeBSD machines as a mischief.World."""

    rung = os.environ.get("LINKLADDER_RUNG", "same-vlan")
    folder = "/tmp/mischief"
    python = os.environ.get("LINKLADDER_PYTHON", "python3")
    program = os.environ.get("LINKLADDER_PROGRAM", "linkladder")

    def run(self, site: str, script: str, check: bool = True) -> str:
        done = subprocess.run([*shlex.split(SITES[site]), script], capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{script}: {done.stderr}"
        return done.stdout

    def linkladder(self, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        settings = [f"{k}={v}" for k, v in (env or {}).items()]
        line = shlex.join(["env", *settings, *shlex.split(self.program), *args])
        pipe = subprocess.PIPE
        argv = [*shlex.split(SITES["alpha"]), line]
        return subprocess.Popen(argv, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, text=True)

    def write(self, site: str, path: str, text: str, mode: int = 0o644) -> None:
        name, folder = shlex.quote(path), shlex.quote(os.path.dirname(path))
        script = f"mkdir -p {folder}; cat > {name}; chmod {mode:o} {name}"
        subprocess.run([*shlex.split(SITES[site]), script], input=text, text=True, check=True)

    def processes(self, site: str) -> dict[int, str]:
        found = {}
        for line in self.run(site, "ps -axww -o pid= -o stat= -o command=").splitlines():
            pid, stat, command = line.split(None, 2)
            if "Z" not in stat:
                found[int(pid)] = command
        return found

    def path_interface(self, site: str) -> str:
        return os.environ.get("LINKLADDER_TEST_INTERFACE", "vmx1")

    def far_environment(self, **settings: str) -> None:
        code = (
            "import json, sys; from linkladder import state; from linkladder.pairing import sshd;"
            "base = state.folder(); (base / 'sshd' / 'environment.json').write_text(sys.argv[1]);"
            "sshd.write_authorized(base)"
        )
        self.run("beta", shlex.join([self.python, "-c", code, json.dumps(settings)]))


@pytest.mark.parametrize("failure", mischief.ALL, ids=lambda f: f.__name__)
def test_failure(failure: Callable[[mischief.World], None]) -> None:
    failure(VmWorld())
