"""What holds for every place and dialog: it answers ?, fits from 80 x 24 to 200 x 60, and has a short footer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

import synth
from helpers import present, resized, seen, until
from linkladder.app.dialogs import Ask, Dialog, Question, Trouble, Words
from linkladder.app.form_dialog import Entry, Form
from linkladder.app.main import LadderApp
from linkladder.app.page import Page
from linkladder.app.screens.help import COMMON, HelpScreen
from linkladder.errors import EnvironmentFault

SIZES = [(120, 40), (200, 60), (80, 24), (80, 25)]  # the next place opens at the last of them
CONSOLE, ROOMY = (80, 25), (120, 40)


def places() -> list[tuple[str, Callable[[], Screen[Any]], str]]:
    """Every place, how it is made, and words that stand on it once it is filled."""
    from linkladder.app.places import PLACES, screen
    from linkladder.app.screens.home import HomeScreen
    from linkladder.verdicts import Comparison

    words = {
        "Pair": "Pair", "Link": "Climb the ladder", "Ladder": "Ladder", "Runs": "1 run", "System": "records are in UTC",
        "Ceilings": "in one stream",
        "Mesh": "No run with several paths",
        "Experiments": "What do you want to know?",
        "Tunables": "net.isr.maxthreads", "Doctor": "adapter vmx0", "Log": "written down", "Machine": "offloads: ",
    }  # fmt: skip
    compared = Comparison(synth.RUN, "20261120-090000-cd34", "No difference.", ())
    return [
        *((p.title, partial(screen, name), words[p.title]) for name, p in PLACES.items() if p.title),
        ("Trusted", partial(screen, "trusted"), "SHA256:abc"),
        ("Results", partial(screen, "results", synth.RUN), "PASS"),
        ("Export", partial(screen, "export", synth.RUN), "On this disk"),
        ("Compare", partial(screen, "compare", compared), "No difference"),
        ("Help", partial(screen, "help", HomeScreen.NAME, HomeScreen.HELP), "Everywhere"),
    ]


def fits(text: str, words: str, size: tuple[int, int]) -> bool:
    """Title, content and the last line of the footer are on a screen of that size."""
    lines = text.splitlines()
    return (
        len(lines) == size[1]
        and max(map(len, lines)) <= size[0]
        and lines[0].startswith(" linkladder")
        and words in " ".join(text.split())
        and ("Esc" in lines[-1] or "?" in lines[-1])
    )


async def footer(pilot: Pilot[Any]) -> list[str]:
    """What the footer offers: six keys at most, and all of them to be read on the last line once it is drawn."""
    for _ in range(60):
        shown = [b.description for _, b, on, _ in pilot.app.screen.active_bindings.values() if b.show and on]
        text = seen(pilot.app)
        if all(words in text.splitlines()[-1] for words in shown):
            assert 1 <= len(shown) <= 6, shown
            return shown
        await pilot.pause(0.05)
    raise AssertionError(f"the footer has not all of {shown}:\n{text}")


async def test_every_screen_reflows_and_explains_itself() -> None:
    """One application walks them all: each resize must leave title, content and footer on the screen."""
    backend = synth.settled()
    backend.log = ["something was written down"]
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "> Read the report")
        for name, make, words in [("Home", None, "Next step"), *places()]:
            if make:
                app.push_screen(make())
            await until(pilot, words)
            for size in SIZES:
                await resized(pilot, size, partial(fits, words=words, size=size))
                await footer(pilot)
            if name == "Help":
                await home(pilot)
                continue
            await pilot.press("f1" if name == "Link" else "question_mark")  # a field takes ? for itself
            if name == "Pair":
                await pilot.press("f1")
            await until(pilot, "Everywhere")
            assert isinstance(app.screen, HelpScreen), name
            assert isinstance(app.screen_stack[-2], Page) and app.screen_stack[-2].HELP.strip(), name
            await home(pilot)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
async def test_home_leads_to_this_machine_by_a_key(size: tuple[int, int]) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=size) as pilot:
        await until(pilot, "> Read the report")
        await pilot.press("m")
        text = await until(pilot, "offloads: lro off, tso on")
        assert "up, vmxnet3, 10.0 Gb/s, MTU 1500, 4 receive queues" in text


def dialogs() -> list[tuple[Dialog, tuple[str, ...]]]:
    """One of each kind, with words that must all be seen at once."""
    entries = (
        Entry("how", "Address", "dhcp", (("dhcp", "by DHCP"), ("static", "fixed"))),
        Entry("key", "Key", "ssh-ed25519 AAAA", width=50),
    )
    long = (
        "A fixed address is written with its prefix, such as 10.1.0.2/24. The router may be left empty: one that "
        "is given becomes the default router, in place of the management adapter's too."
    )
    return [
        (
            Form("Address", long, entries, lambda _: ""),
            ("adapter's too.", "< by DHCP >", "ssh-ed25519 AAAA", "[ Take it ]", "[ Leave it ]"),
        ),
        (Question("Cancel the run?", "Both ends stop now.", safe=True), ("Both ends", "[ Yes ]", "[ No ]")),
        (Ask("A note for this run", "It is kept with the run.", "rack 12"), ("rack 12", "Enter to take it")),
        (
            Trouble(EnvironmentFault("the disk is full", "no space is left", "delete old runs")),
            ("The disk is full", "Why: no space is left", "What to do: delete old runs", "[ Go on ]"),
        ),
        (Words("The commands", "near: iperf -c 10.7.0.2 -P 2"), ("The commands", "iperf -c 10.7.0.2")),
    ]


def has_all(text: str, words: tuple[str, ...]) -> bool:
    inside = " ".join(text.replace("│", " ").split())
    return all(one in inside for one in words)


async def test_every_dialog_fits_and_declines() -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "> Read the report")
        for dialog, words in dialogs():
            answers: list[object] = []
            app.push_screen(dialog, answers.append)
            for size in SIZES:
                await resized(pilot, size, partial(has_all, words=words))
                assert app.screen.region.contains_region(app.screen.query_one(".box").region), size
            await pilot.press("escape")
            await until(pilot, "> Read the report")
            assert answers in ([None], [False]), (dialog, answers)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
async def test_the_footer_of_a_run_says_what_helps_now(size: tuple[int, int]) -> None:
    """Live, where the machine is to be moved, only watched, over: six keys at most, and those that do something."""
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "localhost measuring")
        live = await footer(pilot)
        assert live == ["Pause", "Skip", "Commands", "Cancel", "Help"]
        present(backend.running).skip_to(10_000)
        text = await until(pilot, "Enter Go on")
        assert "Move beta to another host" in " ".join(text.split())
        assert await footer(pilot) == ["Go on", *live]
        present(backend.running).controlling = False
        await until(pilot, "only watching")
        await footer(pilot)
        await present(backend.running).control("cancel")
        await until(pilot, "The run ended early")
        assert await footer(pilot) == ["Results", "Commands", "Help"]
        await pilot.press("enter")
        await until(pilot, "linkladder Results")


async def home(pilot: Pilot[Any]) -> None:
    for _ in range(20):
        if len(pilot.app.screen_stack) <= 2:
            return
        await pilot.press("escape")
        await pilot.pause(0.05)
    raise AssertionError(f"Esc does not lead back from {pilot.app.screen_stack}")


def test_help_needs_no_more_than_the_console() -> None:
    from linkladder.app.screens.help import flowing
    from linkladder.app.screens.home import HomeScreen

    made = [make().HELP for _, make, _ in places()]
    for text in [HomeScreen.HELP, COMMON, *made]:
        for line in flowing(text).splitlines():
            assert line[:1] != " " or len(line) <= 76, line
