"""Keys typed before the machine has got to the ones before them do what they would have done one by one."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.events import Key
from textual.widgets import Input

import synth
from helpers import until, until_true
from linkladder.app.dialogs import Dialog, Question
from linkladder.app.form_dialog import Entry, Form
from linkladder.app.main import LadderApp
from linkladder.app.widgets.form import Field

pytestmark = pytest.mark.asyncio


async def answered(dialog: Dialog, *keys: str) -> object:
    """What the dialog gives for keys that are all there before the first of them is looked at."""
    app = LadderApp(synth.settled())
    answers: list[object] = []
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        app.push_screen(dialog, answers.append)
        await until(pilot, "Now the question")
        for key in keys:
            app.post_message(Key(key, None))
        for _ in range(100):
            await pilot.pause(0.05)
            if answers:
                return answers[0]
    raise AssertionError("the dialog is still open")


async def test_an_enter_takes_what_stood_before_it() -> None:
    """A stray Enter before the other screen's code must not take its first digits for the whole, which refuses."""
    field = Field("Code", key="code")
    given: list[str] = []

    class OneLine(App[None]):
        def compose(self) -> ComposeResult:
            with Vertical(), Vertical():
                yield field

        def on_input_submitted(self, event: Input.Submitted) -> None:
            given.append(event.value)

    app = OneLine()
    async with app.run_test() as pilot:
        for key in ("enter", *"5308", "backspace", *"28", "left", *"4", "enter"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until_true(pilot, lambda: len(given) == 2)
    assert given == ["", "530248"]


async def test_enters_through_a_form_take_it() -> None:
    entries = (Entry("address", "Fixed address", "10.77.0.1/24"), Entry("router", "Router"))
    form = Form("Now the question", "an address", entries, lambda _: "")
    assert await answered(form, "enter", "enter", "enter") == {"address": "10.77.0.1/24", "router": ""}


@pytest.mark.parametrize(
    ("safe", "keys", "answer"),
    [
        (True, ("left", "enter"), True),
        (False, ("right", "enter"), False),
        (True, ("y",), True),
        (False, ("n",), False),
        (True, ("escape",), False),
    ],
)
async def test_an_answer_is_the_one_that_was_chosen_before_enter(
    safe: bool, keys: tuple[str, ...], answer: bool
) -> None:
    assert await answered(Question("Now the question", "yes or no", safe=safe), *keys) is answer
