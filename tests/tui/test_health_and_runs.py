"""Home's line on this machine's health while a run goes on, and once it is over."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

import synth
from helpers import Ticks, seen, until, until_true
from linkladder.app.home_text import health_line, time_of_day
from linkladder.app.main import LadderApp
from linkladder.app.services import ServicesApp
from linkladder.findings import Finding, Health
from replay_backend import ReplayBackend

pytestmark = pytest.mark.asyncio
DAY = 86400.0
FULL = (Finding("storage", Health.BAD, "no room", "delete old runs"),)


class Kept(ReplayBackend):
    """Its doctor's findings are kept until others are asked for."""

    kept: tuple[Finding, ...] | None = None
    looks = 0

    def findings(self, anew: bool = False) -> tuple[Finding, ...]:
        if anew or self.kept is None:
            self.looks += 1
            self.kept = tuple(self.checks)
        return self.kept


@pytest.fixture
def backend() -> Kept:
    known = synth.settled()
    made = Kept(known.host, known.checks, known.tunables, entries=known.entries)
    made.peers, made.described, made.stored, made.speed = known.peers, known.described, known.stored, 0.0
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of day, at which the test stops it."""
    shown = [time.mktime((2026, 11, 21, 10, 15, 0, 0, 0, -1))]
    monkeypatch.setattr(ServicesApp, "now", staticmethod(lambda: shown[0]))
    return shown


async def test_during_a_run_it_says_when_this_machine_was_looked_at(backend: Kept, clock: list[float]) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "1 of 2 checks wants a look: adapter vmx0 (d: details)")
        assert "10:15" not in text, text
        clock[0] += 600
        app.climb(synth.the_plan())
        await until(pilot, "linkladder Ladder")
        await pilot.press("escape")
        await until(pilot, "1 of 2 checks wants a look: adapter vmx0 (d: details; as of 10:15)")
        assert "> Watch the run" in seen(app) and backend.looks == 1
        backend.checks = synth.FINDINGS[:1]
        await pilot.press("d")
        await until(pilot, "iperf")
        await pilot.press("r")
        await until_true(pilot, lambda: backend.looks == 2)
        await pilot.press("escape")
        await until(pilot, "Health good: its only check is right (as of 10:25)")


async def over(pilot: Pilot[Any]) -> None:
    """Wait for the end of a run that was cancelled at its start: how far it came by then is up to the machine."""
    said = ("The run did not begin", "The run ended early")
    await until_true(pilot, lambda: any(words in seen(pilot.app) for words in said))


@pytest.mark.parametrize("there", ["home", "ladder"])
async def test_once_the_run_is_over_it_is_looked_at_anew(backend: Kept, there: str) -> None:
    """The findings were those of before the run as long as they are kept, which may be minutes."""
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "1 of 2 checks wants a look")
        app.climb(synth.the_plan())
        await until(pilot, "linkladder Ladder")
        if there == "home":
            await pilot.press("escape")
            await until(pilot, "> Watch the run")
        backend.checks, session = FULL, backend.running
        assert session and backend.looks == 1
        backend.running = None
        await session.control("cancel")
        if there == "ladder":
            await over(pilot)
            await pilot.press("escape")
        text = await until(pilot, "1 of 1 checks needs you: storage (d: details)")
        assert "as of" not in text and backend.looks == 2


async def test_a_look_that_began_before_the_run_does_not_do(backend: Kept) -> None:
    """On a small machine it takes a minute."""
    ready, look = threading.Event(), backend.findings

    def slowly(anew: bool = False) -> tuple[Finding, ...]:
        found = look(anew)
        assert ready.wait(60)
        return found

    backend.findings = slowly  # type: ignore[method-assign]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "looking at this machine ...")
        app.climb(synth.the_plan())
        await until(pilot, "linkladder Ladder")
        backend.checks, session = FULL, backend.running
        backend.running = None
        assert session
        await session.control("cancel")
        await over(pilot)
        await pilot.press("escape")
        await until(pilot, "> Read the report")
        ready.set()
        await until(pilot, "1 of 1 checks needs you: storage (d: details)")
        assert backend.looks == 2


async def test_so_it_is_after_a_run_of_the_far_end(backend: Kept, ticks: Ticks, clock: list[float]) -> None:
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "1 of 2 checks wants a look")
        backend.user = "beta"
        await until(pilot, "alpha beta measures with this machine")
        await until(pilot, "adapter vmx0 (d: details; as of 10:15)")
        backend.checks, backend.user = FULL, ""
        await until(pilot, "1 of 1 checks needs you: storage (d: details)")
        await ticks(pilot, 5)
        assert backend.looks == 2, "once, and not at every look at Home"


async def test_of_another_day_it_says_the_day() -> None:
    fine, at = replace(FULL[0], state=Health.OK), time.mktime((2026, 11, 21, 10, 15, 0, 0, 0, -1))
    for later, said in ((600.0, "10:15"), (DAY, "21 Nov 10:15")):
        as_of = time_of_day(at, at + later)
        assert health_line((), (fine,), True, as_of=as_of).plain.endswith(f"check is right (as of {said})")
        line = health_line((), FULL * 30, True, as_of=as_of).plain
        assert line.endswith(f"(d: details; as of {said})") and len(line) <= 78
