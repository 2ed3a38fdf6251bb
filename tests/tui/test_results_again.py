"""Results that stand on one console while another, or a command, goes on with their run."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import synth
from helpers import Ticks, present, seen, until, until_true
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.screens.results import ResultsScreen
from linkladder.errors import EnvironmentFault
from linkladder.model import Document, RunState
from linkladder.store import RunSummary, Store
from replay_backend import ReplayBackend

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from judge_documents import ladder

pytestmark = pytest.mark.asyncio
ASKS = "Not settled: whether it holds over repeats."


class Counted(ReplayBackend):
    """Counts how often a run is read whole."""

    reads = 0

    def load(self, run_id: str) -> Document:
        self.reads += 1
        return super().load(run_id)


def _counted() -> Counted:
    made = Counted(synth.HOST, synth.FINDINGS)
    made.stored = {synth.RUN: (synth.summary(), ladder(950e6, repeats=1))}
    return made


def _run(state: RunState, trials: int) -> RunSummary:
    return replace(synth.summary(state=state), trials=trials)


async def test_they_are_read_again_once_a_follow_up_from_elsewhere_has_ended(ticks: Ticks) -> None:
    backend = _counted()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, ASKS)
        await until(pilot, "Settle it")
        before = present(backend.stored[synth.RUN][1])
        going = replace(before, run=replace(before.run, state=RunState.RUNNING))
        backend.stored[synth.RUN] = (_run(RunState.RUNNING, 14), going)
        await until(pilot, "running")
        await until_true(pilot, lambda: "Settle it" not in seen(app))
        reads = backend.reads
        for trials in (15, 16):  # reading all of it again costs time that the measuring needs
            backend.stored[synth.RUN] = (_run(RunState.RUNNING, trials), going)
            await ticks(pilot, 8)
        assert backend.reads == reads
        backend.stored[synth.RUN] = (_run(RunState.COMPLETE, 24), ladder(950e6, repeats=5))
        text = await until(pilot, ", complete")
        assert ASKS not in text, text


async def test_whoever_reads_stays_at_the_line_and_the_tab(ticks: Ticks) -> None:
    backend = _counted()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 12)) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "Settle it")
        await pilot.press("right", "down")
        scroll = app.screen.query_one("#scroll")
        await until_true(pilot, lambda: scroll.scroll_y == 1)
        whole = ladder(950e6, repeats=5)
        note = replace(whole.run, notes=("rack 12",))
        backend.stored[synth.RUN] = (_run(RunState.COMPLETE, 24), replace(whole, run=note))
        page = app.screen
        assert isinstance(page, ResultsScreen)
        await until_true(pilot, lambda: page.document and page.document.run.notes == ("rack 12",))
        await ticks(pilot, 1)
        assert page.at == 1 and scroll.scroll_y == 1


async def test_a_run_that_is_not_there_any_more_stays_as_it_was_read(
    ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = _counted()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "Settle it")
        backend.stored = {}  # deleted on another console
        await ticks(pilot, 8)

        def unreadable(words: str = "") -> list[RunSummary]:
            raise EnvironmentFault("the disk cannot be written")

        monkeypatch.setattr(backend, "runs", unreadable)
        await ticks(pilot, 8)
        assert ASKS in seen(app) and isinstance(app.screen, ResultsScreen), "no dialog comes up again and again"
        assert backend.reads == 1


async def test_they_are_read_again_from_the_store_itself(own_state: Path) -> None:
    document = synth.the_document()
    store = Store(own_state)
    run = store.begin(document.run.plan, "beta")
    rung = next(r for r in document.rungs if r.experiments)
    first = rung.experiments[0]
    store.keep_trial(run, rung.name, first.parameters.id, first.trials[0])
    store.finish(run, RunState.INCOMPLETE, reason="the power went")
    app = LadderApp(LiveBackend("a test"))
    async with app.run_test(size=(80, 25)) as pilot:
        app.push_screen(ResultsScreen(run))
        await until(pilot, ", incomplete")
        store.resume(run)
        await until(pilot, ", running")
        store.note(run, "rack 12")
        store.finish(run, RunState.COMPLETE)
        await until(pilot, ", complete")
        await until(pilot, "Note: rack 12")
    store.close()
