"""Nothing holds the event loop, on which every key and every drawing waits: what may block is asked in threads."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

import synth
from helpers import until
from linkladder import events
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.pairing_adapter import PairingAdapter
from linkladder.app.screens.export import ExportScreen
from linkladder.app.screens.ladder import LadderScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.screens.runs import RunsScreen
from linkladder.pairing.service import PairingService
from linkladder.run import eventlog, lock
from test_every_screen import home, places
from test_many_trials import filled

BLOCKING = """home facts findings settings appliance log_lines link save_link plans plan ceiling runs load judge compare
    delete export reach sticks current paired disks""".split()
LIMIT = 0.25  # seconds of the loop's own CPU time, which other programs take nothing of
RUNS = 20


@pytest.fixture
def held(monkeypatch) -> Iterator[list[tuple[float, str]]]:
    """Every callback of the event loop, by what it took of the thread's own CPU time."""
    found: list[tuple[float, str]] = []
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        took = time.thread_time() - began
        found.append((took, repr(handle) if took > LIMIT else ""))  # its words are costly

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    gc.collect()
    gc.freeze()  # what the tests before have left is not gone through again and again
    yield found
    gc.unfreeze()


def asked_on_the_loop(backend: Any) -> list[str]:
    """The blocking methods that were called in this thread, which is the event loop's."""
    loop_thread, wrong = threading.get_ident(), []

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def answers(*args: Any) -> Any:
            if threading.get_ident() == loop_thread:
                wrong.append(name)
            return call(*args)

        return answers

    for name in BLOCKING:
        setattr(backend, name, watched(name, getattr(backend, name)))
    return wrong


async def test_no_screen_calls_what_may_block_on_the_event_loop(held):
    """Files, store and sysctl are asked in threads, whichever screen asks."""
    backend = synth.settled()
    backend.log = ["something was written down"]
    wrong = asked_on_the_loop(backend)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        for name, make, words in places():
            app.push_screen(make())
            await until(pilot, words)
            if name == "Export":
                await pilot.press("end", "up", "enter")
                await until(pilot, "scp ")
            if name == "Runs":
                await pilot.press("space", "slash", "x", "enter")
                await until(pilot, "no run has")
                await pilot.press("escape")
            if name == "Link":
                await pilot.press("f3")
            await home(pilot)
        app.climb(synth.the_plan())
        await until(pilot, "measuring")
    assert wrong == []
    assert not [one for one in held if one[0] > LIMIT]


@pytest.fixture
def real(unused_tcp_port) -> tuple[LiveBackend, str]:
    """The real backend with runs of five hundred trials, a long log, a pairing window on this machine; the last run."""
    backend = LiveBackend("this screen")
    last = filled(backend.folder, RUNS)
    (backend.folder / "linkladder.log").write_text("".join(f"this is line {n}\n" for n in range(5000)))
    service = PairingService(name="alpha", port=unused_tcp_port, bind="127.0.0.1", discover=False)
    backend._pairing = PairingAdapter(service)
    return backend, last


async def test_the_real_backend_never_holds_the_event_loop(real, held, record_property):
    """Every place on a store that is full, and a run that is joined late, with all its log to be read."""
    backend, last = real
    wrong = asked_on_the_loop(backend)
    app = LadderApp(backend)
    words = {
        "Pair": "Heard on this segment", "Runs": f"{RUNS} runs", "Tunables": "in force", "Doctor": "iperf",
        "Log": "this is line 4999", "Machine": "memory", "Trusted": "none yet",
    }  # fmt: skip
    kept = [(name, make, words.get(name, said)) for name, make, said in places() if name not in ("Compare", "Help")]
    real_ones: dict[str, Any] = {"Results": lambda: ResultsScreen(last), "Export": lambda: ExportScreen(last)}
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "PASS", 20)
        held.clear()
        for name, make, said in kept:
            app.push_screen(real_ones.get(name, make)())
            await until(pilot, said, 20)
            if name == "Export":
                await pilot.press("enter")
                await until(pilot, "Written:", 20)
            await home(pilot)
        app.push_screen(RunsScreen())
        await until(pilot, f"{RUNS} runs")
        await pilot.press("space", "down", "space", "c")
        await until(pilot, "linkladder Compare", 20)
        await home(pilot)
        await joined_late(pilot, backend)
    longest = max(took for took, _ in held)
    record_property("figure", f"longest hold of the event loop, of {len(held)}: {longest * 1000:.0f} ms of CPU")
    assert wrong == []
    assert not [one for one in held if one[0] > LIMIT]


async def joined_late(pilot: Pilot[None], backend: LiveBackend) -> None:
    """The process of the test stands for the one that measures."""
    log = backend.folder / "late.jsonl"
    lines, said = [], 0.0
    for at, event in synth.the_log():
        if isinstance(event, events.WaitingForOperator):
            break
        lines.append(eventlog.dump(event, at))
        said = at
    log.write_text("\n".join(lines) + "\n")
    measures = lock.RunLock(backend.folder)
    measures.take()
    measures.announce(pid=os.getpid(), log=str(log), began=time.monotonic() - said)
    app = pilot.app
    assert isinstance(app, LadderApp)
    session = await asyncio.to_thread(backend.current)
    assert session
    app.watch_run(session)
    app.push_screen(LadderScreen())
    await until(pilot, "same-host", 20)
    await until(pilot, "PASS" if "PASS" in "".join(lines) else "41.2 Gb/s", 20)
