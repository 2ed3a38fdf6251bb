"""Every place, at both sizes, by keys alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from textual.widgets import Input

import synth
from helpers import SIZES, present, seen, until
from linkladder.app.backend import Heard, PairStage
from linkladder.app.main import LadderApp
from linkladder.app.screens.home import HomeScreen
from linkladder.app.screens.ladder import LadderScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.terminal import Glyphs
from linkladder.errors import EnvironmentFault
from linkladder.host.disks import Disk
from linkladder.model import Plan, RungName, RunState
from linkladder.plan import Link
from replay_backend import THEIRS, ReplaySession

pytestmark = pytest.mark.asyncio
READ_FIRST = "linkladder.app.screens.ladder.READ_FIRST"


@pytest.mark.parametrize("size", SIZES)
async def test_from_nothing_to_a_verdict_by_enter_alone(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Link, ladder, moves and results: no key but Enter, and none that comes before it can have been read.

    Pairing alone wants more: what the other screen shows.
    """
    monkeypatch.setattr(READ_FIRST, 1e9)
    backend = synth.fresh()
    backend.nearby = (Heard("beta", "10.7.0.2", "vmx0", 2.0, 0.21),)
    backend.speed = 400.0
    backend.stored = {}
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        await until(pilot, "> Open pairing")
        await pilot.press("enter")
        await until(pilot, "heard 2 s ago")
        await pilot.press("enter")
        text = await until(pilot, "402 917 otter lamp river")
        assert "██" in text
        for _ in range(3):
            await pilot.press("enter")
        assert backend.peers == () and backend.state.stage is PairStage.COMPARE, "Enter says nothing of the code"
        await pilot.press(*THEIRS, "enter")
        await until(pilot, "beta is paired")
        await pilot.press("enter")
        text = await until(pilot, "[ Climb the ladder ]")
        text = await until(pilot, "At most 9.41 Gb/s of TCP fits into the port's 10.0 Gb/s at MTU 1500.")
        assert "10.7.0.1" in text
        await pilot.press("enter")
        await until(pilot, "Move beta to another host")
        await pilot.press("enter")
        assert present(backend.running).said == [], "too soon to have been read"
        monkeypatch.setattr(READ_FIRST, 0.0)
        backend.stored = {synth.RUN: (synth.summary(), synth.the_document())}
        await pilot.press("enter")
        await until(pilot, "Move beta to the other data centre")
        await pilot.press("enter")
        await until(pilot, "The run is complete")
        await pilot.press("enter")
        text = await until(pilot, "[run]")
        await until(pilot, "PASS")
        assert present(backend.running).said == [("proceed", ""), ("proceed", "")]


@pytest.mark.parametrize("size", SIZES)
async def test_results_matrix(size: tuple[int, int]) -> None:
    backend = synth.settled()
    backend.stored[synth.RUN] = (synth.summary(), synth.the_document(failed=True))
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "Circuit PRG-BRQ 10G")
        await until(pilot, "Note: rack 12")
        await pilot.press("right")
        text = await until(pilot, "streams")
        for words in ("* 41.2 Gb/s", "default", "near to far", "41/48", "* best setting"):
            assert words in text, text
        await pilot.press("left", "left")
        assert "[dc-link]" in await until(pilot, "[dc-link]")
        await pilot.press(*["down"] * 30)
        assert "Connection refused" in await until(pilot, "Failed trials: 1")


async def test_link_says_what_is_wrong_and_saves_what_is_right() -> None:
    backend = synth.settled()
    backend.described = Link()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Describe the link")
        await pilot.press("enter")
        await until(pilot, "[ Climb the ladder ]")
        box = app.screen.query_one("#mtu", Input)
        box.focus()
        box.value = "90"
        await pilot.press("f3")
        await until(pilot, "MTU: expected a whole number from 576 to 65535")
        assert not backend.described.contract
        await pilot.press("enter")
        box.value = "9000"
        await pilot.press("f3")
        await until(pilot, "Next step")
        assert present(backend.described.contract).mtu == 9000
        assert backend.described.plan == "quick"
        backend.described = replace(backend.described, plan="circuit")
        await pilot.press("e")
        await until(pilot, "Plan < circuit,")
        await pilot.press("escape")
        await until(pilot, "Next step")
        assert present(backend.described.path(RungName.DC_LINK)).remote == "10.7.0.2"


@pytest.mark.parametrize("keys", [("escape",), ("0", "0", "0", "0", "0", "0", "enter")], ids=["Esc", "another code"])
async def test_pairing_refused_and_again(keys: tuple[str, ...]) -> None:
    backend = synth.fresh()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        await pilot.press("enter")
        text = await until(pilot, "nobody yet")
        assert "10 min 00 s" in text
        await pilot.press(*"10.7.0.2", "enter")
        await until(pilot, "402 917")
        await pilot.press(*keys)
        await until(pilot, "Not paired: refused here")
        assert backend.peers == ()
        await pilot.press("enter")
        await until(pilot, "nobody yet")
        await pilot.press("escape")
        await until(pilot, "Next step")
        assert backend.state.stage is PairStage.CLOSED


async def test_another_enter_while_a_yes_is_signed_is_no_second_answer() -> None:
    """On an emulated machine that takes some seconds, in which nothing else changes on the screen."""
    backend = synth.fresh()
    given = []

    async def slowly(typed: str) -> None:
        given.append(typed)

    backend.answer_code = slowly  # type: ignore[method-assign]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        await pilot.press("enter")
        await until(pilot, "nobody yet")
        await pilot.press(*"10.7.0.2", "enter")
        await until(pilot, "402 917")
        await pilot.press(*THEIRS, "enter", "enter", "enter")
        await until(pilot, "Answered. Telling the other end")
        await pilot.press("escape")
        await until(pilot, "> Go on pairing")
        assert given == [THEIRS] and backend.state.stage is PairStage.COMPARE


async def test_another_enter_does_not_begin_a_call_anew() -> None:
    """On a slow machine a call takes longer than a newcomer waits before the next Enter."""
    backend = synth.fresh()
    backend.nearby = (Heard("beta", "10.7.0.2", "vmx0", 2.0, 0.21),)
    answered, begun = asyncio.Event(), []
    pair_with = backend.pair_with

    async def slowly(address: str) -> None:
        begun.append(address)
        backend.state = replace(backend.state, stage=PairStage.CALLING, message=f"Calling {address} ...")
        await answered.wait()
        await pair_with(address)

    backend.pair_with = slowly
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        await pilot.press("enter")
        await until(pilot, "heard 2 s ago")
        for _ in range(3):
            await pilot.press("enter")
            await until(pilot, "Calling 10.7.0.2")
        answered.set()
        await until(pilot, "402 917")
        assert begun == ["10.7.0.2"]


async def test_system_doctor_tunables_log_help() -> None:
    backend = synth.settled()
    backend.log = ["2026-11-21 something was written down"]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        await pilot.press("s")
        await until(pilot, "iperf 2.2.1")
        await pilot.press("t")
        await until(pilot, "net.isr.maxthreads")
        await until(pilot, "the loader was not told")
        await pilot.press("escape", "d")
        await until(pilot, "do: check MSI-X")
        await pilot.press("escape", "g")
        await until(pilot, "something was written down")
        await pilot.press("escape", "question_mark")
        await until(pilot, "Everywhere")
        await pilot.press("escape")
        await until(pilot, "Host name")
        await pilot.press("enter")
        await until(pilot, "Letters, digits")
        await pilot.press(*"gamma", "enter", "enter")
        await until(pilot, "The name is gamma")
        assert backend.system_calls == [("hostname", "gamma")]


async def test_trouble_is_told_and_the_screen_goes_on() -> None:
    backend = synth.settled()
    app = LadderApp(backend)

    async def fails(plan: Plan, resume: str = "") -> ReplaySession:
        raise EnvironmentFault("the disk is full", "No space left on device", "delete old runs")

    backend.start = fails
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        app.climb(synth.the_plan())
        text = await until(pilot, "The disk is full")
        assert "Why: No space left on device" in text and "What to do: delete old runs" in text
        await pilot.press("enter")
        await until(pilot, "Next step")
        assert isinstance(app.screen, HomeScreen)


async def test_resume_is_offered() -> None:
    backend = synth.settled()
    backend.stored = {"20261122": (synth.summary("20261122", RunState.INCOMPLETE), synth.the_document())}
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Go on with the last run")
        await pilot.press("enter")
        await until(pilot, "Run 20261122 (plan quick)")
        await pilot.press("enter")
        await until(pilot, "measuring")
        assert backend.resumed == ["20261122"]
        assert isinstance(app.screen, LadderScreen)


@pytest.mark.parametrize("tier", [Glyphs.ASCII, Glyphs.CP437])
async def test_nothing_outside_the_tier_is_drawn(tier: Glyphs) -> None:
    from linkladder.app.glyphs import CP437

    backend = synth.settled()
    app = LadderApp(backend, tier)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        texts = [seen(app)]
        for key, words in (
            ("r", "1 run"), ("escape", "Next step"), ("s", "records are in UTC"), ("t", "net.isr.maxthreads"),
            ("escape", "records are in UTC"), ("escape", "Next step"), ("p", "Heard on this segment"),
            ("escape", "Next step"), ("e", "[ Climb the ladder ]"),
        ):  # fmt: skip
            await pilot.press(key)
            texts.append(await until(pilot, words))
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(9)
        texts.append(await until(pilot, "measuring"))
        allowed = set() if tier is Glyphs.ASCII else CP437
        for text in texts:
            strange = {c for c in text if ord(c) > 0x7E and c not in allowed}
            assert not strange, (strange, text)


@pytest.mark.parametrize("size", [(80, 12), (80, 24), (200, 60)])
async def test_other_sizes_show_what_matters(size: tuple[int, int]) -> None:
    backend = synth.settled()
    backend.speed = 0.0
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        await until(pilot, "> Read the report")
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(4.3)
        for words in ("Gb/s │", "localhost measuring", "trial █", "Cancel"):
            await until(pilot, words)


async def test_an_address_of_one_link_alone_is_not_offered_for_a_rung() -> None:
    """Two appliances may have paired over IPv6 link-local; a test needs an address with a meaning off that link."""
    from linkladder.app.screens.link import far_address

    assert far_address(("fe80::5054:ff:fe12:1%vmx1", "10.7.0.2")) == "10.7.0.2"
    assert far_address(("fe80::1%vmx1",)) == "" == far_address(())


async def test_where_every_disk_is_in_use_that_is_said_with_what_to_do() -> None:
    backend = synth.settled()
    backend.drives = (Disk("da0", 8 << 30, used=True),)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Quit")
        app.open("system")
        await until(pilot, "put this system onto a disk")
        await pilot.press("end", "enter")
        text = await until(pilot, "Why: every disk here is in use")
        assert "What to do: attach another one" in text
