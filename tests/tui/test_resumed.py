"""A run that is taken up again announces the time of what is left, before it begins and while it goes on."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

import recordings
import synth
from helpers import SIZES, seen, until
from linkladder import events, plan, units
from linkladder.app.main import LadderApp
from linkladder.app.resume_dialog import rest_sentence
from linkladder.model import Plan
from linkladder.run.progress import Progress
from replay_backend import ReplaySession


def test_what_is_left_of_whole_rung_and_trial() -> None:
    asked = synth.the_plan()
    first = asked.rungs[0]
    shown = Progress()
    shown.apply(events.RunStarted("r", asked, 100.0, 14, 5, 40.0), 0.0)
    assert (shown.whole_left(), shown.done) == (60.0, 5)
    shown.apply(events.RungStarted(first.name, 30.0, 3, 0, 2, 20.0), 1.0)
    shown.apply(events.TrialStarted(first.name, first.experiments[0].id, 0, 2, 10.0), 2.0)
    shown.at = 6.0
    assert (shown.trial_left(), shown.rung_left(), shown.whole_left()) == (6.0, 6.0, 56.0)


def test_a_single_trial_is_spoken_of_as_one() -> None:
    whole = recordings.load("lost").document
    plan_rung, rung = whole.run.plan.rungs[0], whole.rungs[0]
    measured = next(one for one in rung.experiments if one.trials)
    asked = replace(measured.parameters, repeats=1, baseline="", kernel="")
    kept = replace(measured, parameters=asked, trials=(replace(measured.trials[0], repeat=0),))
    for repeats, said in ((1, "Its only trial is kept; only"), (2, "1 of its 2 trials is kept; the rest takes about")):
        only = replace(plan_rung, experiments=(replace(asked, repeats=repeats),), stairs=())
        run = replace(whole.run, plan=replace(whole.run.plan, rungs=(only,)))
        document = replace(whole, run=run, rungs=(replace(rung, experiments=(kept,)),))
        assert rest_sentence(document).startswith(said)


@pytest.mark.asyncio
@pytest.mark.parametrize("size", SIZES)
async def test_the_question_says_how_long_the_rest_takes(size: tuple[int, int]) -> None:
    """Of a run that lost its peer on the last rung."""
    run = recordings.load("lost")
    asked = run.document.run.plan
    stored = {(rung.name, one.parameters.id, trial.repeat) for rung, one, trial in run.trials()}
    left = [
        one for rung in asked.rungs for one, repeat in plan.order(rung) if (rung.name, one.id, repeat) not in stored
    ]
    assert 0 < len(left) < plan.trials(asked)
    takes = units.duration(sum(map(plan.trial_seconds, left)))
    app = LadderApp(recordings.settled("lost"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, "> Go on with the last run")
        await pilot.press("enter")
        await until(pilot, "[ Go on ]")
        text = " ".join(" ".join(re.findall("│([^│]*)│", seen(app))).split())
        assert f"{len(stored)} of its {plan.trials(asked)} trials are kept; the rest takes about {takes}." in text
        assert f"because {run.summary.reason} {len(stored)} of" in text and "Go on where it stopped?" in text


@pytest.mark.asyncio
@pytest.mark.parametrize("way", ["home", "runs"])
async def test_home_says_so_while_the_run_comes_up(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy small machine that takes a minute."""
    backend = recordings.settled("lost")
    held, begin = asyncio.Event(), backend.start

    async def start(plan: Plan, resume: str = "") -> ReplaySession:
        await held.wait()
        return await begin(plan, resume)

    monkeypatch.setattr(backend, "start", start)
    app = LadderApp(backend)
    async with app.run_test(size=SIZES[0]) as pilot:
        await until(pilot, "> Go on with the last run")
        if way == "runs":
            await pilot.press("r")
            await until(pilot, "Filter")
            await pilot.press("g")
        else:
            await pilot.press("enter")
        await until(pilot, "[ Go on ]")
        await pilot.press("enter")
        text = await until(pilot, "the run is being started ...")
        assert "Next step" in text
        held.set()
        await until(pilot, "linkladder Ladder")
        assert backend.resumed == [recordings.load("lost").summary.id]
