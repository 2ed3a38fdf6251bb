"""A run that is not to be had, as somebody else measures with this appliance: it says so, and offers no dead key."""

from __future__ import annotations

import pytest

import synth
from helpers import present, seen, until, until_true
from linkladder import events
from linkladder.app.main import LadderApp
from linkladder.app.screens.experiments import ExperimentsScreen
from linkladder.app.screens.ladder import LadderScreen
from linkladder.model import RunState
from linkladder.run.progress import Progress

pytestmark = pytest.mark.asyncio
CONSOLE = (80, 25)
BUSY = (
    "this appliance is busy: alpha, run 20261128-031500-ab12 is measuring with this appliance; "
    "wait for that run to end, or end it"
)


async def test_a_run_that_never_began_says_so_and_offers_nothing_to_read() -> None:
    backend = synth.settled()
    backend.entries = [(0.0, events.RunFinished("", RunState.INCOMPLETE, 0, BUSY))]
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Next step")
        app.climb(synth.the_plan())
        text = await until(pilot, f"The run did not begin: {BUSY}. Nothing was measured")
        assert "Esc leads to Home" in " ".join(text.split())
        title, foot = text.splitlines()[0], text.splitlines()[-1]
        assert "the run did not begin" in title and "plan " not in title and "Enter" not in foot, (title, foot)
        await pilot.press("enter", "v")
        assert isinstance(app.screen, LadderScreen)
        await pilot.press("escape")
        await until(pilot, "Next step")


async def test_who_measures_is_said_where_the_run_was_asked_for() -> None:
    backend = synth.settled()
    backend.user = "beta"
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "beta measures with this machine")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "Takes ")
        await pilot.press("enter")
        await until(pilot, "Why: beta measures with it")
        assert backend.started == []
        await pilot.press("enter")
        await until(pilot, "Takes ")
        assert "is being started" not in seen(app)


async def test_what_a_run_of_this_machine_leaves_for_a_moment_is_in_no_way() -> None:
    backend = synth.settled()
    backend.user = backend.host.name
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Next step")
        app.climb(synth.the_plan())
        await until_true(pilot, lambda: backend.started)
        assert isinstance(present(app.progress), Progress)
