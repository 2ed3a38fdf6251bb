"""A run's countdown has the search for the strongest generator in it where there is one, and only there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import trials
from linkladder import events as ev
from linkladder import plan as plans
from linkladder import wire
from linkladder.app.widgets import bars
from linkladder.commands.run_lines import Lines
from linkladder.engine import Engine
from linkladder.engine.foreseen import Foreseen
from linkladder.engine.generators import Pair
from linkladder.engine.kernels import Boots
from linkladder.model import HostFacts, Plan, RungName, RungResult, RunState
from linkladder.run.progress import Progress
from linkladder.store import Store
from test_run_begins import Free
from test_strength_kept import Ends, Machine, rung
from test_strongest import BETA, HOST, OPEN

WITHIN = rung(RungName.LOCALHOST)
BETWEEN = (rung(RungName.SAME_HOST), rung(RungName.SAME_VLAN), rung(RungName.DC_LINK))


class Alpha(Free):
    """This appliance, which tells what it is."""

    async def ask(self, request: Any) -> Any:
        return HOST if isinstance(request, wire.Facts) else None


async def begun(plan: Plan, folder: Path, resume: str | None = None) -> tuple[ev.RunStarted, ev.RungStarted]:
    """What a run says first, and of its first rung."""
    engine = Engine(plan, Store(folder), Alpha(), None, resume=resume)
    said: dict[type, Any] = {}
    async for event in engine.run():
        said.setdefault(type(event), event)
        if isinstance(event, ev.RungStarted):
            engine.controls.cancel()
    return said[ev.RunStarted], said[ev.RungStarted]


@pytest.mark.parametrize("kept", [False, True])
def test_a_run_counts_a_search_unless_a_finding_is_kept(own_state: Path, kept: bool) -> None:
    plan = Plan("p", rungs=(WITHIN,))
    if kept:
        Ends(own_state).strengthened(WITHIN, Pair(HOST, HOST))
    search = plans.SEARCH * (not kept)
    run, first = asyncio.run(begun(plan, own_state))
    assert run.seconds == run.longest == first.seconds == first.longest == plans.seconds(plan) + search
    assert first.search == search


def test_a_rung_that_had_begun_before_the_run_was_resumed_is_searched_no_more(own_state: Path) -> None:
    plan, store = Plan("p", rungs=(WITHIN,)), Store(own_state)
    run = store.begin(plan)
    store.keep_trial(run, WITHIN.name, OPEN.id, trials.trial("t", 0, True, goodput_bps=1e9))
    store.finish(run, RunState.INCOMPLETE)
    for event in asyncio.run(begun(plan, own_state, run)):
        assert event.seconds == event.longest == plans.seconds(plan)


def foreseen(folder: Path, **facts: HostFacts) -> dict[str, float]:
    """The seconds of searches on each rung, between this machine and the peers that told theirs."""
    plan, ends = Plan("p", rungs=(WITHIN, *BETWEEN)), {"": HOST, **facts}
    points: Any = {name: Machine(one) for name, one in ends.items()}
    seen = Foreseen(plan, points, ends, Boots(), folder, set())
    each = {r.name: seen.rung_started(r.name, n).search for n, r in enumerate(plan.rungs)}
    assert seen.run_started("r", plan).seconds == plans.seconds(plan) + sum(each.values())
    return {name: seconds for name, seconds in each.items() if seconds}


def test_between_two_machines_it_is_counted_once_and_within_this_one_once(own_state: Path) -> None:
    once = {RungName.LOCALHOST: plans.SEARCH, RungName.SAME_HOST: plans.SEARCH}
    assert foreseen(own_state, beta=BETA) == foreseen(own_state) == once
    Ends(own_state).strengthened(BETWEEN[0], Pair(HOST, BETA))
    assert foreseen(own_state, beta=BETA) == {RungName.LOCALHOST: plans.SEARCH}


class Shown:
    """A run of two trials on one rung, as a shell and the Ladder screen show it."""

    def __init__(self, seconds: float, search: float) -> None:
        plan = Plan("p", rungs=(WITHIN,))
        self.lines = Lines(quiet=True, terminal=False)
        self.tell(0, ev.RunStarted("r", plan, seconds, 2))
        self.tell(0, ev.RungStarted(WITHIN.name, seconds, 2, 0, search=search))

    def tell(self, at: float, event: ev.Event) -> None:
        self.lines.show(event, at)

    def left(self, at: float) -> float:
        self.lines.passed(at)
        assert any(f" {self.lines.progress.whole_left():.0f} s left" in b.plain for b in bars.of_run(self.run, 70))
        return self.run.whole_left()

    @property
    def run(self) -> Progress:
        return self.lines.progress


SOUGHT = ev.GeneratorSought(WITHIN.name, "Looking ...", plans.SEARCH)
CHOSEN = ev.GeneratorChosen(WITHIN.name, Plan("p", rungs=(WITHIN,)), "found")
TRIAL = ev.TrialStarted(WITHIN.name, OPEN.id, 0, 0, 10.0)


def test_the_countdown_runs_through_the_search() -> None:
    shown = Shown(20.0 + plans.SEARCH, plans.SEARCH)
    assert shown.left(0) == 40
    shown.tell(1, SOUGHT)
    assert (shown.left(1), shown.left(13)) == (40, 28)
    shown.tell(14, CHOSEN)
    assert shown.left(14) == 20, "it took less than it might have"
    shown.tell(15, TRIAL)
    assert (shown.left(20), shown.run.rung_left()) == (15, 15)
    shown.tell(25, ev.TrialFinished(WITHIN.name, OPEN.id, trials.trial("t", 0, True, goodput_bps=1e9)))
    assert shown.left(25) == 10
    shown.tell(26, ev.RungFinished(WITHIN.name, RungResult(WITHIN.name)))
    assert (shown.run.whole_left(), shown.run.spent) == (0, 40)


def test_a_search_that_nobody_foresaw_is_added_when_it_begins() -> None:
    """Such as for a machine that was moved, whose card is another now."""
    shown = Shown(20.0, 0.0)
    assert shown.left(0) == 20
    shown.tell(1, SOUGHT)
    assert (shown.left(1), shown.left(6), shown.left(90)) == (40, 35, 20)
    shown.tell(91, CHOSEN)
    assert shown.left(91) == 20


def test_a_search_that_ends_without_a_choice_or_does_not_come_is_over_with_the_first_trial() -> None:
    """As where an end was away, or its strength is known after all."""
    for sought in ((), ((1.0, SOUGHT),)):
        shown = Shown(20.0 + plans.SEARCH, plans.SEARCH)
        for at, event in sought:
            shown.tell(at, event)
        shown.tell(2, TRIAL)
        assert shown.left(2) == 20


def test_a_rung_that_is_skipped_amid_its_search_takes_no_more_time() -> None:
    shown = Shown(20.0 + plans.SEARCH, plans.SEARCH)
    shown.tell(1, SOUGHT)
    shown.tell(2, ev.RungFinished(WITHIN.name, RungResult(WITHIN.name, unavailable="skipped")))
    assert (shown.run.whole_left(), shown.run.search) == (0, None)
