"""Before a run starts from the console, every end that it still needs is known to be paired here."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

import synth
from helpers import at_rest, seen, until
from linkladder import plan as plans
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.plan_warnings import warnings
from linkladder.app.unpaired_ends import NEW_NAME
from linkladder.model import Experiment, Plan, Rung, RungName, RunState
from linkladder.model import Path as Way
from linkladder.plan import Link
from linkladder.store import Store
from linkladder.trust import peers
from replay_backend import ReplaySession

pytestmark = pytest.mark.asyncio
WAYS = (Way("198.51.100.1", "198.51.100.2", "beta"), Way("198.51.100.1", "198.51.100.3", "gamma"))
MESH = Plan("m", rungs=(Rung(RungName.DC_LINK, WAYS, (Experiment("tcp", repeats=2),)),))
OWN = """name = "my"
title = "A plan of one's own"
[path.dc-link]
remote = "198.51.100.3"
peer = "gamma"
[[experiment]]
rungs = ["dc-link"]
"""


class Console(LiveBackend):
    """The real backend, but a run that is started is a replayed one."""

    def __init__(self) -> None:
        super().__init__("a test")
        self.started: list[Plan] = []

    async def start(self, plan: Plan, resume: str = "") -> ReplaySession:  # type: ignore[override]
        self.started.append(plan)
        return ReplaySession(synth.the_log(), 0.0)


@pytest.fixture
def backend(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setattr(LiveBackend, "findings", lambda *_: ())
    _paired(monkeypatch, "beta", "delta")
    return Console()


def _paired(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    known = tuple(peers.Peer(name, ("198.51.100.2",), name, name) for name in names)
    monkeypatch.setattr(peers, "load", lambda: known)


def _stopped(folder: Path, plan: Plan, *repeats: int) -> str:
    store = Store(folder)
    run = store.begin(plan, "beta")
    trial = synth.trial_result(plan.rungs[0].experiments[0], RungName.DC_LINK, 0, 0)
    for repeat in repeats:
        store.keep_trial(run, RungName.DC_LINK, "tcp", replace(trial, id=f"t{repeat}", repeat=repeat))
    store.finish(run, RunState.INCOMPLETE, reason="the power went")
    store.close()
    return run


def _dialog(app: App[int]) -> str:
    """The words in the box."""
    return " ".join(" ".join(re.findall("│([^│]*)│", seen(app))).split())


async def _resume(pilot: Pilot[int]) -> None:
    await until(pilot, "> Go on with the last run")
    await pilot.press("enter")
    await until(pilot, "[ Go on ]")
    await pilot.press("enter")


@pytest.mark.parametrize("ways", [WAYS, WAYS[1:]])
async def test_a_run_does_not_go_on_without_an_end_that_is_not_paired_any_more(
    backend: Console, monkeypatch: pytest.MonkeyPatch, ways: tuple[Way, ...]
) -> None:
    """It started, and all that this end took part in failed."""
    run = _stopped(backend.folder, replace(MESH, rungs=(replace(MESH.rungs[0], paths=ways),)), 0)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await _resume(pilot)
        await until(pilot, "What to do:")
        said = _dialog(app)
        assert f"Run {run} needs gamma, which is not paired here" in said, said
        assert "Why: paired are: beta, delta" in said, said
        assert "if it was renamed, call it gamma again (p on Home, F4, then n), or else pair with it" in said, said
        assert not backend.started
        await pilot.press("enter")
        _paired(monkeypatch, "beta", "gamma")
        await _resume(pilot)
        await until(pilot, "linkladder Ladder")
        assert len(backend.started) == 1


async def test_it_goes_on_where_nothing_is_left_for_that_end(backend: Console) -> None:
    _stopped(backend.folder, MESH, 0, 1)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await _resume(pilot)
        await until(pilot, "linkladder Ladder")
        assert len(backend.started) == 1


async def test_a_plan_of_one_s_own_that_names_a_renamed_peer_says_so_before_it_starts(backend: Console) -> None:
    (backend.folder / "plans").mkdir()
    (backend.folder / "plans" / "my.toml").write_text(OWN)
    backend.save_link(Link(synth.CONTRACT, {RungName.DC_LINK: (Way("", "198.51.100.2", "beta"),)}, "my"))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Climb the ladder")
        await pilot.press("enter")
        await until(pilot, "! the plan my names gamma, which is not paired here: write the name that it has now")
        await pilot.press("f2")
        await until(pilot, "What to do:")
        said = _dialog(app)
        assert "The plan my names gamma, which is not paired here" in said, said
        assert "write the name that it has now in the plan's file" in said, said
        await pilot.press("enter")
        await at_rest(pilot)
        assert not backend.started


async def test_of_the_ends_of_a_mesh_of_one_s_own_it_is_the_plan_that_names_them() -> None:
    """The Link page has no field for them."""
    text = 'name = "my"\nmesh = true\nends = ["near", "beta", "gamma"]\n[[experiment]]\nrungs = ["dc-link"]\n'
    link = Link(synth.CONTRACT, {RungName.DC_LINK: (Way("", "198.51.100.2", "beta"),)})
    mesh = plans.with_link(plans.read_plan(text), link)
    said = warnings(link, mesh, synth.HOST, known={"beta": (), "delta": ()})
    assert said[0] == f"the plan my names gamma, which is not paired here: {NEW_NAME}.", said
    assert "choose another peer there" not in " ".join(said)


async def test_a_link_that_names_one_sends_to_its_page(backend: Console) -> None:
    backend.save_link(Link(synth.CONTRACT, {RungName.DC_LINK: (Way("", "198.51.100.3", "gamma"),)}, "quick"))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Climb the ladder")
        await pilot.press("enter")
        await until(pilot, "! dc-link: gamma is not paired; choose another peer there, or pair with it.")
        assert "The plan quick names" not in seen(app)
        await pilot.press("f2")
        await until(pilot, "What to do:")
        said = _dialog(app)
        assert "The link's description names gamma, which is not paired here" in said, said
        assert "choose another on the Link page" in said and not backend.started, said
