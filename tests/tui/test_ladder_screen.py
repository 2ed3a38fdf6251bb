"""The Ladder screen: what it shows of a run as it goes on, and what it says when something is the matter."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import synth
import trials
from helpers import SIZES, Ticks, at_rest, present, resized, seen, until, until_true
from linkladder import events
from linkladder.app.main import LadderApp
from linkladder.model import (
    Command,
    End,
    Evidence,
    Experiment,
    Fault,
    Plan,
    Protocol,
    Rung,
    RungName,
    RunState,
)
from linkladder.run.eventlog import Entry

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("size", SIZES)
async def test_ladder_live(size: tuple[int, int]) -> None:
    backend = synth.settled()
    backend.speed = 0.0  # a slow machine would be past it before the screen is seen
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "plan quick running")
        present(backend.running).skip_to(4.3)
        for words in ("41.", "localhost", "measuring", "trial 1 of", "near", "of 4 cores", "retransmits", "round trip",
                      "left", "2 flows", "█", "░"):  # fmt: skip
            await until(pilot, words)
        await pilot.press("c")
        assert "near: iperf -c" in await until(pilot, "The commands of this trial")
        await pilot.press("escape")
        await resized(pilot, (100, 30), lambda text: "measuring" in text and "left" in text)


async def test_ceiling_line_on_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkladder.app.screens.ladder.READ_FIRST", 0.0)
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=(120, 40)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(400)
        await until(pilot, "Move beta to another host")
        await pilot.press("enter")
        began = next(
            at for at, e in synth.the_log()
            if isinstance(e, events.TrialStarted) and e.rung == "same-vlan" and e.experiment.startswith("tcp")
        )  # fmt: skip
        await until_true(pilot, lambda: present(backend.running).said)
        present(backend.running).skip_to(began + 8)
        assert "ceiling 9.41 Gb/s" in await until(pilot, "ceiling 9.41")


async def test_controls_ask_before_they_destroy() -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "measuring")
        await pilot.press("x")
        await until(pilot, "Cancel the run?")
        await pilot.press("enter")  # the safe answer has the focus
        await at_rest(pilot)
        assert present(backend.running).said == []
        await pilot.press("space")
        await pilot.press("a")
        await pilot.press("n")
        await until(pilot, "A note for this run")
        await pilot.press(*"rack 12", "enter")
        await at_rest(pilot)
        await pilot.press("x", "left", "enter")
        text = await until(pilot, "ended early")
        assert "What was measured is kept" in text
        assert present(backend.running).said == [("pause", ""), ("repeat", ""), ("note", "rack 12"), ("cancel", "")]


def held_at(kind: type[object]) -> tuple[synth.ReplayBackend, float]:
    """A backend whose run says nothing more after its first event of this kind, and when that was."""
    backend = synth.settled()
    backend.speed = 0.0
    last = next(n for n, (_, e) in enumerate(synth.the_log()) if isinstance(e, kind))
    backend.entries = synth.the_log()[: last + 1]
    return backend, synth.the_log()[last][0]


async def test_a_paused_run_names_the_keys_that_its_foot_shows_and_answers_them() -> None:
    backend, at = held_at(events.TrialFinished)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "plan quick running")
        assert "Space Pause" in " ".join(seen(app).splitlines()[-1].split())
        present(backend.running)._entries.append((at, events.Paused(RungName.LOCALHOST)))
        present(backend.running).skip_to(at)
        await until(pilot, "Paused. Press Space to go on, a to do the last trial again.")
        foot = " ".join((await until(pilot, "Space Go on")).splitlines()[-1].split())
        assert "Pause" not in foot and "Enter" not in foot, foot
        await pilot.press("a")
        await until(pilot, "Paused. Press Space to go on. The last trial will be done once more")
        await pilot.press("space", "enter")
        await until_true(pilot, lambda: len(present(backend.running).said) == 3)
        assert [verb for verb, _ in present(backend.running).said] == ["repeat", "resume", "resume"]


async def test_a_pause_is_asked_for_until_it_begins_and_no_trial_of_another_rung_is_done_again() -> None:
    backend, at = held_at(events.RungStarted)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25), notifications=True) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "plan quick running")
        await pilot.press("space")
        await until(pilot, "It pauses after this trial; Space goes on")
        present(backend.running)._entries.append((at, events.Paused(RungName.LOCALHOST)))
        present(backend.running).skip_to(at)
        assert "It pauses" not in await until(pilot, "Paused. Press Space to go on.")
        await pilot.press("a")
        await until(pilot, "that could be done again")
        present(backend.running).controlling = False
        await until(pilot, "Paused. You are watching")
        await at_rest(pilot)
        assert [verb for verb, _ in present(backend.running).said] == ["pause"]


@pytest.mark.parametrize("late", [False, True])
async def test_a_skip_is_of_the_rung_that_was_asked_about(late: bool) -> None:
    backend = synth.settled()
    backend.speed = 0.0
    over = next(at for at, e in synth.the_log() if isinstance(e, events.RungFinished))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25), notifications=True) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "plan quick running")
        present(backend.running).skip_to(4.3)
        await until(pilot, "localhost measuring")
        await pilot.press("s")
        await until(pilot, "What is left of localhost will be reported as not measured.")
        if late:
            present(backend.running).skip_to(over + 1)
            await until_true(pilot, lambda: present(app.progress).rungs[0].result)
        await pilot.press("left", "enter")
        if late:
            await until(pilot, "localhost is over already: nothing")  # in a box, over two lines
        await at_rest(pilot)
        assert present(backend.running).said == ([] if late else [("skip", "")])


async def test_nothing_covers_a_question_about_the_run(ticks: Ticks) -> None:
    backend = synth.settled()
    backend.entries = [e for e in synth.the_log() if e[0] < 3]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 12), notifications=True) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "running")
        await pilot.press("x")
        await until(pilot, "Cancel the run?")
        present(backend.running)._entries.append((3.1, events.Notice("the far end has another time of day")))
        present(backend.running).skip_to(4)
        await until_true(pilot, lambda: app.progress is not None and bool(app.progress.notices))
        await ticks(pilot, 1)
        assert not app.screen.query("Toast") and "Cancel the run?" in seen(app)


async def test_a_second_screen_only_watches_until_it_asks() -> None:
    backend = synth.settled()
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "measuring")
        present(backend.running).controlling, present(backend.running).holder = False, "the screen on ttyv0"
        await until(pilot, "the screen on ttyv0 has the controls")
        await pilot.press("a")
        await at_rest(pilot)
        assert present(backend.running).said == []
        await pilot.press("t")
        await until(pilot, "Take the controls?")
        await pilot.press("enter")
        await until_true(pilot, lambda: present(backend.running).controlling)


async def test_a_lost_peer_is_said_for_as_long_as_it_takes() -> None:
    backend = synth.settled()
    backend.entries = [
        *[e for e in synth.the_log() if e[0] < 3],
        (3.1, events.PeerLost("beta", "the connection broke", 5.0)),
    ]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(4)
        await until(pilot, "beta is out of reach: the connection broke, trying again in 5 s. What was measured is kept")
        await until(pilot, "Check its power, its cable and its address")
        assert "|-1-| localhost  waiting  trial 1 of 1" in seen(app)
        assert not re.search(r"^ *trial ", seen(app), re.M), "the trial that broke off begins anew"
        await until(pilot, "if it stays away the run ends, and Home can take it up. x cancels.")
        present(backend.running)._entries.append((4.2, events.PeerBack("beta")))
        present(backend.running).skip_to(5)
        await until(pilot, "beta is back")


async def test_a_peer_that_stays_away_ends_the_run_with_what_to_do() -> None:
    backend = synth.settled()
    why = "beta cannot be reached: no route to host"
    backend.entries = [
        *[e for e in synth.the_log() if e[0] < 3],
        (300.0, events.PeerLost("beta", "no route to host", 0.0)),  # not before the screen was seen to run
        (300.1, events.RunFinished(synth.RUN, RunState.INCOMPLETE, 0, why)),
    ]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(301)
        await until(pilot, f"The run ended early: {why}. What was measured is kept.")
        await until(pilot, "Esc leads to Home, where it can be taken up again.")
        await until(pilot, "Before that check power, cable and address of beta.")


def first_fails(reason: str) -> tuple[float, list[Entry]]:
    """The quick plan, of which the first trial fails; and when."""
    log = synth.the_log()
    end = next(i for i, (_, e) in enumerate(log) if isinstance(e, events.TrialFinished))
    at, finished = log[end]
    assert isinstance(finished, events.TrialFinished)
    server = Command(End.FAR, "server", ("iperf", "-s", "-p", "5001"), 1)
    broken = {"ok": False, "fault": Fault.TOOL, "goodput_bps": 0.0, "reason": reason}
    bad = trials.changed(finished.result, commands=(server,), **broken)
    return at, [*log[:end], (at, replace(finished, result=bad)), *log[end + 1 :]]


async def test_a_trial_that_fails_is_said_in_words_with_what_was_kept_and_what_to_do() -> None:
    backend = synth.settled()
    backend.speed = 0.0
    at, backend.entries = first_fails("iperf: connect failed: Connection refused")
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(at + 0.1)
        text = await until(
            pilot, "TCP, 2 streams, default window, near to far, repeat 1, failed: iperf: connect failed"
        )
        assert "tcp-2s" not in text, "an id is for files"
        await until(pilot, "The run goes on; this and all else is kept. c shows the commands, v the results so far, x")
        assert "1 failed" in await until(pilot, "same-host")
        await pilot.press("c")
        await until(pilot, "The commands of the last trial, which failed: iperf: connect")
        await until(pilot, "far: iperf -s -p 5001")
        await pilot.press("escape")
        present(backend.running).skip_to(at + 3)
        await until(pilot, "same-host measuring")


async def test_a_long_reason_leaves_room_for_what_to_do() -> None:
    backend = synth.settled()
    backend.speed = 0.0
    at, backend.entries = first_fails("iperf: " + "what it says goes on and on; " * 10)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(at + 0.1)
        await until(pilot, "what ... The run goes on; this and all else is kept.")


def arrived(found: Evidence, protocol: Protocol) -> list[Entry]:
    """A rung that begins with what was found of where the machines stand, then with one trial."""
    asked = Experiment("first", protocol=protocol, streams=2)
    plan = Plan("quick", contract=synth.CONTRACT, rungs=(Rung(RungName.SAME_VLAN, experiments=(asked,)),))
    return [
        (0.0, events.RunStarted("r", plan, 60.0, 1)),
        (0.0, events.RungStarted(RungName.SAME_VLAN, 60.0, 1, 0)),
        (1.0, events.EvidenceFound(RungName.SAME_VLAN, found)),
        (1.1, events.TrialStarted(RungName.SAME_VLAN, "first", 0, 0, 40.0)),
    ]


@pytest.mark.parametrize("protocol", [Protocol.TCP, Protocol.DF])
@pytest.mark.parametrize("contradicts", [False, True])
async def test_what_was_found_after_a_move_is_shown_live(protocol: Protocol, contradicts: bool, ticks: Ticks) -> None:
    found = Evidence("another host", ("same subnet", "answers ARP directly", "0.21 ms, was 0.08 ms"), contradicts)
    word = "The facts contradict the claim" if contradicts else "Checked"
    said = f"{word}: same subnet; answers ARP directly; 0.21 ms, was 0.08 ms."
    backend = synth.settled()
    backend.entries = arrived(found, protocol)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "running")
        present(backend.running).skip_to(10.0)
        text = await until(pilot, said)
        assert " ".join(text.split()).count(said) == 1, "once is enough"
        present(backend.running).skip_to(17.0)
        await ticks(pilot, 2)
        later = " ".join(seen(app).split())
        assert (said in later) == (protocol is Protocol.DF), "a chart needs the room, a ping does not"


async def test_a_search_for_the_strongest_generator_shows_how_far_it_is() -> None:
    backend = synth.settled()
    plan = synth.the_plan()
    rung = plan.rungs[0].name
    backend.entries = [
        (0.0, events.RunStarted("r", plan, 60.0, 3)),
        (0.0, events.RungStarted(rung, 60.0, 3, 0)),
        (0.0, events.GeneratorSought(rung, "Looking for the setting that is strongest", 20.0)),
        (14.0, events.GeneratorChosen(rung, plan, "8 streams are strongest")),
    ]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(plan)
        text = await until(pilot, "Looking for the setting that is strongest")
        shown = present(re.search(r"search +([█░]{30}) (\d+) s left", text))
        assert abs(shown[1].count("█") / 30 - (1 - int(shown[2]) / 20)) <= 1 / 20, text
        present(backend.running).skip_to(14.5)
        await until(pilot, "8 streams are strongest")
        assert "search " not in seen(app)
