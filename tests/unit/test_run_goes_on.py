"""A run that goes on: what it begins with, what it adds, and what stays of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import judge_documents
from linkladder import wire
from linkladder.engine import Engine
from linkladder.events import Paused, PlanGrown, RunFinished, RungStarted
from linkladder.model import (
    Contract,
    Direction,
    Experiment,
    Fault,
    HostFacts,
    Leg,
    Outcome,
    Plan,
    Rung,
    RungName,
    RunState,
)
from linkladder.model import Path as Way
from linkladder.store import Store
from test_run_begins import BACK, NEAR_BY, TCP, Free


class Known(Free):
    """This appliance, which tells what it is."""

    async def ask(self, request: Any) -> Any:
        await asyncio.sleep(0)  # as an answer is waited for, and events are shown meanwhile
        return HostFacts("alpha") if isinstance(request, wire.Facts) else None


async def test_an_order_to_repeat_takes_no_growth_from_a_resumed_rung(own_state: Path) -> None:
    """Nothing ran yet that could be done again, and the stored trials still ask for another repeat."""
    store = Store(own_state)
    exp = Experiment("tcp", repeats=2, at_most=4)
    loopback = (Way("127.0.0.1", "127.0.0.1"),)
    plan = Plan("p", contract=Contract(10e9, 1e9), rungs=(Rung(RungName.LOCALHOST, loopback, (exp,)),))
    run = store.begin(plan)
    for n, bps in enumerate((1.45e9, 1.58e9)):
        store.keep_trial(run, RungName.LOCALHOST, "tcp", judge_documents.trial(bps, Direction.FORWARD, n))
    store.finish(run, RunState.INCOMPLETE, reason="cancelled")
    engine = Engine(plan, store, Known(), None, resume=run)
    engine.controls.repeat()
    grown = []
    async for event in engine.run():
        if isinstance(event, PlanGrown):
            grown.append(event.trials)
            engine.controls.cancel()
    assert grown == [1]


async def test_the_end_of_a_pause_is_told_before_a_peer_is_sought(own_state: Path) -> None:
    loopback = (Way("127.0.0.1", "127.0.0.1"),)
    plan = Plan("p", rungs=(Rung(RungName.LOCALHOST, loopback, (Experiment("tcp"),)),))
    engine = Engine(plan, Store(own_state), Known(), None)
    engine.controls.pause()
    seen = []
    async for event in engine.run():
        if isinstance(event, Paused):
            seen.append(event.ended)
            engine.controls.cancel()  # which ends the pause, too
    assert seen == [False, True]


async def test_a_follow_up_that_grows_leaves_the_rest_of_the_plan_in_the_run(own_state: Path) -> None:
    store = Store(own_state)
    exp, loopback = Experiment("tcp", repeats=2, at_most=4), (Way("127.0.0.1", "127.0.0.1"),)
    added = Rung(RungName.LOCALHOST, loopback, (exp,))
    whole = Plan("p", contract=Contract(10e9, 1e9), rungs=(replace(added, experiments=(exp, BACK)), NEAR_BY))
    run = store.begin(whole)
    for n, bps in enumerate((1.45e9, 1.58e9)):
        store.keep_trial(run, RungName.LOCALHOST, "tcp", judge_documents.trial(bps, Direction.FORWARD, n))
    store.finish(run, RunState.COMPLETE)
    engine = Engine(replace(whole, rungs=(added,)), store, Known(), None, resume=run)
    async for event in engine.run():
        if isinstance(event, PlanGrown):
            engine.controls.cancel()
    after = store.load(run).run.plan
    assert [(r.name, [(e.id, e.repeats) for e in r.experiments]) for r in after.rungs] == [
        (RungName.LOCALHOST, [("tcp", 3), ("back", 1)]),
        (RungName.SAME_HOST, [("tcp", 2)]),
    ]


async def test_a_resumed_rung_begins_with_what_is_stored_of_it(own_state: Path) -> None:
    store = Store(own_state)
    exp, loopback = Experiment("tcp", repeats=2), (Way("127.0.0.1", "127.0.0.1"),)
    plan = Plan("p", rungs=(Rung(RungName.LOCALHOST, loopback, (exp, BACK)),))
    run = store.begin(plan)
    for n in range(2):
        store.keep_trial(run, RungName.LOCALHOST, "tcp", judge_documents.trial(1e9, Direction.FORWARD, n))
    store.finish(run, RunState.INCOMPLETE, reason="the power failed")
    engine = Engine(plan, store, Known(), None, resume=run)
    found = []
    async for event in engine.run():
        if isinstance(event, RungStarted):
            found.append({name: [t.goodput_bps for t in several] for name, several in event.before.items()})
            engine.controls.cancel()
    assert found == [{"tcp": [1e9, 1e9]}]


async def test_a_run_that_goes_on_tells_of_trials_that_had_failed_before(own_state: Path) -> None:
    """All of it was called measured, and its exit code said so, where a peer had been lost in some."""
    store = Store(own_state)
    loopback = (Way("127.0.0.1", "127.0.0.1"),)
    plan = Plan("p", rungs=(Rung(RungName.LOCALHOST, loopback, (TCP,)),))
    run = store.begin(plan)
    for n in range(2):
        store.keep_trial(run, RungName.LOCALHOST, "tcp", judge_documents.trial(1e9, Direction.FORWARD, n))
    lost = replace(judge_documents.trial(1e9, Direction.FORWARD, 1), legs=(Leg(Outcome(False, Fault.PEER, "lost")),))
    store.keep_trial(run, RungName.LOCALHOST, "tcp", lost)
    store.finish(run, RunState.COMPLETE)
    ended = [event async for event in Engine(plan, store, Known(), None, resume=run).run()][-1]
    assert isinstance(ended, RunFinished) and (ended.state, ended.failed_trials) == (RunState.COMPLETE, 1)
