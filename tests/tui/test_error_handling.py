"""An error inside the console, wherever it happens, is said and written down; the console and the run go on."""

from __future__ import annotations

import asyncio
import logging

import pytest
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.widgets import Static
from textual.worker import WorkerFailed

import synth
from helpers import at_rest, present, until, until_true
from linkladder.app.error_handling import MOST
from linkladder.app.main import LadderApp
from linkladder.app.page import Page
from linkladder.app.screens.home import HomeScreen
from linkladder.app.screens.ladder import LadderScreen
from linkladder.app.screens.runs import RunsScreen
from linkladder.app.widgets.chart import StripChart

pytestmark = pytest.mark.asyncio
SAID = "Something went wrong inside linkladder"


async def test_a_worker_fails(errors: list[Exception], caplog: pytest.LogCaptureFixture) -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "measuring")

        async def breaks() -> None:
            raise RuntimeError("the controls fell off")

        session = present(backend.running)
        session.take_over, session.controlling = breaks, False
        with caplog.at_level(logging.ERROR, "linkladder.app"):
            await pilot.press("t")
            await until(pilot, "Take the controls?")
            await pilot.press("enter")
            await until(pilot, SAID)
        await until(pilot, "RuntimeError: the controls fell off")
        await pilot.press("enter")
        await until(pilot, "localhost")
        assert isinstance(app.screen, LadderScreen) and not present(app.progress).over
    assert "the controls fell off" in caplog.text and "Traceback" in caplog.text
    assert len(errors) == 1


@pytest.mark.parametrize("place", ["tick", "handler", "drawing"])
async def test_a_tick_a_handler_and_a_drawing_fail(
    place: str, errors: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    broken = [True]

    def breaks(*_: object) -> None:
        if broken[0]:
            broken[0] = place != "drawing"  # what is drawn stays behind the dialog, and would be drawn with it
            raise ValueError(f"a {place} went wrong")

    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        if place == "tick":
            monkeypatch.setattr(HomeScreen, "on_tick", breaks)
        elif place == "handler":
            opened = RunsScreen._show
            monkeypatch.setattr(RunsScreen, "_show", lambda self: breaks() or opened(self))
            await pilot.press("r")
        else:
            drawn = StripChart.render_line
            monkeypatch.setattr(StripChart, "render_line", lambda self, y: breaks() or drawn(self, y))
            app.climb(synth.the_plan())
        await until(pilot, f"ValueError: a {place} went wrong")
        broken[0] = False
        await pilot.press("enter")
        await at_rest(pilot)
        await pilot.press("escape", "escape")
        await until(pilot, "Next step")
        await pilot.press("s")
        await until(pilot, "records are in UTC")
        await pilot.press("escape", "r")
        await until(pilot, "1 run")
    assert errors


async def test_the_same_error_with_every_tick_is_said_once(
    errors: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")

        said: list[ValueError] = []

        def breaks(_: HomeScreen) -> None:
            said.append(ValueError("again and again"))
            raise said[-1]

        monkeypatch.setattr(HomeScreen, "on_tick", breaks)
        await until(pilot, "again and again")
        await pilot.press("enter")
        before = len(said)
        await until_true(pilot, lambda: len(said) > before + 2)
        assert isinstance(app.screen, HomeScreen)
        monkeypatch.undo()


async def test_a_flood_of_errors_ends_the_console(errors: list[Exception]) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        survived = [app.survive(ValueError(f"number {n}")) for n in range(MOST)]
    assert survived == [True] * (MOST - 1) + [False]


class Lingers(Static):
    """Takes its time to go."""

    async def on_unmount(self) -> None:
        await asyncio.sleep(0.5)


class Asking(Page):
    """A place that is left before what it asked for is answered."""

    NAME = "Asking"

    def body(self) -> ComposeResult:
        with Vertical(Lingers()):
            yield Static("asking ...", id="said")

    def on_mount(self) -> None:
        self.asked = [self.ask()]

    def answered(self) -> bool:
        return not self.is_attached and all(one._task is None or one._task.done() for one in self.asked)

    @work
    async def ask(self) -> None:
        for _ in range(200):
            await asyncio.sleep(0.01)
            self.query_one("#said")


class HalfThere(Page):
    """A place that is looked at by the clock before all of it is there."""

    NAME = "HalfThere"
    ticks = 0

    def body(self) -> ComposeResult:
        yield Static("half of it")

    def on_tick(self) -> None:
        self.ticks += 1
        self.query_one("#said")


async def test_a_tick_before_a_place_is_whole_is_no_error(errors: list[Exception]) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        place = HalfThere()
        await app.push_screen(place)
        await until_true(pilot, lambda: place.ticks > 1)
        assert "half of it" in await until(pilot, "half of it") and not errors


async def test_an_answer_to_a_place_that_was_left_is_no_error(errors: list[Exception]) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        place = Asking()
        await app.push_screen(place)
        await until(pilot, "asking ...")
        await pilot.press("escape")
        await until_true(pilot, place.answered)
        assert "Next step" in await until(pilot, "Read the report") and not errors


async def test_a_message_that_comes_when_its_place_was_left_asks_nothing(errors: list[Exception]) -> None:
    """Fields tell of their first values a moment after they are there; Esc may come in between."""
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        place = Asking()
        await app.push_screen(place)
        await until(pilot, "asking ...")
        app.pop_screen()
        while place.query("#said"):
            await asyncio.sleep(0.01)
        place.asked.append(place.ask())
        await until_true(pilot, place.answered)
        assert "Next step" in await until(pilot, "Read the report") and not errors


async def test_what_comes_too_late_for_a_place_is_no_error_and_all_else_is(errors: list[Exception]) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Read the report")
    broken = ValueError("broken")
    for error in (NoMatches("#health"), WorkerFailed(NoMatches("#health")), broken):
        app._handle_exception(error)
    assert errors == [broken]


async def test_a_tick_while_the_console_is_left_is_no_error(
    errors: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last places are gone before the clock stops."""
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "measuring")
        with monkeypatch.context() as leaving:
            leaving.setattr(LadderApp, "_screen_stack", property(lambda _: []))
            await app._tick()
    assert errors == []
