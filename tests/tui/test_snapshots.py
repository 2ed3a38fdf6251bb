"""Ten pictures of the main screens; look at the report when one differs, then --snapshot-update."""

from __future__ import annotations

import pytest

import synth
from helpers import settled, until
from linkladder.app.backend import Heard
from linkladder.app.main import LadderApp
from linkladder.app.screens.ladder import LadderScreen
from linkladder.app.screens.link import LinkScreen
from linkladder.app.screens.pair import PairScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.terminal import Glyphs

CONSOLE, ROOMY = (80, 25), (120, 40)


class Still:
    """A clock that moves only when told: pictures must not depend on how fast the machine is."""

    def __call__(self) -> float:
        return 0.0


async def ladder(app: LadderApp, at: float, moves: int = 0) -> None:
    """The Ladder screen as it is `at` seconds into the recorded run."""
    from linkladder.app.replay import ReplaySession

    session = ReplaySession(app.backend.entries, clock=Still())
    app.backend.running = session
    app.watch_run(session)
    for _ in range(moves):
        session.skip_to(10_000)
        await session.poll_into(app.progress)
        session._held = False
    session.skip_to(at)
    await session.poll_into(app.progress)
    app.push_screen(LadderScreen())


@pytest.fixture(autouse=True)
def poll_into(monkeypatch):
    from linkladder.app.replay import ReplaySession

    async def take(self, progress):
        for at, event in await self.poll():
            progress.apply(event, at)

    monkeypatch.setattr(ReplaySession, "poll_into", take, raising=False)


@pytest.fixture(autouse=True)
def fixed_times(monkeypatch):
    """How long a trial is expected to take is the plan's business, not the pictures'."""
    from linkladder import plan

    def fixed(exp) -> float:
        return exp.warmup + exp.duration + 1 if exp.protocol in ("tcp", "udp") else 4.0

    monkeypatch.setattr(plan.expand, "trial_seconds", fixed)
    monkeypatch.setattr(plan, "trial_seconds", fixed)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_home(snap_compare, size):
    async def ready(pilot):
        await until(pilot, "PASS")
        await until(pilot, "Quit")
        await settled(pilot)

    assert snap_compare(LadderApp(synth.settled()), terminal_size=size, run_before=ready)


def test_home_out_of_the_box_ascii(snap_compare):
    async def ready(pilot):
        await until(pilot, "Quit")
        await until(pilot, "Open pairing")
        await settled(pilot)

    assert snap_compare(LadderApp(synth.fresh(), Glyphs.ASCII), terminal_size=CONSOLE, run_before=ready)


def test_pair_code(snap_compare):
    backend = synth.fresh()
    backend.nearby = (Heard("beta", "10.7.0.2", "vmx0", 2.0, 0.21),)

    async def ready(pilot):
        pilot.app.push_screen(PairScreen())
        await until(pilot, "heard 2 s ago")
        await pilot.press("enter")
        await until(pilot, "402 917")
        await until(pilot, "Do it")
        await settled(pilot)

    assert snap_compare(LadderApp(backend), terminal_size=CONSOLE, run_before=ready)


def test_link(snap_compare):
    async def ready(pilot):
        pilot.app.push_screen(LinkScreen())
        await until(pilot, "circuit repeats.")
        await settled(pilot)

    assert snap_compare(LadderApp(synth.settled()), terminal_size=CONSOLE, run_before=ready)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_ladder_live(snap_compare, size):
    began = max(at for at, e in synth.the_log() if type(e).__name__ == "TrialStarted" and e.rung == "same-vlan")

    async def ready(pilot):
        await until(pilot, "Quit")
        await ladder(pilot.app, began + 9.5, moves=1)
        await until(pilot, "ceiling 9.41")
        await settled(pilot)

    assert snap_compare(LadderApp(synth.settled()), terminal_size=size, run_before=ready)


def test_ladder_asks_for_a_move(snap_compare):
    async def ready(pilot):
        await until(pilot, "Quit")
        await ladder(pilot.app, 10_000)
        await until(pilot, "Move beta to another host")
        await settled(pilot)

    assert snap_compare(LadderApp(synth.settled()), terminal_size=CONSOLE, run_before=ready)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_results_of_the_link(snap_compare, size):
    async def ready(pilot):
        pilot.app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "Circuit")
        await pilot.press("left")
        await until(pilot, "* best setting")
        await settled(pilot)

    assert snap_compare(LadderApp(synth.settled()), terminal_size=size, run_before=ready)
