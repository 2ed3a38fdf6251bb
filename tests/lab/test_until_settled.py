"""Repeats that the engine leaves open, between two real ends: no more than the verdict needs, and no fewer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

import mischief
from linkladder import judge
from linkladder.model import Document, RungResult
from network import GENTLE
from test_failures import LabWorld
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabWorld]:
    with Lab("llu", inside=GENTLE).paired() as lab:
        yield LabWorld(lab, tmp_path_factory.mktemp("settled"))


MOST = 8


def asked(world: LabWorld) -> str:
    return mischief.plan_text(world, duration=2, repeats=2, more=f"at_most = {MOST}")


def with_repeats(document: Document, count: int) -> tuple[RungResult, Document]:
    """As it stood after so many repeats."""
    (rung,) = document.rungs
    (only,) = rung.experiments
    rung = dataclasses.replace(rung, experiments=(dataclasses.replace(only, trials=only.trials[:count]),))
    return rung, dataclasses.replace(document, rungs=(rung,))


def test_repeats_end_with_the_first_clear_answer(world: LabWorld) -> None:
    run = mischief.Run(world, asked(world))
    assert run.wait() == 0, run.said
    document = run.document()
    (experiment,) = (e for r in document.run.plan.rungs for e in r.experiments)
    assert experiment.at_most == MOST and 2 <= experiment.repeats == len(run.trials()) < MOST
    assert judge.unsettled(*with_repeats(document, experiment.repeats)) == ()
    assert all(judge.unsettled(*with_repeats(document, n)) for n in range(2, experiment.repeats))
    (rung,) = judge.judge_document(document).rungs
    assert not rung.judgement.provisional and "were not run" not in " ".join(rung.judgement.findings)


def test_a_repeat_that_failed_is_made_up_for_and_the_plan_has_it(world: LabWorld) -> None:
    run = mischief.Run(world, asked(world))
    client = mischief.tool(world, "alpha", "-c")
    world.run("alpha", f"kill -9 {client}")
    _, told = run.process.communicate(timeout=90)
    document = run.document()
    (experiment,) = (e for r in document.run.plan.rungs for e in r.experiments)
    first, *others = run.trials()
    assert not first.ok and all(t.ok for t in others)
    assert len(others) >= 2 and experiment.repeats == 1 + len(others) < MOST
    assert told.count("the verdict is not settled: one more trial") == experiment.repeats - 2
