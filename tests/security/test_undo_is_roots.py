"""The undo of a loan is a process of root's: who measures, even if broken into, cannot keep what it has on loan."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
import spaces
import users
from network import GENTLE
from world import Lab

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not shutil.which("doas"), reason="needs doas (Debian's opendoas)"),
]
HOLDS = """
import asyncio, os, signal, sys
from linkladder import privilege, settings
privilege.restrict()
# On Linux the door would be sudo; here it is the appliance's.
privilege.command = lambda verb, *args: ["/usr/bin/doas", "-n", sys.argv[1], verb, *args]
def undoing():
    "The door that waits, where doas leaves one, and what it has started: all below this process."
    found = [os.getpid()]
    for parent in found:
        found += map(int, open(f"/proc/{parent}/task/{parent}/children").read().split())
    for pid in found[1:]:
        yield pid, open(f"/proc/{pid}/cmdline").read().replace("\\0", " ")
async def main():
    lease = settings.Lease([settings.mtu("sh0", 9000)], settings.Undo(60))
    print(*await lease.acquire(), flush=True)
    for pid, line in undoing():
        try:
            os.kill(pid, signal.SIGKILL)
            print("killed", line, flush=True)
        except PermissionError:
            print("may not kill", line, flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print(*await lease.release(), flush=True)
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("llur", inside=GENTLE, two_users=True).unpaired() as made:
        yield made


def mtu(lab: Lab) -> int:
    return int(json.loads(spaces.ip("-n", lab.space("alpha"), "-j", "link", "show", "dev", "sh0"))[0]["mtu"])


def journal(lab: Lab) -> Path:
    return lab.folder / lab.prefix / "alpha" / "measure" / "settings.journal"


def held(lab: Lab, how: str) -> list[str]:
    """What a holder prints that runs as the measuring user, which has the appliance's door to root alone."""
    base = lab.folder / lab.prefix / "alpha"
    door = base / "door"
    door.write_text(f'#!/bin/sh\nexec {sys.executable} -I -m linkladder.priv measure "$@"\n')
    door.chmod(0o755)
    conf = lab.folder / lab.prefix / "etc" / "doas.conf"
    conf.write_text(f"{conf.read_text()}permit nopass {users.MEASURER[0]} as root cmd {door}\n")
    console, measurer = (str(one[1]) for one in (users.CONSOLE, users.MEASURER))
    argv = lab.command("alpha", [sys.executable, "-c", HOLDS, str(door), how], {"LINKLADDER_STATE": f"{base}/measure"})
    argv = [word.replace(f"id={console}", f"id={measurer}") for word in argv]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=90)
    assert (done.returncode == 0) == (how != "killed"), done.stderr
    return done.stdout.splitlines()


def none_left(lab: Lab) -> bool | None:
    undoing = any(
        " undo" in line or "linkladder.settings" in line for line in spaces.processes(lab.space("alpha")).values()
    )
    return True if mtu(lab) == 1500 and not journal(lab).exists() and not undoing else None


def test_who_holds_a_loan_can_give_it_back_and_cannot_kill_its_undo(lab: Lab) -> None:
    lent, *tried, back = held(lab, "gives it back")
    assert lent == "mtu sh0: 1500 -> 9000" and back == "mtu sh0: 9000 -> 1500"
    assert any(re.match(r"may not kill .*linkladder\.priv measure undo", line) for line in tried), tried
    assert none_left(lab)


def test_when_everything_of_the_holders_is_killed_root_puts_it_back(lab: Lab) -> None:
    assert held(lab, "killed")[0] == "mtu sh0: 1500 -> 9000"
    mischief.until(lambda: none_left(lab), 20, "it was not put back")
