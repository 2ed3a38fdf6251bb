"""Ten pictures of the main screens, of runs recorded in the lab; look at the report when one differs, then
--snapshot-update."""

from __future__ import annotations

import pytest

import recordings
from helpers import settled, until
from linkladder import events, units
from linkladder.app.main import LadderApp
from linkladder.app.screens.link import LinkScreen
from linkladder.app.screens.pair import PairScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.terminal import Glyphs

CONSOLE, ROOMY = (80, 25), (120, 40)
RUN = recordings.load("quick")


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
        await until(pilot, "of 9 checks")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("quick")), terminal_size=size, run_before=ready)


def test_home_out_of_the_box_ascii(snap_compare):
    async def ready(pilot):
        await until(pilot, "Quit")
        await until(pilot, "Open pairing")
        await until(pilot, "of 9 checks")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.fresh(), Glyphs.ASCII), terminal_size=CONSOLE, run_before=ready)


def test_pair_code(snap_compare):
    heard, compared, _ = recordings.pairing()

    async def ready(pilot):
        pilot.app.push_screen(PairScreen())
        await until(pilot, heard.heard[0].address)
        await pilot.press("enter")
        await until(pilot, " ".join(compared.words))
        await until(pilot, "Do it")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.fresh()), terminal_size=CONSOLE, run_before=ready)


def test_link(snap_compare):
    async def ready(pilot):
        pilot.app.push_screen(LinkScreen())
        await until(pilot, "circuit repeats.")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("quick")), terminal_size=CONSOLE, run_before=ready)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_ladder_live(snap_compare, size):
    async def ready(pilot):
        await until(pilot, "Quit")
        await recordings.watch(pilot.app, RUN, RUN.trial_began("dc-link", "tcp") + 9.5)
        await until(pilot, f"contract {units.rate(RUN.verdict('dc-link').ceiling.bps)}")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("quick")), terminal_size=size, run_before=ready)


def test_ladder_asks_for_a_move(snap_compare):
    run = recordings.load("contradicted")

    async def ready(pilot):
        await until(pilot, "Quit")
        await recordings.watch(pilot.app, run, run.when(events.WaitingForOperator))
        await until(pilot, "same-vlan needs you")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("contradicted")), terminal_size=CONSOLE, run_before=ready)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_results_of_the_link(snap_compare, size):
    run = recordings.load("matrix")

    async def ready(pilot):
        pilot.app.push_screen(ResultsScreen(run.id))
        await until(pilot, "[run]")
        await pilot.press("left")
        await until(pilot, "best setting")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("matrix")), terminal_size=size, run_before=ready)
