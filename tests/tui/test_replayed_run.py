"""The Ladder replays runs recorded in the lab: what it shows at a moment is what the run had said by then."""

from __future__ import annotations

import re

import pytest

import recordings
from helpers import SIZES, present, seen, until
from linkladder import events, judge, units
from linkladder.app.main import LadderApp
from linkladder.app.screens.results import ResultsScreen
from linkladder.model import Direction, End, Interval, Protocol
from recordings import Recorded, watch

pytestmark = pytest.mark.asyncio
BARS = re.compile("[█▇▆▅▄▃▂▁░]+")
AXIS = 11  # the column of the chart's axis
# A rung, how an experiment's name begins, seconds into its trial: in the warm-up, counted, near its end, and of UDP.
MOMENTS = [("localhost", "tcp", 2.4), ("same-vlan", "tcp", 9.4), ("dc-link", "tcp", 12.4), ("dc-link", "udp", 3.4)]
both_sizes = pytest.mark.parametrize("size", SIZES)


def flat(text: str) -> str:
    return " ".join(text.split())


def line(text: str, words: str) -> str:
    return next(one for one in text.splitlines() if words in one)


def lived(run: Recorded, began: float, at: float) -> list[Interval]:
    return [e.interval for t, e in run.entries if isinstance(e, events.IntervalSeen) and began <= t <= at]


@both_sizes
@pytest.mark.parametrize(("rung", "begins", "after"), MOMENTS)
async def test_a_live_trial_is_what_the_run_said(size: tuple[int, int], rung: str, begins: str, after: float) -> None:
    run = recordings.load("quick")
    began = run.trial_began(rung, begins)
    at = began + after
    app = LadderApp(recordings.settled("quick"))
    async with app.run_test(size=size) as pilot:
        await watch(app, run, at)
        await until(pilot, f"{rung} measuring")
        ended = [r for r in run.document.rungs if run.when(events.RungFinished, r.name) < at]
        for over in ended:
            await until(pilot, f"{over.name} {run.verdict(over.name).verdict}")
        text = await until(pilot, "whole")
        seconds = lived(run, began, at)
        arrow = {"forward": "to far", "reverse": "to near"}[seconds[-1].direction]
        assert f"{units.rate(seconds[-1].bps)} {arrow}" in text
        _chart(text, seconds)
        _left(run, text, at)
        _cores(run, text, at, rung)
        for over in ended:
            assert units.rate(run.verdict(over.name).best_bps) in line(text, f"| {over.name}")
        await pilot.press("c")
        commands = next(e.commands for t, e in run.entries if isinstance(e, events.TrialStarted) and t == began)
        await until(pilot, "The commands of this trial")
        framed = re.findall("│([^│]*)(?=│)", seen(app))
        said = flat(" ".join(part for part in framed if re.search("[a-z0-9]", part)))
        assert commands and all(command in said for command in commands)


def _chart(text: str, seconds: list[Interval]) -> None:
    """A bar for every second that was said, as high as its share of what the axis reaches to."""
    rows = [one for one in text.splitlines() if one[AXIS : AXIS + 1] == "│"]
    floor = rows[-1]
    bars = list(BARS.finditer(floor, AXIS + 1))
    assert len(bars) == len([s for s in seconds if s.bps > 0])
    top = units.parse_rate(rows[0][:AXIS].strip())
    for bar, second in zip(bars, seconds, strict=True):
        height = sum(BARS.match(row, bar.start()) is not None for row in rows)
        assert abs(height - second.bps / top * len(rows)) <= 1.01
        assert (floor[bar.start()] == "░") is not second.counted


def _left(run: Recorded, text: str, at: float) -> None:
    """What is left of trial and whole is what was expected of the trials to come."""
    begun = [(t, e.seconds) for t, e in run.entries if isinstance(e, events.TrialStarted)]
    before = [(t, s) for t, s in begun if t <= at]
    trial = max(0.0, before[-1][1] - (at - before[-1][0]))
    whole = trial + sum(s for t, s in begun if t > at)
    for name, left in (("trial", trial), ("whole", whole)):
        told = flat(next(one for one in text.splitlines() if one.startswith(f" {name} ") and " left" in one))
        assert f"{units.duration(left)} left" in told
    assert f"trial {len(before)} of {len(begun)}" in line(text, " whole ")


def _cores(run: Recorded, text: str, at: float, rung: str) -> None:
    """The cores of both ends as they were sampled last, side by side."""
    lines = text.splitlines()
    above = next(i for i, one in enumerate(lines) if one.startswith(" near  "))
    middle = lines[above].index(" far") + 1
    for end, half in ((End.NEAR, slice(0, middle)), (End.FAR, slice(middle, None))):
        if rung == "localhost" and end is End.FAR:
            assert "the same machine on this rung" in lines[above]
            continue
        last = [e.sample for t, e in run.entries if isinstance(e, events.Sampled) and e.end == end and t <= at][-1]
        assert units.size(last.memory_used) in lines[above][half]
        for number, core in enumerate(last.cores):
            assert re.search(rf"c{number} .* {core.busy:.0f} %", lines[above + 1][half])


@both_sizes
@pytest.mark.parametrize("begins", ["path-mtu", "round-trip"])
async def test_pings_have_no_chart_and_say_what_was_checked(size: tuple[int, int], begins: str) -> None:
    run = recordings.load("quick")
    app = LadderApp(recordings.settled("quick"))
    async with app.run_test(size=size) as pilot:
        await watch(app, run, run.trial_began("same-vlan", begins) + 0.05)
        text = flat(await until(pilot, "same-vlan measuring"))
        assert f"Checked: {'; '.join(present(run.rung('same-vlan').evidence).findings)}." in text
        assert "of 1 core" not in text


@both_sizes
@pytest.mark.parametrize("name", ["quick", "matrix", "failed", "contradicted"])
async def test_at_the_end_every_rung_has_the_judge_s_verdict(size: tuple[int, int], name: str) -> None:
    run = recordings.load(name)
    app = LadderApp(recordings.settled(name))
    async with app.run_test(size=size) as pilot:
        await watch(app, run, run.entries[-1][0])
        await until(pilot, "The run is complete. Press Enter to read what it shows.")
        for told in run.judged.rungs:
            text = await until(pilot, f"{told.rung} {told.verdict}")
            best: dict[Direction, float] = {}
            for e in run.rung(told.rung).experiments:
                way = e.parameters.direction
                if e.parameters.protocol is Protocol.TCP and way is not Direction.DUPLEX:
                    best[way] = max(best.get(way, 0.0), present(e.median_bps))
            assert f"best {units.rate(min(best.values()))}" in line(text, f"| {told.rung}")
            assert ("(provisional)" in line(text, f"| {told.rung}")) is told.provisional
        await pilot.press("enter")
        await until(pilot, run.judged.sentence[:40].split("(")[0].strip())
        assert isinstance(app.screen, ResultsScreen) and app.screen.run_id == run.id


@both_sizes
async def test_the_lines_across_the_chart_are_the_judge_s(size: tuple[int, int]) -> None:
    run = recordings.load("quick")
    contract = run.document.run.plan.contract
    app = LadderApp(recordings.settled("quick"))
    async with app.run_test(size=size) as pilot:
        await watch(app, run, run.trial_began("dc-link", "tcp") + 9.4)
        most = judge.ceiling(contract)
        assert most.which == "contract"
        await until(pilot, f"contract {units.rate(most.bps)}")


@both_sizes
async def test_a_killed_tool_is_a_failed_trial_in_its_own_words(size: tuple[int, int]) -> None:
    run = recordings.load("failed")
    broken = next(t for _, _, t in run.trials() if not t.ok)
    over = next(t for t, e in run.entries if isinstance(e, events.TrialFinished) and not e.result.ok)
    app = LadderApp(recordings.settled("failed"))
    async with app.run_test(size=size) as pilot:
        await watch(app, run, over + 1.0)
        text = flat(await until(pilot, broken.reason))
        assert f"repeat {broken.repeat + 1}" in text and "1 failed" in text
        assert "trial 9 of 9" in text, "the run goes on"


@both_sizes
async def test_a_lost_peer_is_awaited_then_given_up_and_nothing_is_thrown_away(size: tuple[int, int]) -> None:
    run = recordings.load("lost")
    gone = [(t, e) for t, e in run.entries if isinstance(e, events.PeerLost)]
    back = run.when(events.PeerBack)
    for at, event in (gone[0], gone[-2]):
        app = LadderApp(recordings.settled("lost"))
        async with app.run_test(size=size) as pilot:
            await watch(app, run, at + 0.05)
            again = 1 if event is gone[0][1] else 30
            reason = event.reason.removesuffix("?")
            await until(pilot, f"beta is out of reach: {reason}, trying again in {again} s. What was measured is kept.")
    app = LadderApp(recordings.settled("lost"))
    async with app.run_test(size=size) as pilot:
        await watch(app, run, back + 0.05)
        await until(pilot, "beta is back")
        assert "out of reach" not in line(seen(app), "beta is back")
    app = LadderApp(recordings.settled("lost"))
    async with app.run_test(size=size) as pilot:
        await watch(app, run, run.entries[-1][0])
        await until(pilot, f"The run ended early: {run.summary.reason} What was measured is kept.")
        await until(pilot, "where it can be taken up again")
        assert run.summary.reason.endswith(gone[-1][1].reason)
        kept = len([t for r, _, t in run.trials() if r.name == "dc-link" and t.ok])
        assert f"{kept} of 3 trials" in line(seen(app), "| dc-link")
        await pilot.press("escape")
        assert run.id in await until(pilot, "> Go on with the last run")


@both_sizes
async def test_a_move_is_asked_for_checked_and_held_against_the_claim(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkladder.app.screens.ladder.READ_FIRST", 0.0)
    run = recordings.load("contradicted")
    asked = [(t, e.instruction) for t, e in run.entries if isinstance(e, events.WaitingForOperator)]
    assert len(asked) == 3, "same-vlan, again after the facts, and dc-link"
    app = LadderApp(recordings.settled("contradicted"))
    async with app.run_test(size=size) as pilot:
        session = await watch(app, run, asked[0][0])
        await until(pilot, asked[0][1])
        await until(pilot, "same-vlan needs you")
        await pilot.press("enter")
        await until(pilot, "Looking where things stand for same-vlan")
        session.skip_to(asked[1][0])
        await until(pilot, "The facts speak against it")
        found = present(run.rung("same-vlan").evidence)
        for fact in found.against:
            await until(pilot, fact)
        await pilot.press("enter")
        session.skip_to(run.trial_began("same-vlan", "tcp") + 5)
        await until(pilot, "facts contradict")
        assert session.said == [("proceed", "")] * 2
        app.push_screen(ResultsScreen(run.id))
        await until(pilot, "[run]")
        await pilot.press("right", "right", "right", "end")
        text = flat(await until(pilot, "The facts contradict the claim:"))
        assert f"The operator: {found.word}." in text
        assert f"The facts contradict the claim: {'; '.join(found.findings)}." in text
