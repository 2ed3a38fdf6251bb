"""h, j, k and l do what the arrows do, in every place and in the dialogs."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

import synth
from helpers import present, until, until_true
from linkladder.app.backend import PeerView
from linkladder.app.main import LadderApp
from linkladder.app.screens.export import ExportScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.widgets.form import Action, Choice
from linkladder.app.widgets.rows import Rows

pytestmark = pytest.mark.asyncio
PAIRS = [("j", "k"), ("down", "up")]


@pytest.mark.parametrize("there", PAIRS, ids=["letters", "arrows"])
async def test_up_and_down(there: tuple[str, str]) -> None:
    forth, back = there
    backend = synth.settled()
    backend.peers = (synth.BETA, PeerView("gamma", ("10.7.0.9",), True, 0.3))
    other = "20261120-090000-cd34"
    backend.stored[other] = (synth.summary(other), synth.the_document())
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        for key, words, name in (
            ("", "Next step", "#steps"),
            ("s", "records are in UTC", "#actions"),
        ):
            await pilot.press(*key)
            await until(pilot, words)
            box = app.screen.query_one(name, OptionList)
            await pilot.press(forth, forth, back)
            assert box.highlighted == 1, name
        await pilot.press("escape", "r")
        await until(pilot, "2 runs")
        rows = app.screen.query_one("#runs", Rows)
        await pilot.press(forth)
        assert rows.cursor == 1
        await pilot.press(back)
        assert rows.cursor == 0
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "Circuit")
        await pilot.press("left")
        await until(pilot, "[dc-link]")
        scroll = app.screen.query_one("#scroll")
        await pilot.resize_terminal(80, 12)
        await pilot.pause()
        await pilot.press(forth, forth, forth, back)
        await until_true(pilot, lambda: scroll.scroll_y == 2)
        await pilot.resize_terminal(80, 25)
        await pilot.press("escape", "escape", "e")
        await until(pilot, "[ Climb the ladder ]")
        await pilot.press(back)
        assert isinstance(app.focused, Choice)
        await pilot.press(forth)
        assert isinstance(app.focused, Action)


@pytest.mark.parametrize("there", [("l", "h"), ("right", "left")], ids=["letters", "arrows"])
async def test_left_and_right(there: tuple[str, str]) -> None:
    forth, back = there
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "Circuit")
        await pilot.press(forth)
        await until(pilot, "[localhost]")
        await pilot.press(back, back)
        await until(pilot, "[dc-link]")
        app.push_screen(ExportScreen(synth.RUN))
        await until(pilot, "HTML report")
        await pilot.press(forth)
        await until(pilot, "JSON: everything")
        await pilot.press(back)
        await until(pilot, "HTML report")
        await pilot.press("escape", "escape", "e")
        await until(pilot, "Plan < quick,")
        await pilot.press("up", forth)
        await until(pilot, "Plan < mesh,")
        await pilot.press(back)
        await until(pilot, "Plan < quick,")
        await pilot.press("escape", "r")
        await until(pilot, "1 run")
        await pilot.press("d")
        await until(pilot, "Delete this run?")
        assert present(app.focused).id == "no"
        await pilot.press(back)
        assert present(app.focused).id == "yes"
        await pilot.press(forth)
        assert present(app.focused).id == "no"
