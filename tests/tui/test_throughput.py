"""What the live chart shows against the lines across it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import synth
from helpers import until
from judge_documents import trial
from linkladder import events, units
from linkladder.app.main import LadderApp
from linkladder.app.terminal import Glyphs
from linkladder.app.widgets import throughput
from linkladder.app.widgets.chart import draw
from linkladder.model import (
    Contract,
    CoreLoad,
    Direction,
    Experiment,
    HostSample,
    Interval,
    Layer,
    Path,
    Plan,
    Rung,
    RungName,
    Setting,
    SettingKind,
)
from linkladder.run.progress import Progress, TrialView
from paths_documents import CARDS, PAIRS
from staircases import carried, climb

ONE_WAY = Experiment("tcp-2s-default-forward", streams=2)
DUPLEX = Experiment("tcp-2s-default-duplex", streams=2, direction=Direction.DUPLEX)
PORT, HALF, FEW, WHOLE = (
    Contract(port_bps=10e9),
    Contract(port_bps=10e9, rate_bps=6e9),
    Contract(port_bps=10e9, rate_bps=1e9),
    Contract(port_bps=10e9, rate_bps=10e9),
)
LINES = [  # rung, contract, lines in Gb/s, caption
    (RungName.LOCALHOST, PORT, [("needed", 15.0)], ""),
    (RungName.SAME_HOST, FEW, [("needed", 1.5)], ""),
    (RungName.SAME_VLAN, PORT, [("contract = ceiling", 9.41)], ""),
    (RungName.DC_LINK, PORT, [("contract = ceiling", 9.41)], ""),
    (RungName.DC_LINK, WHOLE, [("contract = ceiling", 9.41)], ""),
    (RungName.DC_LINK, HALF, [("contract", 5.74), ("ceiling", 9.41)], ""),
    (RungName.DC_LINK, FEW, [("contract", 0.96)], "the ceiling, 9.41 Gb/s, is above this"),
]


def measuring(contract: Contract, asked: Experiment = ONE_WAY, rung: RungName = RungName.DC_LINK) -> Progress:
    """A run in its only trial."""
    progress = Progress()
    for _, event in entries(contract, asked, rung):
        progress.apply(event, 0.0)
    return progress


def entries(
    contract: Contract, asked: Experiment, rung: RungName = RungName.DC_LINK
) -> list[tuple[float, events.Event]]:
    plan = Plan("circuit", contract=contract, rungs=(Rung(rung, experiments=(asked,)),))
    return [
        (0.0, events.RunStarted("r", plan, 60.0, 1)),
        (0.0, events.RungStarted(rung, 60.0, 1, 0)),
        (0.0, events.TrialStarted(rung, asked.id, 0, 0, 20.0)),
    ]


def second(number: int, gbps: float, way: Direction, counted: bool = True) -> events.IntervalSeen:
    return events.IntervalSeen(Interval(number + 0.004, number + 1.004, int(gbps * 1e9 / 8), way, counted))


@pytest.mark.parametrize(("rung", "contract", "lines", "caption"), LINES)
def test_the_lines_of_every_contract(
    rung: RungName, contract: Contract, lines: list[tuple[str, float]], caption: str
) -> None:
    progress = measuring(contract, ONE_WAY, rung)
    assert progress.trial
    found = throughput.lines_of(progress, progress.trial)
    assert [(word, round(bps / 1e9, 2)) for word, bps in found] == lines
    assert throughput.caption(progress, progress.trial) == caption


def test_a_contract_of_packets_may_reach_the_ceiling_at_less_than_the_port() -> None:
    """1 Gb/s of L3 packets on a port of 1 Gb/s is more than the port can carry."""
    progress = measuring(Contract(port_bps=1e9, rate_bps=0.99e9, layer=Layer.L3))
    assert progress.trial
    assert [word for word, _ in throughput.lines_of(progress, progress.trial)] == ["contract = ceiling"]


def test_of_both_ways_the_slower_is_drawn_second_by_second() -> None:
    trial = TrialView(RungName.DC_LINK, DUPLEX, 0, 0, 20.0, 0.0)
    for number, there, back in ((0, 9.4, 9.1), (1, 4.0, 9.2), (2, 9.4, 9.3)):
        trial.intervals.append(second(number, there, Direction.FORWARD, number > 0).interval)
        trial.intervals.append(second(number, back, Direction.REVERSE).interval)
    trial.intervals.append(second(3, 9.4, Direction.FORWARD).interval)  # of which the other end has not told yet
    drawn = [(round(at), round(bps / 1e9, 1), counted) for at, bps, counted in throughput.points_of(trial)]
    assert drawn == [(0, 9.1, False), (1, 4.0, True), (2, 9.3, True)]


def test_one_way_is_drawn_as_it_is_whichever_it_is() -> None:
    for way in (Direction.FORWARD, Direction.REVERSE):
        trial = TrialView(RungName.DC_LINK, Experiment("x", direction=way), 0, 0, 20.0, 0.0)
        trial.intervals.append(second(0, 9.4, way).interval)
        assert [round(bps / 1e9, 1) for _, bps, _ in throughput.points_of(trial)] == [9.4]


def test_what_the_card_counted_is_told_as_such_until_the_tool_tells() -> None:
    progress = measuring(HALF)
    progress.apply(replace(second(2, 5.9, Direction.FORWARD), by_cards=True), 3.0)
    assert progress.trial and throughput.caption(progress, progress.trial) == "by the card, with headers"
    progress.apply(second(0, 5.6, Direction.FORWARD), 4.0)
    assert throughput.caption(progress, progress.trial) == ""
    assert [round(bps / 1e9, 1) for _, bps, _ in throughput.points_of(progress.trial)] == [5.6]


def test_of_two_lines_in_one_row_the_higher_stays_above() -> None:
    rows = ["".join(char for char, _ in row) for row in draw([], 60, 9, [("contract", 9.3e9), ("ceiling", 9.4e9)])]
    at = {word: next(n for n, row in enumerate(rows) if f" {word} " in row) for word in ("contract", "ceiling")}
    assert at["ceiling"] < at["contract"]


@pytest.mark.parametrize(
    ("contract", "words"),
    [
        (PORT, ["contract = ceiling 9.41 Gb/s"]),
        (HALF, [" contract 5.74 Gb/s", " ceiling 9.41 Gb/s"]),
        (FEW, [" contract 956 Mb/s", "└─ the ceiling, 9.41 Gb/s, is above this ─"]),
    ],
)
async def test_ladder_names_its_lines(contract: Contract, words: list[str]) -> None:
    backend = synth.settled()
    backend.entries = entries(contract, ONE_WAY)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        for one in words:
            await until(pilot, one)


@pytest.mark.parametrize(
    "asked,words",
    [
        (ONE_WAY, "by the card, ceiling 9.41 Gb/s above"),
        (DUPLEX, "slower way, by the card, ceiling 9.41 Gb/s above"),
    ],
)
@pytest.mark.parametrize("size", [(80, 25), (72, 20)])
async def test_all_that_the_caption_tells_fits_below_the_chart(
    asked: Experiment, words: str, size: tuple[int, int]
) -> None:
    backend = synth.settled()
    ways = (Direction.FORWARD, Direction.REVERSE) if asked is DUPLEX else (Direction.FORWARD,)
    seen = [(0.0, replace(second(n, 0.9, way), by_cards=True)) for n in range(3) for way in ways]
    backend.entries = [*entries(FEW, asked), *seen]
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, f"└─ {words} ─")


@pytest.mark.parametrize("port", [1e9, 10e9, 20e9, 100e9])
def test_a_link_that_carries_a_fraction_of_its_contract_fills_the_chart_all_the_same(port: float) -> None:
    """At 300 Mb/s the bars of a contract of 20 Gb/s would be all but nothing."""
    progress = measuring(Contract(port_bps=port))
    for number in range(8):
        progress.apply(second(number, 0.3, Direction.FORWARD), number + 1.0)
    trial = progress.trial
    assert trial
    drawn = draw(throughput.points_of(trial), 67, 9, throughput.lines_of(progress, trial), Glyphs.ASCII, 20.0)
    full = sum("#" in "".join(char for char, _ in row) for row in drawn)
    assert full >= 2, "\n".join("".join(char for char, _ in row) for row in drawn)
    told = throughput.caption(progress, trial)
    assert told == ("" if port == 1e9 else f"the contract, {units.rate(port * 1448 / 1538)}, is above this")


def test_before_anything_was_carried_the_lines_stand() -> None:
    progress = measuring(PORT)
    assert progress.trial
    assert [word for word, _ in throughput.lines_of(progress, progress.trial)] == ["contract = ceiling"]


async def test_ladder_of_both_ways_stays_below_the_ceiling_of_one() -> None:
    backend = synth.settled()
    ways = (Direction.FORWARD, Direction.REVERSE)
    seen = [(0.0, second(n, 9.3, way)) for n in range(8) for way in ways]
    backend.entries = [*entries(PORT, DUPLEX), *seen]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        text = await until(pilot, "└─ the slower way ─")
        assert "9.30 Gb/s to far  9.30 Gb/s to near" in text
        assert "10.0 Gb/s │" in text, "the chart is no higher than one way needs"


def several(count: int) -> list[tuple[float, events.Event]]:
    """A trial over so many paths to beta, of which the last has gone silent."""
    plan = Plan("circuit", contract=PORT, rungs=(Rung(RungName.DC_LINK, (Path(peer="beta"),) * count, (ONE_WAY,)),))
    told = [(0.0, events.RunStarted("r", plan, 60.0, 1)), *entries(PORT, ONE_WAY)[1:]]
    for number, paths in ((1, count), (2, count - 1)):
        each = tuple(events.PathRate(n, (n + 1) * 100e6) for n in range(paths)) if count > 1 else ()
        told.append((0.0, replace(second(number, 4.2, Direction.FORWARD), paths=each)))
    return told


@pytest.mark.parametrize(
    ("count", "rows"),
    [
        (1, 0), (2, 2), (4, 4), (7, 4), (20, 4),
    ],
)  # fmt: skip
async def test_each_path_of_a_trial_has_its_rate_and_80_columns_hold_them(count: int, rows: int) -> None:
    backend = synth.settled()
    backend.entries = several(count)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "4.20 Gb/s to far" if count == 1 else "silent" if count < 8 else "more,")
        text = await until(pilot, " whole ")  # the bars are there as well
        shown = [line for line in text.splitlines() if "near to beta by path" in line or "more," in line]
        assert len(shown) == rows
        if 1 < count < 8:
            assert re.search(r"near to beta by path 1 +100 Mb/s", text)
            assert re.search(rf"near to beta by path {count} +silent", text)
        if count == 20:
            assert "and 14 more, 0 b/s to 1.90 Gb/s each" in text


async def test_paths_leave_room_for_what_is_said_on_four_rungs() -> None:
    """80x25 with four rungs, seven paths, figures of both ends and two lines that tell of a failed trial."""
    begun, *told = several(7)
    assert isinstance(begun[1], events.RunStarted)
    (link,) = begun[1].plan.rungs
    plan = replace(begun[1].plan, rungs=tuple(replace(link, name=name) for name in RungName))
    sample = HostSample(1.0, (CoreLoad(30.0, 20.0, 0.0, 50.0),) * 4, 1 << 30)
    seen = [(0.0, events.Sampled(end, sample)) for end in ("near", "far")]
    backend = synth.settled()
    said = events.Notice("TCP, 2 streams, default window, near to far, repeat 1, failed: " + 5 * "because of it ")
    backend.entries = [(0.0, replace(begun[1], plan=plan)), *told, *seen, (0.0, said)]
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "of 4 cores")
        text = await until(pilot, " whole ")
        for words in ("|-1-|", "|-4-|", "and 5 more", "near to beta by path 1", "of 4 cores", "because of it", "Space"):
            assert words in text, text


def test_jumbo_frames_on_loan_have_the_ceiling_of_jumbo_frames() -> None:
    lent = replace(ONE_WAY, settings=(Setting(SettingKind.MTU, "9000"),))
    progress = measuring(PORT, lent)
    assert progress.trial
    ((_, jumbo),) = throughput.lines_of(progress, progress.trial)
    assert round(jumbo / 1e9, 2) == 9.9  # 9.41 at 1500


def test_a_ceiling_that_was_passed_is_a_line_and_not_said_to_be_above() -> None:
    progress = measuring(FEW)
    for number in range(3):
        progress.apply(second(number, 27.0, Direction.FORWARD), 1.0)
    assert progress.trial
    lines = throughput.lines_of(progress, progress.trial)
    assert [(word, round(bps / 1e9, 2)) for word, bps in lines] == [("contract", 0.96), ("ceiling", 9.41)]
    assert throughput.caption(progress, progress.trial) == ""


@pytest.mark.asyncio
async def test_arms_of_a_staircase_stand_side_by_side_below_the_chart() -> None:
    plan, _ = climb()
    base, two, eight = [e for e in plan.rungs[0].experiments if e.step == 3]
    rung = plan.rungs[0].name
    told: list[tuple[float, events.Event]] = [
        (0.0, events.RunStarted("r", plan, 60.0, 32)),
        (0.0, events.RungStarted(rung, 60.0, 32, 0)),
    ]
    for e in (base, two):
        told.append((0.0, events.TrialStarted(rung, e.id, 0, 0, 7.0)))
        told.append((0.0, events.TrialFinished(rung, e.id, trial(carried(e), Direction.FORWARD))))
    told.append((0.0, events.TrialStarted(rung, eight.id, 0, 0, 7.0)))
    told += [(0.0, second(n, 6.0, Direction.FORWARD)) for n in range(3)]
    backend = synth.settled()
    backend.entries = told
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        app.climb(plan)
        shown = await until(pilot, "Step 3 of 3, kept so far: MTU 9000")
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        assert any(re.fullmatch(r"best so far █+░+ 6\.00 Gb/s 1 of 4", line) for line in lines), shown
        assert any(re.fullmatch(r"2 streams instead of 1 █+ 7\.80 Gb/s 1 of 4 \+30 %", line) for line in lines)
        assert any(re.fullmatch(r"> 8 streams instead of 1 ░+ - 0 of 4", line) for line in lines)
        assert "whole" in shown and "6.00 Gb/s to far" in shown, "nothing else has gone"


def lines_over(
    contract: Contract, paths: tuple[Path, ...], asked: Experiment, rung: RungName
) -> list[tuple[str, float]]:
    """The lines across a trial over these paths, in Gb/s."""
    progress = Progress()
    plan = Plan("circuit", contract=contract, rungs=(Rung(rung, paths, (asked,)),))
    progress.apply(events.RunStarted("r", plan, 60.0, 1), 0.0)
    progress.apply(events.RungStarted(rung, 60.0, 1, 0), 0.0)
    progress.apply(events.TrialStarted(rung, asked.id, 0, 0, 20.0), 0.0)
    assert progress.trial
    return [(word, round(bps / 1e9, 2)) for word, bps in throughput.lines_of(progress, progress.trial)]


def test_the_sum_of_several_paths_stands_below_what_all_of_them_are_sold_as() -> None:
    """As in the verdict and in the report's charts: a port for each card, and one link where one is shared."""
    link, shared = RungName.DC_LINK, replace(PORT, shared_bps=6e9)
    assert lines_over(PORT, CARDS, ONE_WAY, link) == [("contract = ceiling", 18.83)]
    assert lines_over(PORT, CARDS, replace(ONE_WAY, paths=(1,)), link) == [("contract = ceiling", 9.41)]
    assert lines_over(PORT, CARDS, ONE_WAY, RungName.SAME_HOST) == [("needed", 30.0)]
    assert lines_over(shared, PAIRS, ONE_WAY, link) == [("contract", 5.74), ("ceiling", 9.41)]
    assert lines_over(PORT, PAIRS, ONE_WAY, link) == [], "nothing says what the pairs carry together"
