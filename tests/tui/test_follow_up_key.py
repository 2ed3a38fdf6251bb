"""What the judge asks for next, one key away on the results."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import synth
from helpers import seen, until
from linkladder.app.main import LadderApp
from linkladder.app.screens.results import ResultsScreen
from linkladder.model import Direction, Protocol, RunState

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from judge_documents import ladder

pytestmark = pytest.mark.asyncio


async def test_f_goes_on_with_the_same_run() -> None:
    backend = synth.settled()
    backend.stored[synth.RUN] = (synth.summary(), ladder(950e6, repeats=1))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "Not settled: whether it holds over repeats.")
        await until(pilot, "f measures what would settle it, within this run.")
        await until(pilot, "Settle it")
        await pilot.press("f")
        await until(pilot, "Measure what would settle it?")
        await until(pilot, "10 trials, about")
        assert not backend.started
        await pilot.press("enter")
        await until(pilot, "localhost")
        assert backend.resumed == [synth.RUN]
        asked = backend.started[0].rungs
        assert [r.name for r in asked] == ["dc-link"]
        again = {(e.direction, e.repeats) for e in asked[0].experiments if e.protocol is Protocol.TCP}
        assert again == {(Direction.FORWARD, 5), (Direction.REVERSE, 5)}


@pytest.mark.parametrize("state", [RunState.COMPLETE, RunState.INCOMPLETE])
async def test_f_is_offered_only_where_something_can_be_settled(state: RunState) -> None:
    backend = synth.settled()
    settled = ladder(950e6, repeats=5 if state is RunState.COMPLETE else 1)
    backend.stored[synth.RUN] = (synth.summary(), replace(settled, run=replace(settled.run, state=state)))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "dc-link")
        await app.workers.wait_for_complete(worker for worker in app.workers if worker.group == "results")
        assert "Settle it" not in seen(app) and "Export" in seen(app)
        await pilot.press("f")
        assert not backend.started and not app._notifications
        assert isinstance(app.screen, ResultsScreen)
