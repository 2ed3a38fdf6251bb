"""A run whose arms are kernels, on one machine: it restarts by itself, goes on, and ends with the own kernel."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

from .machine import SLOW, Machine, Shell

PLAN = """name = "boots"
[[experiment]]
rungs = ["localhost"]
streams = 1
duration = 2
warmup = 1
repeats = 4
kernel = "generic"
baseline = {kernel = "kernel"}
"""
SEEN = """
import json
import time
from linkladder import plan, state
from linkladder.store import Store
run = Store(state.folder()).load("last", output=False)
trials = [(t.started, e.parameters.kernel, t.ok, t.reason) for r in run.rungs for e in r.experiments for t in e.trials]
print(json.dumps([run.run.state, sorted(trials), [b.kernel for b in plan.boots(run.run.plan)], list(run.run.notes)]))
"""
BOOT, BOOTS = "---<<BOOT>>---", 8
IDENTS = {"kernel": "LINKLADDER", "generic": "GENERIC"}
BACK = 60.0  # seconds in which a machine that counts down has begun to start anew


def as_console(shell: Shell, command: str, seconds: float = 300) -> str:
    status, said = shell.run(f"su -m linkladder -c '{command}' 2>&1", seconds)
    assert status == 0, said
    return said


def test_two_kernels_are_compared_in_whole_boots(image: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path, image, "kernels", 13)
    try:
        machine.start()
        machine.await_tui()
        shell = machine.root()
        for name, text in (("boots.toml", PLAN), ("seen.py", SEEN)):
            assert shell.run(f"printf %s {shlex.quote(text)} >/tmp/{name}")[0] == 0
        shell.run("cp /tmp/seen.py /state/linkladder/ && chown linkladder /state/linkladder/seen.py")
        assert "restarts this machine" in as_console(shell, "linkladder plan check /tmp/boots.toml")
        shell.run(
            "(su -m linkladder -c 'linkladder run --plan /tmp/boots.toml --restart' >/dev/null 2>&1 </dev/null &)"
        )
        for number in range(BOOTS):
            machine.console.expect(BOOT, 600)
            print(f"boot {number + 1} after {machine.seconds():.0f} s", flush=True)
        machine.console.expect("Read the report", 900)
        back = went_back(machine)
        machine.rooted = None
        shell = machine.root()
        assert shell.run("sysctl -n kern.ident")[1].strip() == "LINKLADDER"
        state, trials, planned, notes = json.loads(
            as_console(shell, "python3 /state/linkladder/seen.py").splitlines()[-1]
        )
        assert state == "complete", notes
        assert [kernel for _, kernel, _, _ in trials] == planned, "each in the boot that it was planned for"
        assert all(ok for _, _, ok, _ in trials), trials
        booted = re.findall(rf"\b({'|'.join(IDENTS.values())}) amd64", machine.console.text)
        assert booted[1 : BOOTS + 1] == [IDENTS[kernel] for kernel in planned], "what each kernel said of itself"
        assert len(planned) == BOOTS and back == (planned[-1] != "kernel")
        assert shell.run("ls /state/linkladder/restart.json")[0] != 0
    finally:
        machine.cut()


def went_back(machine: Machine) -> bool:
    """Whether the machine restarted once more after the run was complete: it says so 20 s before."""
    until = time.monotonic() + BACK * SLOW
    while time.monotonic() < until:
        if BOOT in machine.console.text[machine.console.read_to :]:
            machine.console.expect("Next step", 600)
            return True
        machine.console.pump(1.0)
    return False
