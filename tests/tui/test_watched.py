"""One run, seen from everywhere: what a shell began is watched on the console, and the other way round."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import seen, until
from linkladder import plan as plans
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.screens.ladder import LadderScreen
from linkladder.errors import EnvironmentFault
from linkladder.model import RunState
from linkladder.run import lock

pytestmark = pytest.mark.skipif(not shutil.which("iperf"), reason="no iperf here")
PLAN = """name = "brief"
[[experiment]]
rungs = ["localhost"]
repeats = 50
duration = 5
warmup = 0
"""
LINKLADDER = [sys.executable, "-m", "linkladder"]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> LiveBackend:
    made = LiveBackend("the screen on ttyv0")
    monkeypatch.setattr(made, "findings", tuple)
    return made


async def test_a_run_begun_in_a_shell_is_watched_and_ended_on_the_console(backend: LiveBackend, tmp_path: Path) -> None:
    file = tmp_path / "brief.toml"
    file.write_text(PLAN)
    shell = subprocess.Popen(
        [*LINKLADDER, "run", "--plan", str(file)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        app = LadderApp(backend)
        async with app.run_test(size=(80, 25)) as pilot:
            await until(pilot, "> Watch the run")
            assert "measures with this machine" not in seen(app)
            await pilot.press("enter")
            await until(pilot, "Ladder plan brief running")
            await until(pilot, "b/s to far")
            await pilot.press("x")
            await until(pilot, "Cancel the run?")
            await pilot.press("left", "enter")
            await until(pilot, "ended early: it was cancelled")
        said = (await asyncio.to_thread(shell.communicate, None, 30))[1]
    finally:
        shell.kill()
        await asyncio.to_thread(shell.wait)
    assert shell.returncode == 3 and "is incomplete: it was cancelled" in said, said
    (run,) = backend.runs()
    assert run.state is RunState.INCOMPLETE and run.id in said


async def test_a_run_begun_on_the_console_is_followed_in_a_shell(backend: LiveBackend) -> None:
    session = await backend.start(plans.with_link(plans.read_plan(PLAN), plans.Link()))
    shell = subprocess.Popen([*LINKLADDER, "watch"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    refused = subprocess.run([*LINKLADDER, "run"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    try:
        while not (entries := await session.poll()) or "TrialFinished" not in str(entries):
            await asyncio.sleep(0.1)
        heeding = ["env", "--default-signal=INT", *LINKLADDER]  # what a shell has in its background ignores Ctrl-C
        left = subprocess.Popen([*heeding, "watch"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert left.stderr and await asyncio.to_thread(left.stderr.readline) != ""
        left.send_signal(signal.SIGINT)
        await asyncio.to_thread(left.communicate)
        ended = [str(e) for e in await session.poll() if "RunFinished" in str(e)]
        assert lock.measuring(backend.folder), f"whoever only watches ends nothing by leaving: {ended}"
        await session.control("cancel")
        said = (await asyncio.to_thread(shell.communicate, None, 30))[1]
    finally:
        shell.kill()
        await asyncio.to_thread(shell.wait)
    assert refused.returncode == 3 and "linkladder watch follows it" in refused.stderr, refused.stderr
    assert "plan brief, 50 trials" in said and "  tcp-" in said and "is incomplete: it was cancelled" in said, said
    assert shell.returncode == 3


async def test_of_two_consoles_that_start_a_run_at_once_one_measures(backend: LiveBackend) -> None:
    plan = plans.with_link(plans.read_plan(PLAN), plans.Link())
    both = (backend, LiveBackend("the screen on pts/1"))
    started = await asyncio.gather(*(one.start(plan) for one in both), return_exceptions=True)
    sessions = [one for one in started if not isinstance(one, BaseException)]
    (refused,) = (one for one in started if isinstance(one, BaseException))
    await sessions[0].control("cancel")
    while lock.measuring(backend.folder):
        await asyncio.sleep(0.1)
    assert isinstance(refused, EnvironmentFault) and refused.title == "a run is going on already"
    assert refused.cause and refused.hint and len(sessions) == len(backend.runs()) == 1


def test_where_nothing_goes_on_there_is_nothing_to_watch() -> None:
    done = subprocess.run([*LINKLADDER, "watch"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "no run is going on" in done.stderr


async def test_who_holds_the_controls_in_the_shell_is_told_on_the_console(backend: LiveBackend) -> None:
    """The person at the shell answers there; the console only watches until its own person takes over."""
    from linkladder.run.steering import seated

    with lock.locked(backend.folder) as mine, seated(backend.folder, "linkladder run on pts/3") as seat:
        seat.take_over()
        mine.announce(log=str(backend.folder / "log.jsonl"), run="one")
        app = LadderApp(backend)
        async with app.run_test(size=(80, 25)) as pilot:
            await until(pilot, "> Watch the run")
            app.push_screen(LadderScreen())
            await until(pilot, "You are watching; linkladder run on pts/3 has the controls. Press t to take them.")
            await pilot.press("t")
            await until(pilot, "Take the controls?")
            await pilot.press("enter")
            await until(pilot, "Ladder plan running")
            assert not seat.steers and seat.holder == "the screen on ttyv0"
