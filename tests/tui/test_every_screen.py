"""What holds for every place: it answers ?, fits from 80 x 24 to 200 x 60, has a short footer, and blocks nothing."""

from __future__ import annotations

import asyncio
import logging
import threading

import synth
from helpers import until
from linkladder.app.main import LadderApp
from linkladder.app.screens.base import Page
from linkladder.app.screens.help import COMMON, HelpScreen

BLOCKING = """home facts findings settings appliance log_lines link save_link plans plan ceiling runs load judge compare
    delete export reach sticks current""".split()
SIZES = [(200, 60), (80, 24)]


def places() -> list[tuple[str, object, str]]:
    """Every place, how it is made, and words that stand on it once it is filled."""
    from linkladder.app.screens import places as offered
    from linkladder.app.screens.compare import CompareScreen
    from linkladder.app.screens.export import ExportScreen
    from linkladder.app.screens.results import ResultsScreen
    from linkladder.verdicts import Comparison

    words = {
        "Pair": "Pair", "Link": "Climb the ladder", "Ladder": "Ladder", "Runs": "1 run", "System": "records are in UTC",
        "Tunables": "net.isr.maxthreads", "Doctor": "adapter vmx0", "Log": "written down", "Machine": "offloads: ",
    }  # fmt: skip
    compared = Comparison(synth.RUN, "20261120-090000-cd34", "No difference.", ())
    return [
        *((name, make, words[name]) for name, _, make in offered()),
        ("Results", lambda: ResultsScreen(synth.RUN), "PASS"),
        ("Export", lambda: ExportScreen(synth.RUN), "On this disk"),
        ("Compare", lambda: CompareScreen(compared), "No difference"),
    ]


async def test_every_screen_reflows_and_explains_itself():
    """One application walks them all: each resize must leave title, content and footer on the screen."""
    backend = synth.settled()
    backend.log = ["something was written down"]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        for name, make, words in [("Home", None, "Next step"), *places()]:
            if make:
                app.push_screen(make())
            await until(pilot, words)
            for width, height in SIZES:
                await pilot.resize_terminal(width, height)
                text = await until(pilot, words)
                lines = text.splitlines()
                assert len(lines) <= height and max(map(len, lines)) <= width, (name, width, height)
                assert lines[0].split()[0] == "linkladder", (name, text)
                assert "Esc" in lines[-1] or "?" in lines[-1], (name, text)
            shown = [b for _, b, on, _ in app.screen.active_bindings.values() if b.show and on]
            assert 1 <= len(shown) <= 6, (name, [b.description for b in shown])
            await pilot.press("f1" if name == "Link" else "question_mark")  # a field takes ? for itself
            if name == "Pair":
                await pilot.press("f1")
            await until(pilot, "Everywhere")
            assert isinstance(app.screen, HelpScreen), name
            assert isinstance(app.screen_stack[-2], Page) and app.screen_stack[-2].HELP.strip(), name
            await home(pilot)


async def home(pilot) -> None:
    for _ in range(20):
        if len(pilot.app.screen_stack) <= 2:
            return
        await pilot.press("escape")
        await pilot.pause(0.05)
    raise AssertionError(f"Esc does not lead back from {pilot.app.screen_stack}")


def test_help_needs_no_more_than_the_console():
    from linkladder.app.screens.help import flowing
    from linkladder.app.screens.home import HomeScreen

    made = [make().HELP for _, make, _ in places()]
    for text in [HomeScreen.HELP, COMMON, *made]:
        for line in flowing(text).splitlines():
            assert line[:1] != " " or len(line) <= 76, line


async def test_no_screen_calls_what_may_block_on_the_event_loop(caplog):
    """Files, store and sysctl are asked in threads, whichever screen asks; asyncio's own watch sees nothing slow."""
    backend = synth.settled()
    loop_thread, wrong = threading.get_ident(), []

    def watched(name, call):
        def answers(*args):
            if threading.get_ident() == loop_thread:
                wrong.append((name, app.screen))
            return call(*args)

        return answers

    for name in BLOCKING:
        setattr(backend, name, watched(name, getattr(backend, name)))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        loop.slow_callback_duration = 4.0  # far above what a loaded machine makes of a short one
        with caplog.at_level(logging.WARNING, "asyncio"):
            for name, make, words in places():
                app.push_screen(make())
                await until(pilot, words)
                if name == "Export":
                    await pilot.press("end", "up", "enter")
                    await until(pilot, "scp ")
                if name == "Runs":
                    await pilot.press("space", "slash", "x", "enter")
                    await until(pilot, "no run has")
                    await pilot.press("escape")
                if name == "Link":
                    await pilot.press("f3")
                await home(pilot)
            app.climb(synth.the_plan())
            await until(pilot, "measuring")
        loop.set_debug(False)
    assert wrong == []
    assert not [r for r in caplog.records if "took" in r.getMessage()], caplog.text
