"""Ten thousand stored trials: the list of runs, and a run of that size, are on the screen at once."""

from __future__ import annotations

import itertools
import time
import zlib
from dataclasses import replace

import pytest

import synth
from helpers import seen, until
from linkladder.app.live import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.screens.runs import RunsScreen
from linkladder.model import Protocol, RunState
from linkladder.store import Store
from linkladder.store.database import _dump

TRIALS = 10_000
AIM, LOADED = 0.2, 2.0  # seconds on a quiet machine; what a loaded one may take


def filled(folder, runs: int) -> str:
    """A store with that many runs, and ten thousand trials among them; the id of the last."""
    store = Store(folder)
    store._db.execute("PRAGMA synchronous = OFF")
    top = synth.the_document().rungs[-1]
    one = next(e for e in top.experiments if e.parameters.protocol == Protocol.TCP)
    asked = replace(one.parameters, repeats=TRIALS // runs)
    plan = synth.the_plan()
    plan = replace(plan, rungs=(*plan.rungs[:-1], replace(plan.rungs[-1], experiments=(asked,))))
    blob = zlib.compress(_dump(one.trials[0]).encode(), 3)
    run = ""
    for _ in range(runs):
        run = store.begin(plan, "beta")
        store._db.execute("BEGIN")
        store._db.executemany(
            "INSERT INTO trials (run, rung, experiment, repeat, ok, goodput, result) VALUES (?,?,?,?,1,?,?)",
            [(run, "dc-link", asked.id, n, 9.2e9 + n, blob) for n in range(asked.repeats)],
        )
        store._db.execute("COMMIT")
        store.finish(run, RunState.COMPLETE, "PASS")
    store.close()
    return run


async def opened(pilot, screen, words: str) -> tuple[float, float]:
    """Seconds, and CPU seconds, until the words stand on the screen."""
    began, busy = time.perf_counter(), time.process_time()
    pilot.app.push_screen(screen)
    while words not in seen(pilot.app):
        await pilot.pause(0.005)
        assert time.perf_counter() - began < 30
    return time.perf_counter() - began, time.process_time() - busy


@pytest.mark.parametrize(("runs", "words"), [(200, "200 runs"), (1, "reading 10000 trials")])
async def test_ten_thousand_trials_open_at_once(runs, words, monkeypatch, tmp_path):
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    backend = LiveBackend("this screen")
    number = itertools.count()  # this many runs in one second would now and then draw the same name
    monkeypatch.setattr("linkladder.store.database.secrets.token_hex", lambda _: f"{next(number):04x}")
    last = filled(backend.folder, runs)
    monkeypatch.setattr(backend, "home", synth.fresh().home)  # it is Home's business to judge the last run
    if runs == 1:
        monkeypatch.setattr(backend, "load", lambda _: time.sleep(0.3))  # the pages follow; a minute of them is no test
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Quit")
        screen = RunsScreen() if runs > 1 else ResultsScreen(last)
        took, busy = await opened(pilot, screen, words)
        print(
            f"10,000 trials in {runs} runs: {words!r} after {took * 1000:.0f} ms, {busy * 1000:.0f} ms CPU; aim 200 ms"
        )
        assert busy < LOADED
        if runs > 1:
            await pilot.press("end", "up")
            assert app.screen.query_one("#runs").cursor == runs - 2
            assert "9.20 Gb/s  PASS" in seen(app)
        else:
            assert "9.20 Gb/s   best" in seen(app)
