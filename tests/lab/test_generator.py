"""The strongest setting of the generator, found between two real ends: never weaker than the default."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mischief
from linkladder.engine.generators import Generators
from linkladder.engine.strongest import LIMIT
from linkladder.model import Document, Generator
from test_failures import LabWorld
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabWorld]:
    with Lab("llg").paired() as lab:
        yield LabWorld(lab, tmp_path_factory.mktemp("generator"))


def measured(world: LabWorld) -> tuple[Document, str]:
    text = mischief.plan_text(world, duration=2, streams=2).replace("streams = 2", 'streams = "auto"')
    run = mischief.Run(world, text)
    _, told = run.process.communicate(timeout=90)
    assert run.process.returncode == 0, told
    return run.document(), told


def test_it_is_found_in_time_said_used_and_kept(world: LabWorld) -> None:
    document, told = measured(world)
    (kept,) = Generators(world.lab.state("alpha")).kept()
    best, default = kept.strength.looked[0], next(o for o in kept.strength.looked if o.generator == Generator())
    assert best.bps / default.bps >= 1 and kept.strength.seconds <= LIMIT
    looks = [one.looks for one in kept.strength.looked]
    # Two of its one second for each look are a machine on which there was time for two ways and a final.
    assert max(looks) > 1 and (len(looks) >= 3 or kept.strength.seconds / sum(looks) > 2)
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
