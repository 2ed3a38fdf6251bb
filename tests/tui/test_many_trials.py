"""Ten thousand stored trials, in many runs or in one: Home, Link, Runs and Results are on the screen at once."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import synth
from helpers import seen, slowness, until
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.page import Page
from linkladder.app.screens.home import HomeScreen
from linkladder.app.screens.link import LinkScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.screens.runs import RunsScreen
from linkladder.model import Protocol, RunState
from linkladder.store import Store
from linkladder.store.database import _dump
from terminals import kept_waiting

TRIALS = 10_000
AIM = 0.2  # seconds, where nothing else is going on
LOADED = 1.0  # seconds of CPU, of which a busy machine makes about twice what a quiet one needs


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
        store.host(run, "beta", synth.HOST)
        store._db.execute("BEGIN")
        store._db.executemany(
            "INSERT INTO trials (run, rung, experiment, repeat, ok, goodput, result) VALUES (?,?,?,?,1,?,?)",
            [(run, "dc-link", asked.id, n, 9.2e9 + n, blob) for n in range(asked.repeats)],
        )
        store._db.execute("COMMIT")
        store.finish(run, RunState.COMPLETE, "provisional PASS", rungs={"dc-link": ("provisional PASS", 9.2e9)})
    store.close()
    return run


@pytest.fixture(autouse=True)
def nothing_of_earlier_tests():
    """What they have left in memory is not gone through while this one's time is taken; a console has none of it."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def backend(monkeypatch):
    """The real one; its doctor has done with its rounds."""
    number = itertools.count()  # this many runs in one second would now and then draw the same name
    monkeypatch.setattr("linkladder.store.database.secrets.token_hex", lambda _: f"{next(number):04x}")
    made = LiveBackend("this screen")
    monkeypatch.setattr(made, "findings", tuple)
    return made


async def opened(app: LadderApp, screen: Page, ready: Callable[[Any], bool], words: str) -> tuple[float, float]:
    """Seconds of a machine of its own, and CPU seconds, until the words stand on the screen."""
    began, busy, drawn, late = time.perf_counter(), time.process_time(), time.thread_time(), kept_waiting()
    app.push_screen(screen)
    while app.screen is not screen or not ready(screen) or words not in seen(app):
        await asyncio.sleep(0.005)
        assert time.perf_counter() - began < 30, seen(app)
    took = time.perf_counter() - began - max(0.0, kept_waiting() - late)
    return max(time.thread_time() - drawn, took), time.process_time() - busy


async def walked(backend: LiveBackend, runs: int, times: int) -> dict[str, tuple[float, float]]:
    """The least that each place took; a machine that others slow down gets more tries, for they only add to it."""
    last = filled(backend.folder, runs)
    said = f"{last}  plan quick, {TRIALS // runs} trials, 0 failed"
    first = "reading 10000 trials" if runs == 1 else "Plan quick, begun"
    places = {
        "Home": (HomeScreen, lambda home: home.view, said),
        "Home's menu": (HomeScreen, lambda home: home.view, "> Open pairing"),
        "Link": (LinkScreen, lambda link: link.query("#climb"), "[ Climb the ladder ]"),
        "Runs": (RunsScreen, lambda list_of: list_of.found, "provisional"),
        "Results": (lambda: ResultsScreen(last), lambda results: results.query("#page"), first),
    }
    app, took = LadderApp(backend), {}
    async with app.run_test(size=(80, 25)) as pilot:
        assert "9.20 Gb/s  PASS (provisional)" in await until(pilot, "dc-link")
        for name, (make, ready, words) in places.items():
            found = []
            once = first.startswith("reading") and name == "Results"
            while not found or (len(found) < times and not once and min(found)[0] > AIM):
                await pilot.pause(0.2)
                found.append(await opened(app, make(), ready, words))
            took[name] = min(wall for wall, _ in found), min(busy for _, busy in found)
            if name == "Runs" and runs > 1:
                await pilot.press("end", "up")
                assert app.screen.query_one("#runs").cursor == runs - 2
                assert "9.20 Gb/s  PASS (provisional)" in seen(app)
        for name, (wall, busy) in took.items():
            print(f"10,000 trials in {runs} runs: {name} after {wall * 1000:.0f} ms, {busy * 1000:.0f} ms of CPU")
        await until(pilot, "[run]", 120)  # and all of it comes
    return took


@pytest.mark.parametrize("runs", [200, 1])
async def test_ten_thousand_trials_cost_little(runs, backend):
    """Reading and judging them all takes seconds; nothing that a person waits for may do that."""
    for name, (_, busy) in (await walked(backend, runs, 1)).items():
        assert busy < LOADED, name


@pytest.mark.alone
@pytest.mark.parametrize("runs", [200, 1])
async def test_ten_thousand_trials_open_at_once(runs, backend, record_property):
    took = await walked(backend, runs, 10)
    said = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, (seconds, _) in took.items())
    record_property("figure", f"10,000 trials in {runs} run{'s' if runs > 1 else ''}: {said} (promised: 200 ms)")
    for name in ("Home", "Home's menu", "Runs", "Results"):
        assert took[name][0] < AIM * slowness(), name


async def test_leaving_does_not_wait_for_a_long_run_to_be_read():
    backend, read = synth.settled(), threading.Event()
    backend.load = lambda _: read.wait(60) and synth.the_document()
    app = LadderApp(backend)
    try:
        async with app.run_test(size=(80, 25)) as pilot:
            await until(pilot, "> Read the report")
            await pilot.press("enter")
            await until(pilot, "reading ...")
            await pilot.press("escape")
        await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), 5)
    finally:
        read.set()
