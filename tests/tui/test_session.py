"""A run watched and steered from other processes: who holds the controls, and what is said when it dies."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import synth
from helpers import seen, until
from linkladder import events
from linkladder.engine import Controls
from linkladder.errors import EnvironmentFault
from linkladder.model import RunState
from linkladder.run import eventlog, launch, lock, orders
from linkladder.run.lock import RunLock, announced, locked, measuring
from linkladder.run.session import LiveSession, current
from linkladder.run.steering import Seat

MEASURES = """
import os, sys, time
from pathlib import Path
from linkladder.run.lock import RunLock
mine = RunLock(Path(sys.argv[1]))
mine.take()
folder, socket, run = sys.argv[1:]
mine.announce(pid=os.getpid(), log=folder + "/log.jsonl", socket=socket, began=time.monotonic(), run=run)
print("measuring", flush=True)
time.sleep(60)
"""


class Process:
    """One that holds the lock and measures nothing."""

    def __init__(self, folder: Path, socket: str = "", run: str = "") -> None:
        argv = [sys.executable, "-c", MEASURES, str(folder), socket, run]
        self.popen = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        self.pid = self.popen.pid
        assert self.popen.stdout and self.popen.stdout.readline() == "measuring\n"

    def kill(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()
        assert self.popen.stdout
        self.popen.stdout.close()


Measures = Callable[..., Process]


@pytest.fixture
def measures(tmp_path: Path) -> Iterator[Measures]:
    made: list[Process] = []

    def start(folder: Path = tmp_path, **options: str) -> Process:
        made.append(Process(folder, **options))
        return made[-1]

    yield start
    for one in made:
        one.kill()


def watch(folder: Path, who: str = "this") -> LiveSession:
    found = announced(folder)
    assert found
    return LiveSession(folder, found, Seat(folder, who))


async def test_controls_arrive_and_wrong_ones_are_refused(tmp_path: Path, measures: Measures) -> None:
    controls = Controls()
    async with orders.listening(tmp_path, controls) as address:
        measures(socket=address)
        session = watch(tmp_path, "the screen on ttyv0")
        await session.control("pause")
        await session.control("note", "rack 12")
        assert controls.pause_asked and controls.notes == ["rack 12"]
        with pytest.raises(EnvironmentFault, match="refused"):
            await session.control("__init__")
        await session.control("cancel")
        assert controls.cancelled
        assert oct(os.stat(address).st_mode & 0o777) == "0o600"
    with pytest.raises(EnvironmentFault, match="does not answer"):
        await session.control("skip")


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"do": 3}', b'{"do": "_interrupt"}', b"\xff\xfe"])
def test_an_order_is_one_of_the_known(line: str) -> None:
    assert orders.obey(Controls(), line) is False


async def test_the_second_screen_watches_and_takes_over(tmp_path: Path, measures: Measures) -> None:
    measures()
    first = watch(tmp_path, "the screen on ttyv0")
    second = watch(tmp_path, "the screen on pts/1")
    assert first.controlling and first.holder == "this screen"
    assert not second.controlling and second.holder == "the screen on ttyv0"
    await second.take_over()
    assert second.controlling
    await first.poll()
    assert not first.controlling and first.holder == "the screen on pts/1"
    await first.take_over()
    await second.poll()
    assert not second.controlling  # and loses it when the other asks


SITS = """
import sys, time
from pathlib import Path
from linkladder.run.steering import Seat
seat = Seat(Path(sys.argv[1]), "a screen that dies")
seat.take_over()
print(seat.steers, flush=True)
time.sleep(60)
"""


def test_controls_of_a_dead_screen_are_free(tmp_path: Path) -> None:
    screen = subprocess.Popen([sys.executable, "-c", SITS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert screen.stdout and screen.stdout.readline() == "True\n"
        mine = Seat(tmp_path, "this")
        mine.take_if_free()
        assert not mine.steers and mine.holder == "a screen that dies"
    finally:
        screen.kill()
        screen.communicate()
    mine.take_if_free()
    assert mine.steers
    assert len(list((tmp_path / "seats").iterdir())) == 1, "the dead one's file is gone"


async def test_a_process_that_dies_is_an_incomplete_run(tmp_path: Path, measures: Measures) -> None:
    process = measures()
    log = eventlog.Recorder(tmp_path / "log.jsonl")
    first = synth.the_log()[0][1]
    log.write(first)
    session = watch(tmp_path)
    assert [e for _, e in await session.poll()] == [first]
    assert session.run_id == synth.RUN
    process.kill()
    ((_, last),) = await session.poll()
    assert isinstance(last, events.RunFinished) and last.state is RunState.INCOMPLETE
    assert "gone" in last.reason
    log.close()


def test_a_run_is_not_going_on_because_another_process_has_its_number(tmp_path: Path) -> None:
    """After a power cut the number that stands in the record is soon somebody's: here it is that of the test itself."""
    from linkladder.app.stored_runs import StoredRuns
    from linkladder.store import Store

    store = Store(tmp_path)
    run = store.begin(synth.the_plan(), "beta")
    with locked(tmp_path) as mine:
        mine.announce(pid=os.getpid(), log=str(tmp_path / "log.jsonl"), run=run)
        assert current(tmp_path, Seat(tmp_path, "this")) is not None
    store.close()
    assert not measuring(tmp_path)
    assert current(tmp_path, Seat(tmp_path, "this")) is None
    stored = StoredRuns()
    stored.folder = tmp_path
    (found,) = stored.overview().runs
    assert (found.id, found.state) == (run, RunState.INCOMPLETE)


async def test_a_run_that_goes_on_is_one_whoever_began_it_and_the_next_run_is_another(
    tmp_path: Path, measures: Measures
) -> None:
    process = measures(run="one")
    assert [lock.going(tmp_path)(run) for run in ("one", "two")] == [True, False]
    watched = watch(tmp_path)
    process.kill()
    assert not lock.going(tmp_path)("one")
    with locked(tmp_path) as mine:
        assert lock.going(tmp_path)("two"), "it has not said yet which it is"
        mine.announce(log=str(tmp_path / "other.jsonl"), run="two")
        assert await watched.ended(), "that the lock is held again does not bring the first back"


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(EnvironmentFault, match="already"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_somebody_who_looks_all_the_time_does_not_keep_a_run_from_beginning(tmp_path: Path) -> None:
    looks = "import sys; from pathlib import Path; from linkladder.run.lock import measuring\n"
    looks += "print('looks', flush=True)\nwhile True: measuring(Path(sys.argv[1]))"
    looking = subprocess.Popen([sys.executable, "-c", looks, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        with locked(tmp_path):
            pass
        assert looking.stdout and looking.stdout.readline() == "looks\n"
        for _ in range(100):
            with locked(tmp_path):
                pass
    finally:
        looking.kill()
        looking.communicate()


@pytest.mark.parametrize(
    "text", ['{"pid": ', "[]", "{}", '{"pid": 3, "log": "x", "what": 1}', '{"pid": "x", "log": "y"}']
)
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    assert announced(tmp_path) is None
    (tmp_path / "run.lock").write_text(text)
    assert announced(tmp_path) is None


def test_what_is_said_later_replaces_what_was_said_before_however_long_it_was(tmp_path: Path) -> None:
    mine = RunLock(tmp_path)
    mine.take()
    mine.announce(pid=1, log="x" * 300, socket="s")
    size = (tmp_path / "run.lock").stat().st_size
    mine.announce(log="y", socket="", ended="the disk is full")
    found = announced(tmp_path)
    assert found and (found.pid, found.log, found.socket, found.ended) == (1, "y", "", "the disk is full")
    assert (tmp_path / "run.lock").stat().st_size == size, "no more room than before, on a disk that has none"
    mine.release()


async def test_the_next_run_waits_until_the_last_has_cleared_up(tmp_path: Path, measures: Measures) -> None:
    process, seat = measures(), Seat(tmp_path, "this screen")
    log = eventlog.Recorder(tmp_path / "log.jsonl")
    log.write(synth.the_log()[0][1])
    with pytest.raises(EnvironmentFault, match="going on already"):
        await launch.last_run_gone(tmp_path, seat)
    log.write(events.RunFinished(synth.RUN, RunState.INCOMPLETE, 0, "cancelled"))
    log.close()
    asyncio.get_running_loop().call_later(0.5, process.kill)
    await launch.last_run_gone(tmp_path, seat)
    assert not measuring(tmp_path)


async def test_a_start_that_fails_is_known_as_soon_as_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn, argv = launch.spawn, [sys.executable, "-c", "raise SystemExit('no room')"]
    monkeypatch.setattr(launch, "spawn", lambda folder, _: spawn(folder, argv))
    with pytest.raises(EnvironmentFault, match="no room"):
        await asyncio.wait_for(
            launch.launch(tmp_path, synth.the_plan(), "", Seat(tmp_path, "here")), launch.START_WAIT / 2
        )


@pytest.mark.parametrize("seconds", [0.0, 1.0])  # that the other has measured when this one looks
async def test_of_two_consoles_that_start_at_once_the_second_says_what_goes_on_and_what_to_do(
    own_state: Path, measures: Measures, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """It showed a line of the log, as of any start that fails."""
    from linkladder.app.live_backend import LiveBackend
    from linkladder.app.main import LadderApp

    gone = launch.last_run_gone

    async def beaten(folder: Path, seat: Seat) -> None:
        if not seconds:
            await gone(folder, seat)
        measures(folder)
        if seconds:
            monkeypatch.setattr(launch, "CLEAR_WAIT", 0.0)
            eventlog.Recorder(folder / "log.jsonl").close()
            await gone(folder, seat)

    monkeypatch.setattr(launch, "last_run_gone", beaten)
    monkeypatch.setattr(LiveBackend, "findings", lambda *_: ())
    monkeypatch.setattr(LiveBackend, "unpaired", lambda *_: ())
    app = LadderApp(LiveBackend("this screen"))
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Open pairing")
        app.climb(synth.the_plan())
        await until(pilot, "What to do:")
        said = " ".join(" ".join(re.findall("│([^│]*)│", seen(app))).split())
        assert "A run is going on already Why: another screen or a command began it" in said, said
        assert "What to do: watch it from Home, or cancel it first; nothing was started here" in said, said
        assert "ERROR" not in said and not list(own_state.glob("next-plan*")), said
        await pilot.press("enter")
        await until(pilot, "> Watch the run")


async def test_a_start_that_is_given_up_measures_nothing_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spawn, argv = launch.spawn, [sys.executable, "-c", "import time; time.sleep(3600)"]
    started = []

    def noted(folder: Path, _: list[str]) -> Any:
        started.append(spawn(folder, argv))
        return started[-1]

    monkeypatch.setattr(launch, "spawn", noted)
    monkeypatch.setattr(launch, "START_WAIT", 0.1)
    with pytest.raises(EnvironmentFault, match="did not start"):
        await launch.launch(tmp_path, synth.the_plan(), "", Seat(tmp_path, "here"))
    assert await asyncio.to_thread(started[0].wait)


async def test_home_offers_to_go_on_with_what_broke_and_not_with_what_was_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from linkladder.app.live_backend import LiveBackend
    from linkladder.app.next_steps import next_step
    from linkladder.store import KeptVerdict, Store

    cancelled = "it was cancelled"

    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
    backend = LiveBackend("this screen")
    monkeypatch.setattr(backend, "findings", tuple)
    store = Store(tmp_path)
    run = store.begin(synth.the_plan(), "beta")
    rung = next(r for r in synth.the_document().rungs if r.experiments)
    store.keep_trial(run, rung.name, rung.experiments[0].parameters.id, rung.experiments[0].trials[0])
    offered = {}
    for why in ("the measuring process was gone", cancelled, "the system ended it"):
        store.finish(run, RunState.INCOMPLETE, KeptVerdict("INCOMPLETE"), why, cancelled=why == cancelled)
        view = backend.home()
        offered[why] = (view.resumable.id if view.resumable else "", next_step(view, False))
    for state in (RunState.INCOMPLETE, RunState.COMPLETE):
        store.finish(store.begin(synth.the_plan(), "beta"), state, KeptVerdict("INCOMPLETE"), "nothing was measured")
        view = backend.home()
        offered[state] = (view.resumable.id if view.resumable else "", next_step(view, False))
    store.close()
    seen = backend.overview()
    going_on = replace(seen.runs[0], state=RunState.RUNNING)
    assert replace(seen, runs=(going_on, *seen.runs[1:])).resumable is None, "it is about to measure"
    assert offered[cancelled] == ("", "pair")
    assert offered["the measuring process was gone"] == offered["the system ended it"] == (run, "resume")
    assert offered[RunState.INCOMPLETE] == offered[RunState.COMPLETE] == (run, "resume"), "an empty run hides it"


async def test_a_run_is_started_without_a_file_being_read_on_the_event_loop(
    measures: Measures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes its time must not stop the screen."""
    import threading

    from linkladder import locks
    from linkladder.app.live_backend import LiveBackend

    backend = LiveBackend("this screen")
    here, loop_thread = [], threading.get_ident()
    for name in ("holder_text", "held"):
        real = getattr(locks, name)

        def noted(*args: Any, real: Callable[..., Any] = real) -> Any:
            here.append(threading.get_ident() == loop_thread)
            return real(*args)

        monkeypatch.setattr(locks, name, noted)
    monkeypatch.setattr(launch, "spawn", lambda folder, argv: measures(folder).popen)
    started = await backend.start(synth.the_plan())
    assert started.controlling and started.holder == "this screen"
    assert here and not any(here)
