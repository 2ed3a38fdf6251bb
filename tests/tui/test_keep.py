"""What a staircase won is kept from the Results: what it is, the question with its time, kept or put back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

import synth
from helpers import seen, until, until_true
from judge_documents import document
from linkladder import plan as plans
from linkladder.app.main import LadderApp
from linkladder.errors import EnvironmentFault
from linkladder.keeping import Confirm, Winners
from linkladder.model import Document
from replay_backend import ReplayBackend
from staircases import PLAN, climbed, climbed_with


@pytest.fixture(scope="module")
def staircase() -> Document:
    return climbed()


@asynccontextmanager
async def results(
    backend: ReplayBackend, document: Document, hint: str = "w keeps what won on this appliance"
) -> AsyncIterator[Pilot[Any]]:
    backend.stored = {document.run.id: (replace(synth.summary(), id=document.run.id), document)}
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        app.open("results", document.run.id)
        await until(pilot, hint)
        await pilot.press("w")
        yield pilot


async def test_it_is_tried_and_kept_once_agreed(staircase: Document) -> None:
    async with results(synth.settled(), staircase) as pilot:
        asked = " ".join((await until(pilot, "Keep what won?")).replace("|", " ").split())
        assert "MTU 9000 won" in asked and "at beta: linkladder system mtu eth0 9000" in asked
        await pilot.press("enter")
        text = " ".join((await until(pilot, "Keep it?")).replace("|", " ").split())
        assert re.search(r"put back by itself in (60|5\d) s", text), text  # of the 60 some may have gone
        await pilot.press("left", "enter")
        assert "mtu vmx1: 9000" in await until(pilot, "Kept, now and after every boot.")


async def test_the_safe_answer_has_the_focus(staircase: Document) -> None:
    async with results(synth.settled(), staircase) as pilot:
        await until(pilot, "Keep what won?")
        await pilot.press("enter")
        await until(pilot, "Keep it?")
        await pilot.press("enter")
        await until(pilot, "Put back: nothing is kept.")


async def test_silence_is_a_no_and_the_time_runs(staircase: Document) -> None:
    backend = synth.settled()
    backend.patience = 6.4
    left: list[int] = []

    def told(pilot: Pilot[Any]) -> bool:
        left.extend(int(seconds) for seconds in re.findall(r"by itself in (\d+) s", " ".join(seen(pilot.app).split())))
        return "Put back: nothing is kept." in seen(pilot.app)

    async with results(backend, staircase) as pilot:
        await until(pilot, "Keep what won?")
        await pilot.press("enter")
        await until_true(pilot, lambda: told(pilot))
    assert left == sorted(left, reverse=True) and len(set(left)) > 1 and 0 < left[0] <= 6, left


async def test_what_cannot_be_tried_is_said(staircase: Document) -> None:
    backend = synth.settled()

    async def refuses(found: Winners, confirmed: Confirm) -> tuple[str, ...]:
        raise EnvironmentFault("the settings cannot be tried here", "vmx1 carries control")

    backend.keep = refuses  # type: ignore[method-assign]
    async with results(backend, staircase) as pilot:
        await until(pilot, "Keep what won?")
        await pilot.press("enter")
        await until(pilot, "Why: vmx1 carries control")


async def test_a_run_without_a_staircase_says_so() -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Next step")
        app.open("results", synth.RUN)
        await until(pilot, "Plan ")
        assert "keeps what won" not in seen(app)
        await pilot.press("w")
        await until(pilot, "kept no setting")


async def test_what_won_for_the_application_alone_is_named() -> None:
    plan = plans.read_plan(PLAN)
    made = document(climbed_with(plan, lambda e, way: 2e9 if e.streams == 2 else 1e9)[1])
    async with results(synth.settled(), made, hint="Plan ") as pilot:
        told = await until(pilot, "Nothing is to be kept here")
        assert "what was best" in told and "is for the application:" in told
        assert "│ 2 streams, at the end that connects" in told
