"""Ten thousand stored trials: what a place costs to open does not grow with them.  The time: tests/bench/run.sh."""

from __future__ import annotations

import asyncio
import itertools
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

import synth
from helpers import seen, until
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.places import screen
from linkladder.app.widgets.rows import Rows
from linkladder.model import Document, Protocol, RunState
from linkladder.store import KeptVerdict, Store, database

TRIALS = 10_000
LONG = 1_000  # of a run that is read to its end
NAMES = itertools.count()  # of runs that are stored within one second


def filled(folder: Path, runs: int, trials: int = TRIALS) -> str:
    """A store with that many runs, and that many trials among them; the id of the last."""
    store = Store(folder)
    store._db.set_trace_callback(None)  # what is counted is the reading
    store._db.set_progress_handler(None, 0)
    store._db.execute("PRAGMA synchronous = OFF")
    top = synth.the_document().rungs[-1]
    one = next(e for e in top.experiments if e.parameters.protocol == Protocol.TCP)
    asked = replace(one.parameters, repeats=trials // runs)
    plan = synth.the_plan()
    plan = replace(plan, rungs=(*plan.rungs[:-1], replace(plan.rungs[-1], experiments=(asked,))))
    blob = zlib.compress(database._dump(one.trials[0]).encode(), 3)
    run = ""
    for _ in range(runs):
        run = store.begin(plan, "beta")
        store.keep_host(run, "beta", synth.HOST)
        store._db.execute("BEGIN")
        store._db.executemany(
            "INSERT INTO trials (run, rung, experiment, repeat, ok, goodput, result) VALUES (?,?,?,?,1,?,?)",
            [(run, "dc-link", asked.id, n, 9.2e9 + n, blob) for n in range(asked.repeats)],
        )
        store._db.execute("COMMIT")
        kept = KeptVerdict("PASS", True)
        store.finish(run, RunState.COMPLETE, kept, rungs={"dc-link": (kept, 9.2e9)})
    store.close()
    return run


@pytest.fixture(autouse=True)
def names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """This many runs in one second would now and then draw the same name."""
    monkeypatch.setattr("linkladder.store.database.secrets.token_hex", lambda _: f"{next(NAMES):04x}")


def opened_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> LiveBackend:
    """The real backend; its doctor has done with its rounds."""
    monkeypatch.setenv("LINKLADDER_STATE", str(folder))
    backend = LiveBackend("this screen")
    monkeypatch.setattr(backend, "findings", tuple)
    return backend


def said_of(last: str, trials: int) -> dict[str, tuple[tuple[str, ...], str, str]]:
    """Each place: what it is made of, an element that is there once it was filled, and its words."""
    return {
        "Home": (("home",), "#last", f"{last}  plan quick, {trials} trials, 0 failed"),
        "Home's menu": (("home",), "#steps", "> Open pairing"),
        "Link": (("link",), "#climb", "[ Climb the ladder ]"),
        "Runs": (("runs",), "#runs", "provisional"),
        "Results": (("results", last), "#page", "Plan quick, begun"),
    }


async def opened(app: LadderApp, about: tuple[str, ...], element: str, words: str) -> None:
    """Go there, and wait until the words stand on the screen."""
    place = screen(*about)
    app.push_screen(place)
    for _ in range(1500):
        if app.screen is place and place.query(element) and words in seen(app):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"never saw {words!r} on\n{seen(app)}")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """What is done, counted where it is done: statements and steps of the database, and styles that are put up."""
    found: Counter[str] = Counter()
    prepare, apply = Store._prepare, Stylesheet.apply
    counting = threading.Lock()  # the database is asked in threads

    def prepared(store: Store) -> None:
        def count(what: str, by: int = 1) -> None:
            with counting:
                found[what] += by

        store._db.set_trace_callback(lambda _: count("statements"))
        store._db.set_progress_handler(lambda: count("steps", 10), 10)
        prepare(store)

    def applied(sheet: Stylesheet, *args: Any, **options: Any) -> None:
        found["styles"] += 1
        apply(sheet, *args, **options)

    monkeypatch.setattr(Store, "_prepare", prepared)
    monkeypatch.setattr(Stylesheet, "apply", applied)
    yield found


async def costs(
    folder: Path, runs: int, trials: int, work: Counter[str], monkeypatch: pytest.MonkeyPatch, *, but: str = ""
) -> dict[str, Counter[str]]:
    """What opening each place takes, or each `but` one."""
    folder.mkdir()
    last = filled(folder, runs, trials)
    took: dict[str, Counter[str]] = {}
    app = LadderApp(opened_at(folder, monkeypatch))
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "9.20 Gb/s  PASS (provisional)".replace("  ", " "))
        for name, (about, element, words) in said_of(last, trials // runs).items():
            if name == but:
                continue
            await idle(pilot, work)
            work.clear()
            await opened(app, about, element, words)
            await idle(pilot, work)
            took[name] = Counter(work)
            app.back_home()
    return took


async def idle(pilot: Pilot[None], work: Counter[str]) -> None:
    """Until nothing is done any more for what was asked last."""
    before: Counter[str] = Counter()
    while before != work:
        before = Counter(work)
        await pilot.pause(0.2)


async def test_ten_times_the_runs_and_trials_cost_little_more(
    tmp_path: Path, work: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home looks at a few runs only; the list of runs has ten times as many lines, and no more than that to count."""
    small = await costs(tmp_path / "small", 20, TRIALS // 10, work, monkeypatch)
    large = await costs(tmp_path / "large", 200, TRIALS, work, monkeypatch)
    for name, (before, after) in {name: (small[name], large[name]) for name in small}.items():
        print(f"{name}: {dict(before)} with 1,000 trials in 20 runs, {dict(after)} with 10,000 in 200")
        most = 3 if name in ("Home", "Home's menu", "Link") else 12
        assert after["steps"] <= most * before["steps"], name
        assert after["statements"] <= 1.5 * before["statements"], name
        assert after["styles"] <= 1.5 * before["styles"], name


async def test_ten_times_the_trials_of_a_run_cost_no_more_before_they_are_read(
    tmp_path: Path, work: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = await costs(tmp_path / "small", 1, 1_000, work, monkeypatch, but="Results")  # where they are read
    large = await costs(tmp_path / "large", 1, 10_000, work, monkeypatch, but="Results")
    assert list(small) == ["Home", "Home's menu", "Link", "Runs"]
    for name in small:
        assert large[name]["statements"] <= 1.5 * small[name]["statements"], name
        assert large[name]["steps"] <= 12 * small[name]["steps"], name
        assert large[name]["styles"] <= 1.5 * small[name]["styles"], name


async def test_a_long_run_says_first_what_is_known_and_then_comes_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    last = filled(folder, 1, LONG)
    backend, read = opened_at(folder, monkeypatch), threading.Event()
    load: Callable[[str], Any] = backend.load
    monkeypatch.setattr(backend, "load", lambda run: read.wait(60) and load(run))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        app.open("results", last)
        await until(pilot, f"reading {LONG} trials")
        read.set()
        await until(pilot, "[run]", 240)


async def test_the_end_of_a_long_list_is_a_key_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    filled(folder, 200)
    app = LadderApp(opened_at(folder, monkeypatch))
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        app.open("runs")
        await until(pilot, "200 runs")
        await pilot.press("end", "up")
        assert app.screen.query_one("#runs", Rows).cursor == 198
        assert "9.20 Gb/s  PASS (provisional)" in seen(app)


async def test_leaving_does_not_wait_for_a_long_run_to_be_read() -> None:
    backend, read = synth.settled(), threading.Event()

    def load(run_id: str) -> Document:
        read.wait(60)
        return synth.the_document()

    backend.load = load
    app = LadderApp(backend)
    try:
        async with app.run_test(size=(80, 25)) as pilot:
            await until(pilot, "> Read the report")
            await pilot.press("enter")
            await until(pilot, "reading ...")
            await pilot.press("escape")
        await asyncio.get_running_loop().shutdown_default_executor()
    finally:
        read.set()
