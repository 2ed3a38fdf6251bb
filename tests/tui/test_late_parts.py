"""The parts of a page come one by one, on a loaded machine with long gaps: keys that come first do no harm."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widgets import Input

import synth
from helpers import until
from linkladder.app.main import LadderApp
from linkladder.app.places import screen
from linkladder.app.screens.help import HelpScreen
from linkladder.app.widgets.form import Field
from test_every_screen import places

Rules = list[Callable[[MessagePump], float]]
PLACES = places()
EARLY = {"Link": ("f4",)}  # keys of the place's own that need all of it


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Rules:
    """By how many seconds a part is put up late."""
    rules: Rules = []
    dispatch = MessagePump._dispatch_message

    async def dispatched(part: MessagePump, message: events.Message) -> None:
        if isinstance(message, events.Compose | events.Mount):
            await asyncio.sleep(sum(seconds(part) for seconds in rules))
        await dispatch(part, message)

    monkeypatch.setattr(MessagePump, "_dispatch_message", dispatched)
    return rules


@pytest.mark.parametrize("place", PLACES, ids=[name for name, *_ in PLACES])
async def test_a_place_bears_keys_before_it_is_whole(
    place: tuple[str, Callable[[], Screen[Any]], str], late: Rules
) -> None:
    name, make, words = place
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        drawn = random.Random(1)
        late.append(lambda _: drawn.uniform(0, 0.1))
        app.push_screen(make())
        for key in ("f1", "escape", "down", "tab", *EARLY.get(name, ()), "right", "up", "left"):
            app.simulate_key(key)  # the pilot's own would wait for the parts
            await asyncio.sleep(0.03)
        await until(pilot, words)


async def test_a_field_that_comes_last_is_not_asked_for_before(
    late: Rules,
) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        late.append(lambda part: 1.0 if isinstance(part, Field) and part.id == "remote-dc-link" else 0)
        app.push_screen(screen("link"))
        while not app.screen.query("#note"):
            await pilot.pause(0.05)
        app.simulate_key("f1")
        while not isinstance(app.screen, HelpScreen):
            await asyncio.sleep(0.05)
        app.simulate_key("escape")  # back on the page, it looks at what is typed
        await until(pilot, "At most 9.41 Gb/s of TCP")
        assert app.screen.query_one("#remote-dc-link", Input).value == "10.9.0.2"
