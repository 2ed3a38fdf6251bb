"""The strip chart, by itself."""

from __future__ import annotations

from functools import partial

from textual.app import App, ComposeResult
from textual.events import Resize

from helpers import until, until_true
from linkladder.app.terminal import Glyphs
from linkladder.app.widgets.chart import StripChart

WORDS = "Looking for the largest packet that passes ..."


class Unheard(StripChart):
    """A chart that has its new size, and has not been told of it: the moment between the two, held still."""

    def on_resize(self, event: Resize) -> None:  # type: ignore[override]  # given to a handler that takes it
        event.prevent_default()


class Charts(App[None]):
    def compose(self) -> ComposeResult:
        yield Unheard(Glyphs.UNICODE, key="chart")


def is_wide(chart: StripChart, width: int) -> bool:
    return chart.size.width == width


async def test_an_update_between_a_new_size_and_word_of_it() -> None:
    app = Charts()
    async with app.run_test(size=(72, 20)) as pilot:
        chart = app.query_one("#chart", Unheard)
        for width, height in ((72, 20), (80, 20), (60, 20), (100, 30)):
            await pilot.resize_terminal(width, height)
            await until_true(pilot, partial(is_wide, chart, width))
            chart.say(f"{WORDS}\n{width:>{width}}")
            await until(pilot, f"{WORDS} {width}")
        for width in (72, 80, 60):
            await pilot.resize_terminal(width, 20)
            chart.show([(0.0, 9.4e8, True)], [("contract", 9e8)], 10)
            await until(pilot, "contract 900 Mb/s")
