"""Home: who this is, what shape it is in, and the one next step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import synth
from helpers import SIZES, at_rest, seen, until
from linkladder.app.home_text import health_line, loan_line
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.next_steps import next_step
from linkladder.app.screens.home import HomeScreen
from linkladder.findings import Finding, Health
from linkladder.model import RunState
from linkladder.settings.overview import OnLoan
from linkladder.store import KeptVerdict, Store

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("size", SIZES)
async def test_home_says_who_what_and_what_next(size: tuple[int, int]) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=size) as pilot:
        await until(pilot, "1 of 2 checks wants a look")  # the doctor and the peers take their time behind the rest
        text = await until(pilot, "reachable, round trip 0.214 ms")
        for words in ("alpha", "PASS", "FreeBSD 15.1", "10.7.0.1", "10.0 Gb/s, MTU 1500", "vmxnet3, 4 queues", "beta",
                      "reachable, round trip 0.214 ms", "1 of 2 checks wants a look", "> Read the report"):  # fmt: skip
            assert words in text, text
        assert len(text.splitlines()[-1]) <= size[0]
        await until(pilot, "Quit")


async def test_next_steps_in_their_order() -> None:
    backend = synth.fresh()
    assert next_step(backend.home(), False) == "pair"
    backend.peers = (synth.BETA,)
    assert next_step(backend.home(), False) == "link"
    backend.described = synth.LINK
    assert next_step(backend.home(), False) == "climb"
    backend.stored = {synth.RUN: (synth.summary(), synth.the_document())}
    assert next_step(backend.home(), False) == "report"
    backend.stored["20261122"] = (synth.summary("20261122", RunState.INCOMPLETE), None)
    assert next_step(backend.home(), False) == "resume"
    assert next_step(backend.home(), True) == "watch"


async def test_the_mark_goes_with_the_bar() -> None:
    """Which step Enter would do is not told by colour alone."""
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "> Read the report")
        await pilot.press("down")
        text = await until(pilot, "> Climb the ladder")
        assert "> Read the report" not in text
        assert isinstance(app.screen, HomeScreen)
        app.screen.look()  # what is found anew leaves the mark where the person put it
        await at_rest(pilot)
        assert "> Climb the ladder" in seen(app)


@pytest.mark.parametrize("size", SIZES)
async def test_a_loan_that_is_out_is_shown_with_its_time_left_and_goes(size: tuple[int, int]) -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        await until(pilot, "> Read the report")
        assert "On loan" not in seen(app)
        backend.lent = OnLoan(("mtu vmx1: 1500 -> 9000", "flag vmx1:tso: on -> off"), 12.4)
        text = await until(pilot, "On loan mtu vmx1: 1500 -> 9000 and 1 more, put back in 12 s unless renewed")
        assert "> Read the report" in text and "Quit" in text and len(text.splitlines()) <= size[1]
        backend.lent = OnLoan(("mtu vmx1: 1500 -> 9000",), 3.0, left_behind=True)
        await until(pilot, "Left changed (d: details) mtu vmx1: 1500 -> 9000")
        backend.lent = OnLoan((), left_behind=True, failed="it is not known which settings")
        await until(pilot, "Left changed (d: details) it is not known which settings")
        backend.lent = OnLoan((), notice="this machine was restarted")
        await until(pilot, "(d: details) this machine was restarted")
        backend.lent = None
        while "was restarted" in seen(app):
            await pilot.pause(0.1)


@pytest.mark.parametrize(
    ("loan", "colour"),
    [
        (OnLoan(("mtu vmx1: 1500 -> 9000",), 12.4), "yellow"),
        (OnLoan(("mtu vmx1: 1500 -> 9000",), left_behind=True), "bold red"),
        (OnLoan((), left_behind=True, failed="it is not known which settings"), "bold red"),
        (OnLoan((), left_behind=True, failed="unknown", notice="this machine was restarted"), "bold red"),
        (OnLoan((), notice="this machine was restarted"), "yellow"),
    ],
)
async def test_only_what_nothing_will_put_back_is_red(loan: OnLoan, colour: str) -> None:
    assert loan_line(loan).style == colour


async def test_a_loan_is_shown_while_the_other_end_measures_with_this_one() -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        backend.user = "beta"
        backend.lent = OnLoan(("mtu vmx1: 1500 -> 9000",), 12.4)
        await until(pilot, "put back in 12 s")


async def test_every_verdict_is_there_beside_a_run_that_stopped_early() -> None:
    backend = synth.settled()
    backend.stored["20261122"] = (synth.summary("20261122", RunState.INCOMPLETE), None)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "> Go on with the last run")
        assert "localhost   41.2 Gb/s" in text and "2 interfaces  (m: all of them)" in text, text


@pytest.mark.parametrize("others", [0, 3])
async def test_a_loan_takes_no_line_from_the_last_run(others: int) -> None:
    """The lowest rung's verdict was beyond the end of the page, which no key scrolls."""
    backend = synth.settled()
    backend.peers += tuple(replace(synth.BETA, name=f"other-{n}") for n in range(others))
    backend.stored["20261122"] = (synth.summary("20261122", RunState.INCOMPLETE), None)
    backend.lent = OnLoan(("mtu vmx1: 1500 -> 9000",), 12.4)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "put back in 12 s unless renewed Peers")
        peers = "4 appliances" if others else "reachable"
        for words in ("VMware, 2 interfaces", "1 of 2 checks", peers, "20261122", "dc-link     9.21 Gb/s",
                      "localhost   41.2 Gb/s", "> Go on with", "This appliance  ", "Quit"):  # fmt: skip
            assert words in text, text
        assert app.screen.query_one(".body").max_scroll_y == 0


async def test_a_run_in_which_nothing_was_measured_does_not_stand_for_the_last_run() -> None:
    """As where every rung was skipped: it says nothing about the link, and hid the run before it."""
    backend = synth.settled()
    skipped = replace(synth.summary("20261122"), trials=0, best_bps={}, verdict=KeptVerdict("INCOMPLETE"))
    backend.stored["20261122"] = (skipped, replace(synth.the_document(), rungs=()))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, f"> Read the report run {synth.RUN}")
        assert "20261122  plan quick, nothing was measured" in text, text
        assert f"{synth.RUN}  plan quick, 14 trials" in text and "localhost   41.2 Gb/s  PASS" in text, text
        await pilot.press("enter")
        await until(pilot, f"linkladder Results {synth.RUN}")


async def test_a_run_whose_every_rung_was_skipped_leaves_nothing_to_report(own_state: Path) -> None:
    store = Store(own_state)
    run = store.begin(synth.the_plan(), "beta")
    for rung in synth.the_plan().rungs:
        store.keep_rung(run, rung.name, unavailable="skipped by the operator")
    incomplete = KeptVerdict("INCOMPLETE")
    store.finish(run, RunState.COMPLETE, incomplete, rungs={"dc-link": (incomplete, None)})
    store.close()
    app = LadderApp(LiveBackend("a test"))
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, f"{run} plan quick, nothing was measured")
        assert "Read the report" not in text and "none yet:" in text and "INCOMPLETE" not in text, text


async def test_runs_and_peers_that_were_damaged_do_not_look_as_if_there_never_were_any(own_state: Path) -> None:
    (own_state / "linkladder.db").write_bytes(b"no database" * 1000)
    (own_state / "peers.json").write_text("{")
    (own_state / "peers.json").chmod(0o600)
    app = LadderApp(LiveBackend("a test"))
    async with app.run_test(size=(80, 25)) as pilot:
        text = " ".join((await until(pilot, "none: the stored runs were damaged: 0 runs")).split())
        assert "none: the list of peers was damaged" in text and "none yet" not in text
        await pilot.press("r")
        assert "nothing was measured" not in await until(pilot, "the stored runs were damaged: 0 runs")


async def test_home_comes_up_although_the_list_of_peers_is_refused_and_the_doctor_says_what_to_do(
    own_state: Path,
) -> None:
    (own_state / "peers.json").write_text("[]")
    (own_state / "peers.json").chmod(0o644)
    app = LadderApp(LiveBackend("a test"))
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "> Open pairing")
        assert "must be their owner's alone" in " ".join(text.split()) and "none yet:" not in text
        await until(pilot, "need you: the list of peers")
        await pilot.press("d")
        await until(pilot, "do: chmod 600")


async def test_a_link_whose_description_was_damaged_is_no_proposal_like_the_first(own_state: Path) -> None:
    (own_state / "link.toml").write_text("[contract")
    app = LadderApp(LiveBackend("a test"))
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        await pilot.press("e")
        await until(pilot, "! What was described here before was damaged (Home, then d)")


async def test_health_names_as_many_as_there_is_room_for() -> None:
    found = [Finding(title, Health.WARN, "") for title in ("cores", "link.toml", "linkladder.db", "a longer title")]
    said = [health_line((), tuple(found[:count]), False).plain for count in range(1, 5)]
    assert "a look: cores, link.toml  (d: details)" in said[1]
    assert "a look: cores, link.toml, ...  (d: details)" in said[3] and all(len(line) <= 78 for line in said)
    assert ": cores, ...  (d" in health_line((), tuple(found), False, 64).plain
