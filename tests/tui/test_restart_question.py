"""A plan that restarts this machine at 80x25 by keys: it is asked first, and Home says what became of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import synth
from helpers import seen, until
from linkladder import plan as plans
from linkladder.app.backend import HomeView
from linkladder.app.home_text import WIDTH, last_lines
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.screens.experiments import ExperimentsScreen
from linkladder.engine.kernels import Kernels
from linkladder.host.switches import Appliance
from linkladder.model import HostFacts
from linkladder.run import restarting

CONSOLE = (80, 25)


def experiments(app: LadderApp) -> ExperimentsScreen:
    return next(one for one in app.screen_stack if isinstance(one, ExperimentsScreen))


async def chosen(app: LadderApp, pilot: object) -> None:
    await until(pilot, "Try a change")
    app.push_screen(ExperimentsScreen())
    await until(pilot, "Does RSS help here?")
    await pilot.press("end", "enter")  # type: ignore[attr-defined]


async def test_it_is_asked_before_the_first_restart_and_no_is_the_safe_answer() -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await chosen(app, pilot)
        text = " ".join((await until(pilot, "This machine will restart")).split())
        assert "Restarts this machine, and no other" in text and "[ Leave it ]" in text
        await pilot.press("enter")
        await until(pilot, "What do you want to know?")
        assert backend.started == [] and not app.starting


async def test_a_yes_begins_it() -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await chosen(app, pilot)
        await until(pilot, "This machine will restart")
        await pilot.press("left", "enter")
        while not backend.started:
            await pilot.pause(0.05)
        assert [plan.name for plan in backend.started] == ["rss"]


async def test_where_no_kernel_can_be_chosen_that_is_said_and_nothing_is_asked_or_begun() -> None:
    """A run of it would leave out all, and be the last complete one."""
    backend = synth.settled()
    backend.switches = Appliance("this is Linux, which its owner sets up")
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE, notifications=True) as pilot:
        await chosen(app, pilot)
        text = await until(pilot, "Not on this machine: this is Linux, which its owner sets up.")
        assert "not on this machine" in next(line for line in text.splitlines() if "RSS help" in line)
        assert "Takes " not in text
        await until(pilot, "Nothing was started: this is Linux")
        app.climb(experiments(app).plans["rss"])  # as from the page Link, where any plan can be chosen
        await until(pilot, "Nothing of the plan rss can be measured on this machine")
        assert not backend.started and "This machine will restart" not in seen(app)


@pytest.mark.parametrize(
    "kernels,why",
    [
        (Kernels(why_not="this is Linux"), "this is Linux"),
        (Kernels("kernel", ("kernel",), ""), "this machine has no kernel GENERIC (no RSS)"),
        (Kernels("kernel", ("kernel", "kernel.GENERIC"), ""), ""),
    ],
)
def test_what_this_machine_cannot_boot_is_known_before_a_run(
    monkeypatch: pytest.MonkeyPatch, kernels: Kernels, why: str
) -> None:
    monkeypatch.setattr(restarting, "kernels", lambda: kernels)
    backend = LiveBackend("this screen")
    assert backend.vain(plans.builtin("rss")) == why
    assert backend.vain(plans.builtin("rr")) == ""


@pytest.mark.parametrize("with_a_run", [True, False])
async def test_home_has_the_sentence_in_whole_lines(monkeypatch: pytest.MonkeyPatch, with_a_run: bool) -> None:
    said = "Run 20261126-091512-ab12 did not go on: this machine came up with kernel GENERIC (no RSS), not with the " \
        "appliance's kernel (RSS); kernel GENERIC (no RSS) runs until the next restart"  # fmt: skip
    backend = synth.settled() if with_a_run else synth.fresh()
    home = backend.home
    monkeypatch.setattr(backend, "home", lambda: replace(home(), restart=said))
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        text = await until(pilot, "until the next restart")
        assert said in " ".join(text.split())
        assert ("PASS" in text) == with_a_run


def test_the_sentence_alone_is_not_followed_by_none_yet() -> None:
    lines = last_lines(HomeView(HostFacts("alpha"), restart="Run 1 goes on after the restart")).plain
    assert lines == "Run 1 goes on after the restart" and len(lines) <= WIDTH
