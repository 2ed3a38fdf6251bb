"""Nothing holds the event loop, on which every key and every drawing waits: what may block is asked in threads."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

import blocking
import synth
from helpers import until
from linkladder import events
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.pairing_adapter import PairingAdapter
from linkladder.app.places import screen
from linkladder.pairing.service import PairingService
from linkladder.run import eventlog, lock
from linkladder.run.steering import Seat
from linkladder.store import Store
from pairing_ends import free_port
from test_every_screen import home, places
from test_many_trials import filled

RUNS = 20


@pytest.fixture
def real() -> tuple[LiveBackend, str]:
    """The real backend with some runs, a long log, a pairing window on this machine; and the last run."""
    backend = LiveBackend("this screen")
    last = filled(backend.folder, RUNS, 50 * RUNS)
    (backend.folder / "linkladder.log").write_text("".join(f"this is line {n}\n" for n in range(5000)))
    service = PairingService(name="alpha", port=free_port(), bind="127.0.0.1", discover=False)
    backend._pairing = PairingAdapter(service)
    return backend, last


async def test_no_place_blocks_the_event_loop(
    real: tuple[LiveBackend, str], record_property: Callable[[str, object], None]
) -> None:
    """Every place, with what it does at a key, on the real backend; and a run that is joined late."""
    backend, last = real
    app = LadderApp(backend)
    words = {
        "Pair": "Heard on this segment", "Runs": f"{RUNS} runs", "Tunables": "in force", "Doctor": "iperf",
        "Log": "this is line 4999", "Machine": "memory", "Trusted": "none yet",
        "Results": "dc-link 9.21 Gb/s",
    }  # fmt: skip
    kept = [(name, make, words.get(name, said)) for name, make, said in places() if name not in ("Compare", "Help")]
    real_ones: dict[str, Any] = {name: partial(screen, name.lower(), last) for name in ("Results", "Export")}
    found = blocking.found()
    with found.watching():
        async with app.run_test(size=(80, 25)) as pilot:
            await until(pilot, "PASS")
            for name, make, said in kept:
                app.push_screen(real_ones.get(name, make)())
                await until(pilot, said)
                if name == "Export":
                    await pilot.press("enter")
                    await until(pilot, "Written:")
                    await pilot.press("end", "up", "enter")
                    await until(pilot, "scp ")
                if name == "Link":
                    await pilot.press("f3")
                    await until(pilot, "Next step")
                await home(pilot)
            app.open("runs")
            await until(pilot, f"{RUNS} runs")
            await pilot.press("slash", "x", "enter")
            await until(pilot, "no run has")
            await pilot.press("escape")
            await until(pilot, f"{RUNS} runs")
            await pilot.press("space", "down", "space", "c")
            await until(pilot, "linkladder Compare")
            await pilot.press("escape", "d")
            await until(pilot, "Delete this run?")
            await pilot.press("left", "enter")
            await until(pilot, f"{RUNS - 1} runs")
            await home(pilot)
            await joined_late(pilot, backend)
    assert not found.calls, "\n".join(found.calls)


async def joined_late(pilot: Pilot[None], backend: LiveBackend) -> None:
    """The process of the test stands for the one that measures."""
    log = backend.folder / "late.jsonl"
    measures = lock.RunLock(backend.folder)

    def begin() -> None:
        lines, said = [], 0.0
        for at, event in synth.the_log():
            if isinstance(event, events.WaitingForOperator):
                break
            lines.append(eventlog.dump(event, at))
            said = at
        log.write_text("\n".join(lines) + "\n")
        measures.take()
        measures.announce(pid=os.getpid(), log=str(log), began=time.monotonic() - said)

    await asyncio.to_thread(begin)
    app = pilot.app
    assert isinstance(app, LadderApp)
    await until(pilot, "> Watch the run")
    await pilot.press("enter")
    await until(pilot, "same-host")
    await until(pilot, "PASS")
    await pilot.press("v")
    await until(pilot, "no such run is stored")
    await pilot.press("enter", "escape")
    measures.release()
    await until(pilot, "The run ended early")


@pytest.mark.parametrize(
    "call",
    [
        lambda folder: Store(folder).close(),
        lambda folder: lock.measuring(folder),
        lambda folder: Seat(folder, "this").take_over(),
        lambda folder: eventlog.Tail(folder / "log").poll(),
        lambda folder: LiveBackend().home(),
        lambda folder: LiveBackend().settings(),
        lambda folder: LiveBackend().leaves_by("127.0.0.1"),
    ],
)
async def test_what_blocks_is_found_wherever_it_is_called(tmp_path: Path, call: Callable[[Path], Any]) -> None:
    """The proof that nothing was found above because there was nothing to find."""
    found = blocking.found()
    with found.watching():
        call(tmp_path)
        assert found.calls
        found.calls.clear()
        await asyncio.to_thread(call, tmp_path)
        assert found.calls == []


async def test_what_tests_and_other_libraries_do_is_not_held_against_it(tmp_path: Path) -> None:
    found = blocking.found()
    with found.watching():
        (tmp_path / "x").write_text("x")
        sqlite3.connect(tmp_path / "db").close()
        subprocess.run(["true"], check=True)
        assert Path("/proc/self/stat").read_text()
    assert found.calls == []
