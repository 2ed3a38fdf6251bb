"""On a small machine the doctor takes a minute: nothing else waits for it, and it comes in when it is ready."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

import synth
from helpers import seen, until
from linkladder.app.home_text import health_line
from linkladder.app.main import LadderApp
from linkladder.findings import Finding, Health
from terminals import PATIENCE, Terminal

pytestmark = pytest.mark.asyncio


class SlowDoctor:
    """Looks for as long as the test wishes."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.asked = 0

    def __call__(self, anew: bool = False) -> tuple[Finding, ...]:
        self.asked += 1
        assert self.ready.wait(60)
        return synth.FINDINGS


@pytest.fixture
def doctor() -> Iterator[SlowDoctor]:
    made = SlowDoctor()
    yield made
    made.ready.set()


async def test_home_and_link_are_there_while_the_doctor_looks(doctor: SlowDoctor) -> None:
    backend = synth.settled()
    backend.findings = doctor
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        text = await until(pilot, "> Read the report")
        for words in ("alpha", "reachable", "PASS", "Health   looking at this machine ..."):
            assert words in text, text
        await pilot.press("e")
        await until(pilot, "[ Climb the ladder ]")
        await pilot.press("escape", "d")
        await until(pilot, "looking at this machine ...")
        await pilot.press("escape")
        await until(pilot, "> Read the report")
        assert doctor.asked == 1, "one look, whoever asks"
        doctor.ready.set()
        await until(pilot, "1 of 2 checks wants a look: adapter vmx0")


async def test_it_does_not_look_while_a_run_goes_on(doctor: SlowDoctor) -> None:
    backend = synth.settled()
    backend.findings = doctor
    await backend.start(synth.the_plan())
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Watch the run")
        assert "not looked at while a run goes on" in seen(app)
        assert doctor.asked == 0


async def test_what_is_wrong_already_is_said_before() -> None:
    full = Finding("storage", Health.BAD, "no room", "delete old runs")
    assert health_line((full,), None, False).plain == "Health   1 thing needs you: storage  looking at this machine ..."
    said = health_line((full,), synth.FINDINGS, False).plain
    assert said == "Health   2 of 3 checks need you: storage, adapter vmx0  (d: details)"
    good = [health_line((), synth.FINDINGS[:1] * n, False).plain for n in (1, 2)]
    assert good == ["Health   good: its only check is right", "Health   good: all 2 checks are right"]


PROGRAM = """
import time
from linkladder import doctor
doctor.examine = lambda: time.sleep(600)
import sys, linkladder.app
sys.exit(linkladder.app.run())
"""


async def test_leaving_does_not_wait_for_it() -> None:
    import sys

    terminal = Terminal((sys.executable, "-c", PROGRAM))
    try:
        terminal.read(PATIENCE, b"looking at this machine")
        terminal.type(b"q")
        assert terminal.process.wait(PATIENCE) == 0, "a tenth of what the doctor takes"
    finally:
        terminal.close()


async def test_a_console_too_narrow_for_a_trouble_s_title_has_the_rest_of_the_line() -> None:
    found = synth.FINDINGS[:1]
    trouble = replace(found[0], state=Health.BAD, title="the disk is full")
    for width in range(-2, 90):
        said = health_line((trouble,), found, False, width).plain
        assert said.startswith("Health   1 of 2 checks needs you") and said.endswith("(d: details)")
