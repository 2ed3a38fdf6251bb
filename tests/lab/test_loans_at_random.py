"""Loans while something is killed at a random moment: whatever dies, and whenever, both ends end up as they were.

Two of them in a suite, as test_leases has the rest at a fixed moment; LINKLADDER_LOANS=50 kills fifty times in each of
seven ways (a third of a minute each time).
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterator

import pytest

import mischief
from network import GENTLE
from test_failures import LabWorld
from test_leases import NINE, SITES, kill, nothing_is_left
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]

MANY = int(os.environ.get("LINKLADDER_LOANS", "0"))
SPAN = 7.0  # seconds from the first change to the last, with a trial of two seconds between them
Victims = Callable[[LabWorld], list[int]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabWorld]:
    with Lab("llr", inside=GENTLE).paired() as lab:
        yield LabWorld(lab, tmp_path_factory.mktemp("random"))


def running(world: LabWorld, site: str, *words: str) -> list[int]:
    return [pid for pid, line in world.processes(site).items() if set(words) <= set(line.split())]


def the_run(world: LabWorld) -> list[int]:
    return running(world, "alpha", "linkladder", "run")


def the_agent(world: LabWorld) -> list[int]:
    return running(world, "beta", "agent", "--peer")


def undo(world: LabWorld, site: str) -> list[int]:
    return running(world, site, "linkladder.priv", "undo")


KINDS: dict[str, tuple[Victims, ...]] = {
    "the run": (the_run,),
    "the agent": (the_agent,),
    "this end's undo": (lambda world: undo(world, "alpha"),),
    "the far end's undo": (lambda world: undo(world, "beta"),),
    "the run and its undo": (the_run, lambda world: undo(world, "alpha")),
    "the agent and its undo": (the_agent, lambda world: undo(world, "beta")),
    "everything here": (the_run, the_agent, lambda world: [pid for site in SITES for pid in undo(world, site)]),
}


@pytest.mark.parametrize("draw", range(max(1, MANY)))
@pytest.mark.parametrize("kind", KINDS if MANY else ["the agent and its undo", "everything here"])
def test_killed_at_a_random_moment(world: LabWorld, kind: str, draw: int) -> None:
    victims = KINDS[kind]
    run = mischief.Run(world, mischief.plan_text(world, duration=2, more=NINE))
    mischief.until(lambda: undo(world, "alpha") or undo(world, "beta") or None, 30, "nothing was ever changed")
    moment = random.uniform(0, SPAN)
    time.sleep(moment)
    pids = [pid for who in victims for pid in who(world)]
    print(f"{kind}, draw {draw}: {moment:.2f} s after the first change, killed {len(pids)}")
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # an agent ends when its run does
            kill(pid)
    run.wait()
    # Where holder and undo died together, nobody is left who knows; the next start puts back what the journal says.
    if len(victims) > 1:
        assert mischief.Run(world, mischief.plan_text(world, duration=1), name="next").wait() == 0
    nothing_is_left(world)
