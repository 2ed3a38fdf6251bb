"""What the judge asks for next, one key away on the results."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import synth
from helpers import until, until_true
from linkladder.app.main import LadderApp
from linkladder.app.screens.results import ResultsScreen
from linkladder.model import Direction, Protocol

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
        await pilot.press("f")
        await until(pilot, "Measure what would settle it?")
        await until(pilot, "12 trials, about")
        assert not backend.started
        await pilot.press("enter")
        await until(pilot, "localhost")
        assert backend.resumed == [synth.RUN]
        asked = backend.started[0].rungs
        assert [r.name for r in asked] == ["dc-link"]
        again = {(e.direction, e.repeats) for e in asked[0].experiments if e.protocol is Protocol.TCP}
        assert again == {(Direction.FORWARD, 5), (Direction.REVERSE, 5)}


async def test_f_says_so_where_all_is_settled() -> None:
    backend = synth.settled()
    backend.stored[synth.RUN] = (synth.summary(), ladder(950e6))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "PASS")
        await pilot.press("f")
        await until_true(pilot, lambda: any("asks for nothing more" in n.message for n in app._notifications))
        assert not backend.started
