"""Ten pictures of the main screens, of runs recorded in the lab; look at the report when one differs, then
--snapshot-update."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

import recordings
from helpers import Compare, present, settled, until
from linkladder import events, units
from linkladder.app.main import LadderApp
from linkladder.app.screens.link import LinkScreen
from linkladder.app.screens.pair import PairScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.terminal import Glyphs
from linkladder.model import Experiment

CONSOLE, ROOMY = (80, 25), (120, 40)
RUN = recordings.load("quick")


@pytest.fixture(autouse=True)
def fixed_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a trial is expected to take is the plan's business, not the pictures'."""
    from linkladder import plan

    def fixed(exp: Experiment) -> float:
        return exp.warmup + exp.duration + 1 if exp.protocol in ("tcp", "udp") else 4.0

    monkeypatch.setattr(plan.expand, "trial_seconds", fixed)
    monkeypatch.setattr(plan, "trial_seconds", fixed)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_home(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def ready(pilot: Pilot[Any]) -> None:
        await until(pilot, "PASS")
        await until(pilot, "Quit")
        await until(pilot, "of 9 checks")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("quick")), terminal_size=size, run_before=ready)


def test_home_out_of_the_box_ascii(snap_compare: Compare) -> None:
    async def ready(pilot: Pilot[Any]) -> None:
        await until(pilot, "Quit")
        await until(pilot, "Open pairing")
        await until(pilot, "of 9 checks")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.fresh(), Glyphs.ASCII), terminal_size=CONSOLE, run_before=ready)


def test_pair_code(snap_compare: Compare) -> None:
    heard, compared, _ = recordings.pairing()

    async def ready(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(PairScreen())
        await until(pilot, heard.heard[0].address)
        await pilot.press("enter")
        await until(pilot, " ".join(compared.words))
        await until(pilot, "What does the other screen show?")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.fresh()), terminal_size=CONSOLE, run_before=ready)


def test_link(snap_compare: Compare) -> None:
    async def ready(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(LinkScreen())
        await until(pilot, "26 trials or more")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("quick")), terminal_size=CONSOLE, run_before=ready)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_ladder_live(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def ready(pilot: Pilot[Any]) -> None:
        await until(pilot, "Quit")
        await recordings.watch(pilot.app, RUN, RUN.trial_began("dc-link", "tcp") + 9.5)
        await until(pilot, f"contract {units.rate(present(RUN.verdict('dc-link').ceiling).bps)}")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("quick")), terminal_size=size, run_before=ready)


def test_ladder_asks_for_a_move(snap_compare: Compare) -> None:
    run = recordings.load("contradicted")

    async def ready(pilot: Pilot[Any]) -> None:
        await until(pilot, "Quit")
        await recordings.watch(pilot.app, run, run.when(events.WaitingForOperator))
        await until(pilot, "same-vlan needs you")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("contradicted")), terminal_size=CONSOLE, run_before=ready)


@pytest.mark.parametrize("size", [CONSOLE, ROOMY])
def test_results_of_the_link(snap_compare: Compare, size: tuple[int, int]) -> None:
    run = recordings.load("matrix")

    async def ready(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(ResultsScreen(run.id))
        await until(pilot, "[run]")
        await pilot.press("left")
        await until(pilot, "best setting")
        await settled(pilot)

    assert snap_compare(LadderApp(recordings.settled("matrix")), terminal_size=size, run_before=ready)
