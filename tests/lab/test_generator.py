"""The strongest setting of the generator, found between two real ends: never weaker than the default."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
from linkladder import state
from linkladder.engine.generators import Generators
from linkladder.engine.strongest import LIMIT
from linkladder.model import Document, Generator
from network import GENTLE
from test_failures import LabWorld
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]
PLAIN = (Generator().tool, None)
SLACK = 0.1  # seconds between two readings of the clock, on a busy machine
# `linkladder`, with each look written down: when it began and ended, counted from the search's beginning.  The path is
# paced, so that all ways carry the same; plain iperf is told to be as weak as it is on paths that are not.
NOTED = """
import json, sys, time
from pathlib import Path
from linkladder import cli
from linkladder.engine import generators
from linkladder.model import Generator

search = generators.search

async def noted(ways, streams, look):
    began, looks = time.monotonic(), []

    async def one(generator):
        at = time.monotonic()
        bps = await look(generator)
        looks.append((str(generator), at - began, time.monotonic() - began))
        return bps / 4 if (generator.tool, generator.write_size) == (Generator().tool, None) else bps

    strength = await search(ways, streams, one)
    Path(sys.argv[1]).write_text(json.dumps(looks))
    return strength

generators.search = noted
sys.exit(cli.main(sys.argv[2:]))
"""


class Noting(LabWorld):
    """The lab as a mischief.World whose looks are written down."""

    def linkladder(self, *args: str, env: dict[str, str] | None = None, site: str = "alpha") -> subprocess.Popen[str]:
        argv = self.lab.command(site, [sys.executable, "-c", NOTED, f"{self.folder}/looks", *args], env)
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, text=True)

    def looks(self) -> list[tuple[str, float, float]]:
        return [(name, began, ended) for name, began, ended in json.loads(Path(f"{self.folder}/looks").read_text())]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Noting]:
    with Lab("llg", inside=GENTLE).paired() as lab:
        yield Noting(lab, tmp_path_factory.mktemp("generator"))


def measured(world: LabWorld) -> tuple[Document, str]:
    text = mischief.plan_text(world, duration=2, streams=2).replace("streams = 2", 'streams = "auto"')
    run = mischief.Run(world, text)
    _, told = run.process.communicate(timeout=90)
    assert run.process.returncode == 0, told
    return run.document(), told


def test_it_is_found_in_time_said_used_and_kept(world: Noting) -> None:
    document, told = measured(world)
    (kept,) = Generators(world.lab.state("alpha")).kept()
    best = kept.strength.looked[0]
    plain, others = (
        [o.bps for o in kept.strength.looked if ((o.generator.tool, o.generator.write_size) == PLAIN) is weak]
        for weak in (True, False)
    )
    if others:  # else each look took so long that there was time for one way alone
        assert best.bps == max(others) > 2 * max(plain, default=0.0)
    # However slow the machine is: what might not end in time is not begun, and only for that there is no final.
    looks = world.looks()
    longest = 0.0
    for n, (_, began, ended) in enumerate(looks):
        assert n == 0 or began + longest <= LIMIT + SLACK, looks
        longest = max(longest, ended - began)
    final = max(Counter(name for name, _, _ in looks).values()) > 1
    assert final or looks[-1][2] + longest > LIMIT - SLACK, looks
    (rung,) = (r for r in document.rungs if r.experiments)
    (used,) = (e.parameters for e in rung.experiments)
    assert best.generator.of(used) == used and used.strongest
    argv = next(c.argv for c in rung.experiments[0].trials[0].commands if c.role == "client")
    assert argv[0].rpartition("/")[2] == best.generator.tool
    assert ("-l" in argv) == bool(best.generator.write_size)
    said = next(note for note in document.run.notes if "strongest" in note)
    assert said in told and "Looking for the setting" in told

    again, told = measured(world)
    assert "Looking for the setting" not in told
    assert [e.parameters for r in again.rungs for e in r.experiments] == [used]
    shown, _ = world.linkladder("run", "--plan", "quick", "--rung", world.rung, "--dry-run").communicate(timeout=60)
    assert "the generator is strongest by " in shown


def looking(world: Noting) -> int | None:
    """The pid of a client at alpha, whatever tool it is of."""
    found = world.processes("alpha").items()
    return next((pid for pid, line in found if "iperf" in line.split(" ", 1)[0] and "-c" in line.split()), None)


def test_a_search_that_lost_the_far_end_begins_again_when_it_is_back(world: Noting) -> None:
    """The rung was measured with the plan's own weak setting, and not a word was said."""
    (world.lab.state("alpha") / state.GENERATORS).unlink(missing_ok=True)
    text = mischief.plan_text(world, duration=2, streams=2).replace("streams = 2", 'streams = "auto"')
    run = mischief.Run(world, text)
    mischief.until(lambda: looking(world), mischief.PATIENCE, "nothing was looked at")
    world.run("beta", f"kill -9 {mischief.agent(world)}")
    assert run.wait(120) == 0, run.said
    (kept,) = Generators(world.lab.state("alpha")).kept()
    document = run.document()
    (used,) = (e.parameters for r in document.rungs for e in r.experiments)
    assert kept.strength.looked[0].generator.of(used) == used
    assert run.said.count("Looking for the setting") == 2 and any("strongest by" in note for note in document.run.notes)
