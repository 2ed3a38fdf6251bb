"""Home, Results, Runs, Compare and Export over runs recorded in the lab: each figure is the document's own."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot

import recordings
from helpers import SIZES, present, seen, until, until_true
from linkladder import codec, judge, phrases, units
from linkladder.app.main import LadderApp
from linkladder.app.screens.export import ExportScreen
from linkladder.app.screens.pair import PairScreen
from linkladder.app.screens.results import ResultsScreen
from linkladder.model import Direction, Document, End, ExperimentResult, Protocol
from recordings import Recorded
from replay_backend import THEIRS

pytestmark = pytest.mark.asyncio
both_sizes = pytest.mark.parametrize("size", SIZES)
RUNGS = [(name, rung.name) for name in ("quick", "matrix", "failed") for rung in recordings.load(name).document.rungs]


def flat(text: str) -> str:
    return " ".join(text.split())


async def scrolled(pilot: Pilot[Any]) -> str:
    """All of a page that is longer than the screen, line by line."""
    lines: list[str] = []
    scroll = pilot.app.screen.query_one(".body", VerticalScroll)
    while True:
        page = seen(pilot.app).splitlines()[2:-1]
        known = next((n for n in range(len(page), 0, -1) if lines[-n:] == page[:n]), 0)
        lines += page[known:]
        before = scroll.scroll_y
        if before >= scroll.max_scroll_y:
            return "\n".join(lines)
        await pilot.press("pagedown")
        await until_true(pilot, lambda before=before: before != scroll.scroll_y == scroll.scroll_target_y)


@both_sizes
async def test_home_after_the_run_has_its_verdicts_and_rates(size: tuple[int, int]) -> None:
    run = recordings.load("quick")
    app = LadderApp(recordings.settled("quick"))
    async with app.run_test(size=size) as pilot:
        text = await until(pilot, f"> Read the report run {run.id}")
        for told in run.judged.rungs:
            row = next(one for one in text.splitlines() if one.startswith(f"   {told.rung}"))
            assert units.rate(told.best_bps) in row and str(told.verdict) in row
            assert ("(provisional)" in row) is told.provisional
        peer = app.backend.home().peers[0]
        await until(pilot, f"reachable, round trip {units.milliseconds(peer.rtt_ms)}")  # peers and doctor come later
        await until(pilot, "1 of 9 checks wants a look")


@both_sizes
async def test_the_code_on_the_pair_screen_is_the_one_that_was_compared(size: tuple[int, int]) -> None:
    heard, compared, paired = recordings.pairing()
    app = LadderApp(recordings.fresh())
    async with app.run_test(size=size) as pilot:
        app.push_screen(PairScreen())
        await until(pilot, heard.heard[0].address)
        await pilot.press("enter")
        text = await until(pilot, f"{compared.code[:3]} {compared.code[-3:]} {' '.join(compared.words)}")
        assert "██" in text, "in large figures"
        assert text.rstrip().endswith("F4  Trusted"), "the footer is whole"
        await pilot.press(*THEIRS, "enter")
        await until(pilot, paired.message)


@both_sizes
@pytest.mark.parametrize(("name", "rung"), RUNGS)
async def test_a_rung_s_page_is_the_document_s(size: tuple[int, int], name: str, rung: str) -> None:
    run = recordings.load(name)
    result, told = run.rung(rung), run.verdict(rung)
    app = LadderApp(recordings.settled(name))
    async with app.run_test(size=size) as pilot:
        app.push_screen(ResultsScreen(run.id))
        await until(pilot, "[run]")
        for _ in range(1 + [r.name for r in run.document.rungs].index(rung)):
            await pilot.press("right")
        await until(pilot, f"[{rung}]")
        text = flat(await scrolled(pilot))
        word = f"{told.verdict} (provisional)" if told.provisional else f"{told.verdict}"
        assert f"{word}: " in text
        if told.limiter:
            _, _, limits = told.limiter.sentence.removeprefix("What limits ").partition(" ")
            assert "What limits" in text and limits in text
        carried = [e for e in result.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP)]
        assert carried
        for experiment in carried:
            _row(text, experiment)
        for experiment in result.experiments:
            for trial in experiment.trials:
                assert trial.ok or f"repeat {trial.repeat + 1}: {trial.reason}" in text
            for line in phrases.besides_the_rates(experiment.parameters, experiment.trials, result.paths):
                assert line in text
            if experiment.parameters.protocol is Protocol.ECHO and experiment.trials[-1].ok:
                rtt = present(experiment.trials[-1].rtt)
                assert f"{units.milliseconds(rtt.min_ms)} least" in text
                assert f"{rtt.received} of {rtt.sent} answered" in text
            if found := experiment.trials[-1].path_mtu:
                assert f"{found.mtu} bytes pass" in text


def _row(text: str, experiment: ExperimentResult) -> None:
    """Least and most of its good trials with one unit where they share it, and the mean CPU of both ends."""
    good = [t for t in experiment.trials if t.ok]
    rates = [t.goodput_bps for t in good]
    low, high = units.rate(min(rates)), units.rate(max(rates))
    shared = low.split()[1] == high.split()[1]
    assert (high if low == high else f"{low.split()[0] if shared else low}-{high}") in text
    ends = [sum(present(t.end(end).cpu).percent for t in good) / len(good) for end in End if good[0].end(end).cpu]
    assert f"{'/'.join(f'{share:.0f}' for share in ends)}" in text


@both_sizes
async def test_both_ways_at_once_stand_in_a_table_of_their_own(size: tuple[int, int]) -> None:
    run = recordings.load("matrix")
    duplex = next(e for _, e, _ in run.trials() if e.parameters.direction is Direction.DUPLEX)
    app = LadderApp(recordings.settled("matrix"))
    async with app.run_test(size=size) as pilot:
        app.push_screen(ResultsScreen(run.id))
        await until(pilot, "[run]")
        await pilot.press("left")
        await until(pilot, "[dc-link]")
        text = await scrolled(pilot)
        head = next(i for i, one in enumerate(text.splitlines()) if "both ways" in one and "CPU" in one)
        assert units.rate(duplex.max_bps) in text.splitlines()[head + 1]
        one_way = [e for e in run.rung("dc-link").experiments if e.parameters.direction is Direction.FORWARD]
        best = max(one_way, key=lambda e: e.median_bps or 0)
        marked = next(one for one in text.splitlines() if one[17:18] == "*")  # in the column of near to far
        assert marked.split()[0] == str(best.parameters.streams) and units.rate(best.max_bps) in marked[17:36]


@both_sizes
async def test_the_run_s_page_has_the_verdict_of_every_rung(size: tuple[int, int]) -> None:
    for name in recordings.NAMES:
        run = recordings.load(name)
        app = LadderApp(recordings.settled(name))
        async with app.run_test(size=size) as pilot:
            app.push_screen(ResultsScreen(run.id))
            await until(pilot, "[run]")
            await until(pilot, "Plan ")
            text = await scrolled(pilot)
            for told in run.judged.rungs:
                row = next(one for one in text.splitlines() if one.startswith(f"   {told.rung}"))
                assert (units.rate(told.best_bps) if told.best_bps else "-") in row and str(told.verdict) in row
            assert all(one in flat(text) for one in run.judged.diagnosis)


@both_sizes
async def test_runs_lists_what_the_store_knows_and_compares_two(size: tuple[int, int]) -> None:
    first, second = sorted((recordings.load("quick"), recordings.load("contradicted")), key=lambda run: run.id)
    app = LadderApp(recordings.settled(*recordings.NAMES))
    async with app.run_test(size=size) as pilot:
        await until(pilot, "Next step")
        await pilot.press("r")
        text = await until(pilot, "5 runs")
        for run in map(recordings.load, recordings.NAMES):
            _listed(next(one for one in text.splitlines() if run.id in one), run)
        await pilot.press("slash", *"quick", "enter")
        await until(pilot, "2 runs")
        await pilot.press("space", "j", "space", "c")
        found = judge.compare(first.document, second.document)
        await until(pilot, f"first {first.id} second {second.id}")
        text = await scrolled(pilot)
        assert flat(found.sentence) in flat(text)
        _compared(text, found)


def _listed(row: str, run: Recorded) -> None:
    top = [run.summary.best_bps[r.name] for r in run.document.rungs if r.name in run.summary.best_bps][-1]
    assert units.rate(top) in row and run.document.run.plan.name in row and "beta" in row
    kept = run.summary.verdict
    assert kept.word in row and ("(provisional)" in row) is kept.provisional


@both_sizes
async def test_repeats_tell_a_difference_from_the_noise(size: tuple[int, int]) -> None:
    from linkladder.app.screens.compare import CompareScreen

    found = judge.compare(recordings.load("failed").document, recordings.load("lost").document)
    assert any(d.detectable_percent is not None for d in found.differences)
    app = LadderApp(recordings.settled("failed", "lost"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, "Next step")
        app.push_screen(CompareScreen(found))
        await until(pilot, "first")
        _compared(await scrolled(pilot), found)


def _compared(text: str, found: judge.Comparison) -> None:
    assert found.differences
    for d in found.differences:
        said = {"differs": "differs", "same": "same within 2 %", "undecided": "cannot tell"}[d.answer]
        figures = f"{units.rate(d.a_bps)} {units.rate(d.b_bps)} {d.change_percent:+.1f} % {said}"
        assert flat(f"{phrases.way(d.direction)} {figures}") in flat(text) and flat(d.experiment) in flat(text)


@both_sizes
async def test_what_is_exported_is_the_document(size: tuple[int, int], tmp_path: Path) -> None:
    run = recordings.load("matrix")
    backend = recordings.settled("matrix")
    backend.export_folder = str(tmp_path)
    app = LadderApp(backend)
    async with app.run_test(size=size) as pilot:
        await until(pilot, "Next step")
        app.push_screen(ExportScreen(run.id))
        for kind in ("html", "json", "csv"):
            await until(pilot, {"html": "HTML report", "json": "JSON", "csv": "CSV"}[kind])
            await pilot.press("enter")
            await until(pilot, "Written:")
            assert f"{run.id}.{kind}" in seen(app).replace("\n", "").replace(" ", "")
            await pilot.press("right")
    told = json.loads((tmp_path / f"{run.id}.json").read_text())
    document = {key: value for key, value in told.items() if key in ("schema", "run", "rungs")}
    assert codec.from_json(Document, document) == run.document
    assert str(run.judged.verdict) in (tmp_path / f"{run.id}.html").read_text()
    assert len(list(csv.DictReader((tmp_path / f"{run.id}.csv").open()))) == len(run.trials())
