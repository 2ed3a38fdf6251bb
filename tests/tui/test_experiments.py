"""The page Experiments at 80x25 by keys alone: chosen by what it answers, told of before it begins, its answer read."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

import synth
from helpers import seen, until, until_true
from linkladder import plan as plans
from linkladder import state, units
from linkladder.app.backend import Backend
from linkladder.app.experiment_text import about, question
from linkladder.app.live_backend import LiveBackend
from linkladder.app.main import LadderApp
from linkladder.app.screens.experiments import ExperimentsScreen
from linkladder.app.screens.results import summary_page
from linkladder.errors import EnvironmentFault
from linkladder.judge import judge_document
from linkladder.model import Plan, RungName
from linkladder.plan import AS_WRITTEN, SHORT, Asked, builtin
from linkladder.verdicts import Verdict

CONSOLE = (80, 25)


def experiments(app: LadderApp) -> ExperimentsScreen:
    return next(one for one in app.screen_stack if isinstance(one, ExperimentsScreen))


async def test_home_leads_there_and_every_question_is_offered() -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Try a change")
        await pilot.press("t")
        await until(pilot, "What do you want to know?")
        await until(pilot, "Takes ")
        text = seen(app)
        for name in SHORT:
            assert question(builtin(name).title) in text
        assert "What should I set?" in text and "19 min 14 s to 24 min 38 s" in text


async def test_what_is_changed_and_undone_is_told_before_enter(monkeypatch: pytest.MonkeyPatch) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Try a change")
        app.push_screen(ExperimentsScreen())
        text = " ".join((await until(pilot, "Then tries")).split())
        assert "Changes MTU 9000, at both ends' adapters" in text and "comes back whatever happens" in text
        assert "8M window instead of default" in text and "kept only if it won" in text
        await pilot.press("down")
        text = " ".join((await until(pilot, "TSO off")).split())
        assert "LRO on" in text and "small transactions" in text
        begun: list[Plan] = []
        monkeypatch.setattr(app, "climb", begun.append)
        await pilot.press("up", "enter")
        await until(pilot, "The run is being started")
        assert [plan.name for plan in begun] == ["tune"]


async def test_what_is_known_of_the_generator_is_not_in_the_time_at_best(
    own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the page Link and in `plan list`: what was found is not looked for."""
    backend, live = synth.settled(), LiveBackend()
    monkeypatch.setattr(backend, "soonest", live.soonest)
    tune = backend.plan("tune", backend.link(), Asked((RungName.SAME_VLAN,)))
    told = [units.at_best(plans.soonest(tune, known), plans.longest(tune)) for known in ((), RungName)]
    assert told[0] != told[1]
    for takes in told:
        app = LadderApp(backend)
        async with app.run_test(size=CONSOLE) as pilot:
            await until(pilot, "Try a change")
            app.push_screen(ExperimentsScreen())
            text = " ".join((await until(pilot, f"Takes {takes}, ")).split())
            assert takes.removeprefix("at best ").replace(", at most", " to") in text, "in the list as well"
        (own_state / state.GENERATORS).write_text("[]")


async def test_without_an_address_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = synth.settled()
    monkeypatch.setattr(backend, "plan", lambda name, link, asked=None: replace(builtin(name), rungs=()))
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "> Read the report")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "Enter opens the description of the link")
        begun: list[Plan] = []
        monkeypatch.setattr(app, "climb", begun.append)
        await pilot.press("enter")
        await until(pilot, "[ Climb the ladder ]")
        assert begun == []


def test_a_plan_that_changes_nothing_says_so() -> None:
    told = " ".join(about(builtin("rr")))
    assert "Changes nothing on the machines." in told and "Measures small transactions" in told
    assert "Confines the tools to 1, 2 of the cores" in " ".join(about(builtin("sizing", cores=2)))


def test_what_is_the_whole_machine_s_is_not_said_to_be_an_adapter_s() -> None:
    told = " ".join(about(builtin("tune", asked=Asked(also=("lro=off", "congestion=htcp")))))
    assert (
        "Changes MTU 9000; LRO off, at both ends' adapters, and congestion control htcp, for all new connections of "
        "both machines. Each change is on loan" in told
    )


def test_the_answer_is_read_with_the_verdict() -> None:
    document = synth.the_document()
    judged = judge_document(document)
    assert judged.verdict is not Verdict.INCOMPLETE
    first = replace(judged.rungs[0], answers=("TSO off: 45 % less throughput (1 stream).",))
    page = summary_page(document, replace(judged, rungs=(first, *judged.rungs[1:])))
    assert "TSO off: 45 % less throughput (1 stream)." in page.plain


async def test_another_rung_and_more_pairs_are_a_key_away(monkeypatch: pytest.MonkeyPatch) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Try a change")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "On same-vlan: 10.7.0.1 to 10.7.0.3")
        await pilot.press("r")
        await until(pilot, "On dc-link: 10.7.0.1 to 10.9.0.2")
        await pilot.press("t")
        page = experiments(app)
        await until_true(pilot, lambda: page.plans["tune"].rungs[0].experiments[0].repeats == 10)
        begun: list[Plan] = []
        monkeypatch.setattr(app, "climb", begun.append)
        await pilot.press("enter")
        await until(pilot, "The run is being started")
        assert [(r.name, r.experiments[0].repeats) for r in begun[0].rungs] == [("dc-link", 10)]


async def test_what_names_its_own_rungs_offers_no_other() -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Try a change")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "r Rung")
        page = experiments(app)
        before = page.rungs
        await pilot.press(*["down"] * SHORT.index("rr"))
        await until_true(pilot, lambda: page.shown is page.plans["rr"])
        assert [rung.name for rung in page.plans["rr"].rungs] == ["same-host", "same-vlan", "dc-link"]
        await until_true(pilot, lambda: "Rung" not in seen(app).splitlines()[-1])
        await pilot.press("r")
        assert page.rungs == before, "nor does the key move the others"
        await pilot.press("up")
        await until(pilot, "r Rung")


@pytest.mark.parametrize("name", ["tune", "rss"])
async def test_its_whole_text_can_be_read_before_enter(name: str) -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Try a change")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "Takes ")
        await pilot.press(*["down"] * SHORT.index(name))
        page = experiments(app)
        await until_true(pilot, lambda: page.shown is page.plans[name])
        begin, end = about(page.plans[name])[0], " ".join(about(page.plans[name])[-1].split()[-3:])
        await until(pilot, begin)
        assert "PgDn  More" in seen(app) and end not in " ".join(seen(app).split())
        await pilot.press("pagedown", "pagedown")
        await until(pilot, end)
        assert page.plans[name] is page.shown, "the menu stays where it is"
        await pilot.press("pageup", "pageup")
        await until(pilot, begin)


async def test_more_steps_are_asked_for_by_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = synth.settled()
    facts = replace(backend.facts(), congestion_controls=("cubic", "htcp"))
    monkeypatch.setattr(backend, "facts", lambda: facts)
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Try a change")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "a Also ? Help")
        await pilot.press("a")
        await until(pilot, "Congestion control")
        await pilot.press("right", "down", "down", "right", "enter", "enter")
        page = experiments(app)
        await until_true(pilot, lambda: page.also == ("lro", "congestion=htcp") and page.shown in page.plans.values())
        tried = " ".join(" ".join(about(page.plans["tune"])).split())
        assert "LRO on" in tried and "congestion control htcp" in tried and "TSO" not in tried
        await pilot.press("down")
        await until(pilot, "small transactions")
        assert "a  Also" not in seen(app), "what has no steps takes no more of them"


class Slow:
    """A backend that takes its time to read a plan, as a busy appliance does, until it is let go on."""

    def __init__(self, backend: Backend) -> None:
        self.go_on, self.plan_of = threading.Event(), backend.plan
        self.go_on.set()
        self.refused: set[str] = set()

    def plan(self, name: str, link: object, asked: Asked = AS_WRITTEN) -> Plan:
        assert self.go_on.wait(20)
        if name in self.refused:
            raise EnvironmentFault(f"plan {name} cannot be read")
        return self.plan_of(name, link, asked)  # type: ignore[arg-type]


async def test_enter_typed_ahead_never_begins_what_stood_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """After r the run is to be on the next rung, and not on the one whose plan still stands there."""
    backend = synth.settled()
    slow = Slow(backend)
    monkeypatch.setattr(backend, "plan", slow.plan)
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE, notifications=True) as pilot:
        await until(pilot, "Try a change")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "On same-vlan: 10.7.0.1 to 10.7.0.3")
        begun: list[Plan] = []
        monkeypatch.setattr(app, "climb", begun.append)
        slow.go_on.clear()
        await pilot.press("r", "enter")
        await until(pilot, "Nothing was started: what it would")
        slow.go_on.set()
        await until(pilot, "On dc-link: 10.7.0.1 to 10.9.0.2")
        assert begun == []
        await pilot.press("enter")
        await until(pilot, "The run is being started")
        assert [r.name for r in begun[0].rungs] == ["dc-link"]


async def test_what_cannot_be_read_as_asked_for_is_not_offered_as_it_was_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = synth.settled()
    slow = Slow(backend)
    monkeypatch.setattr(backend, "plan", slow.plan)
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Try a change")
        app.push_screen(ExperimentsScreen())
        await until(pilot, "On same-vlan: 10.7.0.1 to 10.7.0.3")
        page = experiments(app)
        slow.refused = {"tune"}
        page.action_thorough()
        await until_true(pilot, lambda: not page.reading)
        assert "tune" not in page.plans and "offload" in page.plans
