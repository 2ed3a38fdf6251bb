"""What a staircase won, kept on an appliance: asked about, put back on no, on silence and with who asks, kept on yes.

What tests/lab/test_leases.py tries on Linux up to the question, with the operator's verbs and the boot that follow.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from dataclasses import replace

import pytest

from linkladder import codec
from linkladder.model import Document, End, Path, Setting, SettingKind
from staircases import climbed

from .machine import SLOW, WRITTEN
from .pair import PROGRAM, USER, Pair
from .test_failures import VmWorld, world
from .test_loans import JOURNAL, UNDO, put_back

__all__ = ["world"]

FILE = "/var/tmp/won.json"
RC_CONF = "/state/system/rc.conf"
NEAR = (End.NEAR,)
WON = (
    Setting(SettingKind.MTU, "9000"),
    Setting(SettingKind.TSO, "off", NEAR),
    Setting(SettingKind.LRO, "off", NEAR),
    Setting(SettingKind.CONGESTION, "htcp", NEAR),
)
KEPT = {"linkladder_mtu_vmx1": "9000", "linkladder_offloads_vmx1": "-tso -lro", "linkladder_congestion": "htcp"}
BEFORE, INSIDE = ("1500", True, True, "cubic", "no"), ("9000", False, False, "htcp", "yes")


def won(pair: Pair) -> Document:
    """A staircase as if these had won on the test adapters."""
    made = climbed()
    path = Path(pair.alpha.test, pair.beta.test, "beta", "vmx1", "vmx1")
    rungs = []
    for rung in made.rungs:
        arms = tuple(
            replace(e, parameters=replace(e.parameters, settings=WON)) if e.parameters.settings else e
            for e in rung.experiments
        )
        rungs.append(replace(rung, paths=(path,), experiments=arms))
    return replace(made, rungs=tuple(rungs))


def now(world: VmWorld) -> tuple[str, bool, bool, str, str]:
    """What alpha has of them, as the system's own programs tell, and whether the module is loaded."""
    module = "kldstat -q -n cc_htcp && echo loaded || :"
    said = world.run("alpha", f"ifconfig vmx1; sysctl net.inet.tcp.cc.algorithm; {module}")
    mtu, options = re.search(r"mtu (\d+)", said), re.search(r"options=[0-9a-f]+<([^>]*)>", said)
    algorithm = re.search(r"cc\.algorithm: (\w+)", said)
    assert mtu and options and algorithm, said
    flags = options[1].split(",")
    return mtu[1], "TSO4" in flags, "LRO" in flags, algorithm[1], "yes" if "loaded" in said else "no"


def kept(world: VmWorld) -> dict[str, str]:
    lines = world.run("alpha", f"cat {RC_CONF}").splitlines()
    found = {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}
    return {name: value for name, value in found.items() if name in KEPT}


class Asked:
    """`linkladder keep` on a terminal of alpha's, up to its question."""

    def __init__(self, pair: Pair) -> None:
        *way, target = pair.alpha.command()
        line = f"su -m {USER} -c '{PROGRAM} keep {FILE}'"
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*way, "-tt", target, line], stdin=pipe, stdout=pipe, text=True)
        self.said = ""
        self.began = time.monotonic()
        assert self.process.stdout
        while not self.said.endswith("unless you type yes: "):
            letter = self.process.stdout.read(1)
            assert letter, self.said
            self.said += letter

    def answer(self, text: str = "", within: float = 60) -> tuple[int, str]:
        """What it does once the line is typed; '' for silence."""
        said, _ = self.process.communicate(f"{text}\n" if text else None, timeout=within * SLOW)
        return self.process.returncode, said.replace("\r", "")


@pytest.fixture
def waiting(pair: Pair, world: VmWorld) -> Asked:
    world.write("alpha", FILE, json.dumps(codec.to_json(won(pair))))
    assert now(world) == BEFORE and not kept(world)
    asked = Asked(pair)
    assert now(world) == INSIDE, asked.said
    return asked


def nothing_is_kept(world: VmWorld) -> None:
    assert now(world) == BEFORE and not kept(world)
    assert not [one for one in world.processes("alpha").values() if re.search(UNDO, one)]
    assert not world.run("alpha", f"cat {JOURNAL} 2>/dev/null", check=False)


def test_no_puts_all_of_it_back(world: VmWorld, waiting: Asked) -> None:
    status, said = waiting.answer("no")
    assert status == 1 and "put back: nothing is kept" in said, said
    assert "at beta: linkladder system mtu vmx1 9000" in said, said
    nothing_is_kept(world)


def test_who_does_not_answer_has_it_put_back_when_the_minute_is_over(world: VmWorld, waiting: Asked) -> None:
    put_back(world, "alpha", within=90)
    print(f"put back {time.monotonic() - waiting.began:.0f} s after the command")
    waiting.answer()
    nothing_is_kept(world)


def test_it_is_put_back_when_the_one_who_asks_is_killed(world: VmWorld, waiting: Asked) -> None:
    world.run("alpha", "pkill -9 -f 'linkladder keep'")
    print(f"put back after {put_back(world, 'alpha', within=30):.0f} s")
    waiting.answer()
    nothing_is_kept(world)


def test_yes_keeps_it_over_a_boot_until_it_is_undone(pair: Pair, world: VmWorld, waiting: Asked) -> None:
    status, said = waiting.answer("yes", within=120)
    assert status == 0 and "kept, now and after every boot" in said, said
    assert now(world) == INSIDE and kept(world) == KEPT
    world.run("alpha", WRITTEN)
    pair.alpha.close()
    pair.alpha.machine.cut()
    pair.alpha.machine.start()
    pair.alpha.machine.await_tui()
    pair.alpha.open_way_in()
    assert now(world) == INSIDE and kept(world) == KEPT
    as_user = f"su -m {USER} -c '{PROGRAM} system "
    for undo in ("mtu vmx1 1500", "offloads vmx1 tso=on lro=on", "congestion cubic"):
        world.run("alpha", f"{as_user}{undo}'")
    assert now(world)[:4] == BEFORE[:4]
