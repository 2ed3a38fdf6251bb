"""What a screen costs: its module and its line in app/places.py; menu, keys, palette and help show it from there."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Static

import synth
from helpers import seen, until
from linkladder.app import places, screens
from linkladder.app.main import LadderApp
from linkladder.app.page import Page
from linkladder.app.places import Place, Step


class TidesScreen(Page):
    NAME = "Tides"
    HELP = "\nHigh water drowns the cable at four.\n"
    BINDINGS = [Binding("question_mark", "app.help", "Help", key_display="?")]

    def body(self) -> ComposeResult:
        yield Static("low water at ten", markup=False)


@pytest.fixture
def tides(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that is in none of the sources; Home, which reads the table as it is loaded, is loaded anew."""
    module = ModuleType("linkladder.app.screens.tides")
    vars(module)["TidesScreen"] = TidesScreen
    monkeypatch.setitem(sys.modules, module.__name__, module)
    step = Step("Read the tides", "when the cable is under water")
    place = Place("tides", "TidesScreen", "Tides", "When the cable is under water", step, key="w", in_footer=True)
    monkeypatch.setitem(places.PLACES, "tides", place)
    from linkladder.app.screens import home

    monkeypatch.setattr(screens, "home", home)
    monkeypatch.delitem(sys.modules, home.__name__)


async def test_a_screen_that_is_new_is_offered_wherever_one_is(tides: None) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "Read the tides")
        assert "when the cable is under water" in text, "Home's menu"
        await until(pilot, "w Tides")  # Home's keys
        offered = {command.title: command for command in app.get_system_commands(app.screen)}
        assert offered["Tides"].help == "When the cable is under water", "the palette"
        await pilot.press("question_mark")
        assert "w   Tides" in await until(pilot, "The highlighted line"), "Home's help"
        await pilot.press("escape", "w")
        await until(pilot, "low water at ten")
        await pilot.press("question_mark")
        await until(pilot, "High water drowns the cable at four.")
        await pilot.press("escape", "escape")
        await until(pilot, "Next step")
        offered["Tides"].callback()
        await until(pilot, "low water at ten")
        await pilot.press("escape")
        await until(pilot, "Next step")
        lines = [line for line in seen(app).splitlines() if line.strip()]
        below = next(n for n, line in enumerate(lines) if "Next step" in line)
        row = next(n for n, line in enumerate(lines) if "Read the tides" in line)
        await pilot.press(*["down"] * (row - below - 1), "enter")
        await until(pilot, "low water at ten")
