"""Home's peers: asked again and again while nothing else is going on, and never while something is measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

import synth
from helpers import Ticks, present, seen, until, until_true
from linkladder.app.backend import PeerView
from linkladder.app.home_text import peer_line, peer_lines
from linkladder.app.main import TICK, LadderApp
from linkladder.app.screens import home
from replay_backend import ReplayBackend

pytestmark = pytest.mark.asyncio
UNASKED = PeerView("beta", ("10.7.0.2",))
SILENT = "answers ping, but linkladder does not answer"


class Asked:
    """Every question that the peers were asked, and what they answer now."""

    def __init__(self, backend: ReplayBackend) -> None:
        self.names: list[str] = []
        self.change = {"reachable": True, "rtt_ms": 0.214}
        backend.probe = self

    async def __call__(self, peer: PeerView) -> PeerView:
        self.names.append(peer.name)
        return replace(peer, **self.change)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ReplayBackend:
    monkeypatch.setattr(home, "SPARE", 0.0)
    made = synth.settled()
    made.peers = (UNASKED,)
    return made


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick apart."""
    monkeypatch.setattr(home, "PEEK", 1)
    monkeypatch.setattr(home, "ASK", 1)


async def test_the_far_end_of_anothers_run_says_so_and_disturbs_it_by_nothing(
    backend: ReplayBackend, often: None, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, examined = Asked(backend), []
    monkeypatch.setattr(backend, "findings", lambda anew=False: examined.append(1) or ())
    backend.user = "gamma"
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "alpha gamma measures with this machine")
        await until(pilot, "10.7.0.2 not asked while a run goes on")
        await ticks(pilot, 3)
        assert not asked.names and not examined
        backend.user = ""
        text = await until(pilot, "reachable, round trip 0.214 ms")
        assert "measures with" not in text and examined


async def test_one_that_stops_answering_is_seen_without_a_key(backend: ReplayBackend, often: None) -> None:
    asked = Asked(backend)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "reachable, round trip 0.214 ms")
        asked.change = {"reachable": False, "reason": SILENT, "rtt_ms": 0.3}
        text = await until(pilot, f"10.7.0.2 {SILENT}")
        assert "asking ..." not in text
        asked.change = {"reachable": True, "reason": "", "rtt_ms": None}
        await until(pilot, "10.7.0.2 reachable")


async def test_nobody_is_asked_behind_another_place(backend: ReplayBackend, often: None, ticks: Ticks) -> None:
    asked = Asked(backend)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "reachable, round trip")
        await pilot.press("r")
        await until(pilot, "1 run")
        before = len(asked.names)
        await ticks(pilot, 3)
        assert len(asked.names) == before
        await pilot.press("escape")
        await until(pilot, "Next step")
        await until_true(pilot, lambda: len(asked.names) > before)


async def test_nobody_is_asked_while_a_run_goes_on(backend: ReplayBackend, often: None, ticks: Ticks) -> None:
    """Not even on the way in: packets of our own are no part of what is measured."""
    asked = Asked(backend)
    await backend.start(synth.the_plan())
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Watch the run")
        await until(pilot, "10.7.0.2 not asked while a run goes on")
        await ticks(pilot, 3)
        assert asked.names == []
        await present(backend.running).control("cancel")
        await until(pilot, "reachable, round trip 0.214 ms")


async def test_a_run_that_another_screen_began_is_seen_before_anybody_is_asked(
    backend: ReplayBackend, often: None, ticks: Ticks
) -> None:
    asked = Asked(backend)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "reachable, round trip")
        await backend.start(synth.the_plan())
        before = len(asked.names)
        await until(pilot, "not asked while a run goes on")
        await ticks(pilot, 2)
        assert len(asked.names) <= before + 1, "at most the one that was on its way"


async def test_coming_back_at_once_does_not_ask_at_once(
    backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The far sshd counts those that call and do not log in."""
    monkeypatch.setattr(home, "SPARE", 60.0)
    asked = Asked(backend)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "reachable, round trip")
        for _ in range(3):
            await pilot.press("r")
            await until(pilot, "1 run")
            await pilot.press("escape")
            await until(pilot, "reachable, round trip")
        assert asked.names == ["beta"]
        backend.peers = (UNASKED, replace(UNASKED, name="gamma"))
        assert isinstance(app.screen, home.HomeScreen)
        app.screen.look()
        await until(pilot, "gamma 10.7.0.2 reachable")


async def test_they_are_asked_every_ten_seconds() -> None:
    assert home.ASK * TICK == 10.0 and home.ASK % home.PEEK == 0
    assert home.SPARE < 10.0


@pytest.mark.parametrize(("count", "names", "rest"), [(4, 4, ""), (5, 3, "and 2 more"), (12, 3, "and 9 more")])
async def test_none_vanishes_without_a_word(backend: ReplayBackend, count: int, names: int, rest: str) -> None:
    backend.peers = tuple(replace(UNASKED, name=f"beta-{n}") for n in range(count))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "beta-2")
        text = seen(app)
        assert [f"beta-{n} " in text for n in range(count)] == [n < names for n in range(count)]
        assert rest in text and "> Read the report" in text


async def test_what_is_said_of_a_peer_fits() -> None:
    for change in ({"reachable": False, "reason": SILENT, "rtt_ms": 0.3}, {"reachable": False, "reason": "no answer"}):
        assert len(peer_line(replace(UNASKED, **change)).plain) <= 78
    assert peer_line(replace(UNASKED, reachable=False, reason="no answer")).plain.endswith("out of reach: no answer")
    assert peer_lines((), False)[0].plain == "none yet: pair with the appliance at the other end"
