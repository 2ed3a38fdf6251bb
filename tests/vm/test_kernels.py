"""A run whose arms are kernels: a machine restarts by itself, goes on, alone or with a peer, and ends with its own."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

from linkladder import formats, plan
from linkladder.model import RunState
from short_plans import short_plan

from .machine import SLOW, Machine, Shell
from .pair import Pair
from .test_failures import VmWorld, world

__all__ = ["world"]

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
        back = restarted(machine)
        shell = machine.root()
        assert shell.run("sysctl -n kern.ident")[1].strip() == "LINKLADDER"
        state, trials, planned, notes = json.loads(
            as_console(shell, "python3 /state/linkladder/seen.py").splitlines()[-1]
        )
        assert state == "complete", notes
        assert [kernel for _, kernel, _, _ in trials] == planned, "each in the boot that it was planned for"
        assert all(ok for _, _, ok, _ in trials), trials
        assert idents(machine)[1 : BOOTS + 1] == [IDENTS[kernel] for kernel in planned]
        assert len(planned) == BOOTS and back == (planned[-1] != "kernel")
        assert shell.run("ls /state/linkladder/restart.json")[0] != 0
    finally:
        machine.cut()


def test_the_built_in_plan_restarts_one_of_two_machines(world: VmWorld, pair: Pair) -> None:
    alpha, beta = pair.alpha, pair.beta
    starts, before = len(idents(alpha.machine)), len(idents(beta.machine))
    world.write("alpha", "/tmp/rss.toml", short_plan("rss", world.rung))
    alpha.user("(linkladder run --plan /tmp/rss.toml --peer beta --restart >/dev/null 2>&1 </dev/null &)")
    alpha.close()
    back = restarted(alpha.machine)
    alpha.open_way_in()
    document = formats.document(json.loads(alpha.user("linkladder show last --json").stdout))
    print(world.run("alpha", world.as_user("linkladder judge last"), check=False))
    assert document.run.state == RunState.COMPLETE, document.run.notes
    (rung,) = document.rungs
    trials = [(t.started, e.parameters.kernel, t.ok, t.reason) for e in rung.experiments for t in e.trials]
    assert all(ok for _, _, ok, _ in trials), trials
    planned = [boot.kernel for boot in plan.boots(document.run.plan)]
    loads = len(rung.experiments) // 2
    assert [kernel for _, kernel, _, _ in sorted(trials)] == [kernel for kernel in planned for _ in range(loads)]
    assert len(planned) == BOOTS and back == (planned[-1] != "kernel")
    assert idents(alpha.machine)[starts : starts + BOOTS] == [IDENTS[kernel] for kernel in planned]
    assert len(idents(beta.machine)) == before, "the other one restarted, too"
    assert not any("changed while" in note for note in document.run.notes), document.run.notes


def idents(machine: Machine) -> list[str]:
    """What each kernel that started said of itself."""
    return re.findall(rf"\b({'|'.join(IDENTS.values())}) amd64", machine.console.text)


def restarted(machine: Machine) -> bool:
    """Follow a run over its restarts to its end; whether the machine then restarted once more, to its own kernel."""
    for number in range(BOOTS):
        machine.console.expect(BOOT, 600)
        print(f"boot {number + 1} after {machine.seconds():.0f} s", flush=True)
    machine.console.expect("Read the report", 900)
    back = went_back(machine)
    machine.rooted = None
    return back


def went_back(machine: Machine) -> bool:
    """Whether the machine restarted once more after the run was complete: it says so 20 s before."""
    until = time.monotonic() + BACK * SLOW
    while time.monotonic() < until:
        if BOOT in machine.console.text[machine.console.read_to :]:
            machine.console.expect("Next step", 600)
            return True
        machine.console.pump(1.0)
    return False
