"""A key at the foot of a screen does something: where there is nothing to do it is not offered."""

from __future__ import annotations

import pytest

import synth
from helpers import seen, until
from linkladder.app.main import LadderApp

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    "screen,words,keys",
    [
        ("runs", "nothing was measured yet", ("Filter", "Mark", "Compare", "Open")),
        ("trusted", "none yet: pair", ("Rename", "Remove")),
        ("mesh", "No run with several paths is here yet", ("Other figures",)),
    ],
)
async def test_an_empty_screen_offers_no_key_for_what_is_not_there(
    screen: str, words: str, keys: tuple[str, ...]
) -> None:
    app = LadderApp(synth.fresh())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        app.open(screen)
        await until(pilot, words)
        foot = seen(app).splitlines()[-1]
        assert "Help" in foot and not [key for key in keys if key in foot], foot


async def test_with_runs_their_keys_are_there() -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        app.open("runs")
        await until(pilot, "1 run")
        await until(pilot, "Filter")
        assert all(key in seen(app).splitlines()[-1] for key in ("Open", "Mark", "Compare"))
