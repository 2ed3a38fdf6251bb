"""A run that is taken up again announces the time of what is left, before it begins and while it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

import synth
from helpers import until
from linkladder import events, plan
from linkladder.app.main import LadderApp
from linkladder.app.progress import Progress
from linkladder.app.screens.resume import rest
from linkladder.model import RunState


def test_what_is_left_of_whole_rung_and_trial():
    asked = synth.the_plan()
    first = asked.rungs[0]
    shown = Progress()
    shown.apply(events.RunStarted("r", asked, 100.0, 14, 5, 40.0), 0.0)
    assert (shown.whole_left(), shown.done) == (60.0, 5)
    shown.apply(events.RungStarted(first.name, 30.0, 3, 0, 2, 20.0), 1.0)
    shown.apply(events.TrialStarted(first.name, first.experiments[0].id, 0, 2, 10.0), 2.0)
    shown.at = 6.0
    assert (shown.trial_left(), shown.rung_left(), shown.whole_left()) == (6.0, 6.0, 56.0)


@pytest.mark.asyncio
async def test_the_question_says_how_long_the_rest_takes():
    document = synth.the_document()
    kept = replace(document, rungs=document.rungs[:2])
    asked = synth.the_plan()
    left = plan.seconds(asked) - sum(plan.seconds(rung) for rung in asked.rungs[:2])
    backend = synth.settled()
    backend.stored = {"20261122": (synth.summary("20261122", RunState.INCOMPLETE), kept)}
    app = LadderApp(backend)
    done = sum(plan.trials(rung) for rung in asked.rungs[:2])
    assert rest(kept).startswith(f"{done} of its {plan.trials(asked)} trials are kept; the rest takes about ")
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Go on with the last run")
        await pilot.press("enter")
        from linkladder import units

        text = " ".join((await until(pilot, "Go on where it stopped?")).split())
        assert f"the rest takes about {units.duration(left)}" in text.replace("│ ", "").replace(" │", ""), text
