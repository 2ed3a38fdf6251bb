"""The list of runs: filtered, compared, taken up, taken away on a stick or by a link."""

from __future__ import annotations

from pathlib import Path

import pytest

import synth
from helpers import at_rest, present, until
from linkladder.app.main import LadderApp
from linkladder.app.screens.results import ResultsScreen
from linkladder.app.terminal import Glyphs
from linkladder.model import RunState
from linkladder.store import KeptVerdict, RunSummary, StoreFault

pytestmark = pytest.mark.asyncio


async def test_runs_filter_mark_compare_delete() -> None:
    backend = synth.settled()
    other = "20261120-090000-cd34"
    backend.stored[other] = (synth.summary(other, verdict=KeptVerdict("FAIL")), synth.the_document())
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        await pilot.press("r")
        await until(pilot, "2 runs")
        await pilot.press("slash", *"FAIL", "enter")
        text = await until(pilot, "1 run")
        assert other in text and synth.RUN not in text
        await pilot.press("slash", *["backspace"] * 4, "enter")
        await until(pilot, "2 runs")
        await pilot.press("space", "j", "space", "c")
        await until(pilot, "No difference beyond the noise")
        await pilot.press("escape")
        await pilot.press("d")
        await until(pilot, "Delete this run?")
        await pilot.press("enter")
        await at_rest(pilot)
        assert len(backend.stored) == 2
        await pilot.press("d", "left", "enter")
        await until(pilot, "1 run")


async def test_the_cursor_stays_on_its_run_when_others_come_and_go() -> None:
    backend = synth.settled()
    for number in range(3):
        other = f"2026112{number}-090000-cd34"
        verdict = KeptVerdict("FAIL" if number == 0 else "PASS")
        backend.stored[other] = (synth.summary(other, verdict=verdict), synth.the_document())
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        await pilot.press("r")
        await until(pilot, "4 runs")
        await pilot.press("end", "d")
        text = await until(pilot, "Delete this run?")
        oldest = next(key for key in backend.stored if f"{key} and its raw output" in " ".join(text.split()))
        await pilot.press("enter", "x")
        await until(pilot, "On this disk")
        newer = "20261130-090000-cd34"
        backend.stored[newer] = (synth.summary(newer), synth.the_document())
        await pilot.press("escape")
        await until(pilot, "5 runs")
        await pilot.press("d")
        await until(pilot, f"{oldest} and its raw output will be gone.")


async def test_a_run_that_ends_while_the_list_is_open_is_no_longer_one_that_goes_on() -> None:
    backend = synth.settled()
    backend.speed = 0.0
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        app.climb(synth.the_plan())
        await until(pilot, "plan quick running")
        backend.stored[synth.RUN] = (synth.summary(synth.RUN, RunState.RUNNING), synth.the_document())
        await pilot.press("escape", "r")
        await until(pilot, "9.21 Gb/s running")
        backend.stored[synth.RUN] = (synth.summary(), synth.the_document())
        present(app.progress).over = True
        await until(pilot, "9.21 Gb/s PASS")
        await pilot.press("d")
        await until(pilot, "Delete this run?")


async def test_runs_that_cannot_be_read_are_told_of_on_the_page_and_esc_leads_back() -> None:
    backend = synth.settled()

    def fails(words: str = "") -> list[RunSummary]:
        raise StoreFault("the store cannot be used", "unable to open database file", "linkladder doctor checks it")

    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        backend.runs = fails  # type: ignore[method-assign]
        await pilot.press("r")
        text = " ".join((await until(pilot, "the store cannot be used")).split())
        assert "unable to open database file; linkladder doctor checks it" in text
        del backend.runs
        await pilot.press("escape")
        await until(pilot, "> Read the report")


async def test_two_runs_side_by_side_fit_the_console() -> None:
    """Differences beyond the noise, within it, and where one repeat cannot tell."""
    from linkladder.app.screens.compare import CompareScreen
    from linkladder.verdicts import Answer, Comparison, Difference

    named = ("dc-link", "TCP, 4 streams, 8M window")
    rows = (
        Difference(*named, "forward", 9.41e9, 8.2e9, -12.9, True, 1.2, "", Answer.DIFFERS),
        Difference(*named, "reverse", 9.41e9, 9.4e9, -0.1, False, 1.2, "", Answer.SAME),
        Difference(*named, "both", 9.41e9, 9.3e9, -1.2, False, None, ""),
    )
    found = Comparison("20261120-090000-cd34", synth.RUN, "1 of 3 differ.", rows, ("near release: 15.0 / 15.1",))
    app = LadderApp(synth.settled())
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Quit")
        app.push_screen(CompareScreen(found))
        lines = (await until(pilot, "15.0 / 15.1")).splitlines()
        at = next(n for n, line in enumerate(lines) if "TCP, 4 streams, 8M window" in line)
        there, back, both = lines[at + 1 : at + 4]
        assert there.split() == "near to far 9.41 Gb/s 8.20 Gb/s -12.9 % differs".split()
        assert back.strip().startswith("far to near") and "same within 2 %" in back
        assert both.strip().startswith("each way in turn") and "cannot tell" in both


async def test_a_run_that_was_cancelled_is_taken_up_from_the_list_alone() -> None:
    from dataclasses import replace

    backend = synth.settled()
    stopped = synth.summary("20261122", RunState.INCOMPLETE, KeptVerdict("INCOMPLETE"))
    stopped = replace(stopped, reason="it was cancelled", cancelled=True)
    backend.stored["20261122"] = (stopped, synth.the_document())
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "> Read the report")
        await pilot.press("r")
        assert "9.21 Gb/s INCOMPLETE, cancelled" in " ".join((await until(pilot, "2 runs")).split())
        await pilot.press("g")
        await until(pilot, "because it was cancelled")
        await pilot.press("enter")
        await until(pilot, "measuring")
        assert backend.resumed == ["20261122"]


async def test_export_writes_and_offers(tmp_path: Path) -> None:
    backend = synth.settled()
    backend.export_folder = str(tmp_path)
    app = LadderApp(backend)
    async with app.run_test(size=(80, 40)) as pilot:
        app.push_screen(ResultsScreen(synth.RUN))
        await until(pilot, "dc-link")
        await pilot.press("x")
        await until(pilot, "HTML report")
        await pilot.press("enter")
        await until(pilot, "Written:")
        assert (tmp_path / f"{synth.RUN}.html").exists()
        await pilot.press("end", "up", "enter")
        shown = " ".join((await until(pilot, "ssh is off")).split())  # the command wraps where it likes
        assert "scp admin@10.7.0.1:" in shown


async def test_a_stick_is_asked_about_before_it_is_written_to(tmp_path: Path) -> None:
    from linkladder.app.screens.export import ExportScreen
    from linkladder.host.switches import Stick

    backend = synth.settled()
    backend.export_folder = str(tmp_path)
    backend.plugged = (Stick("da1s1", 31_456_231_424, "SanDisk Ultra"), Stick("da2", 4_026_531_840, "Kingston"))
    app = LadderApp(backend)
    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "Quit")
        app.push_screen(ExportScreen(synth.RUN))
        await until(pilot, "USB stick")
        await pilot.press("right", "down", "enter")  # JSON
        await until(pilot, "SanDisk Ultra, 29.3 GB (da1s1)")
        await pilot.press("right", "enter")
        await until(pilot, "Kingston")
        await pilot.press("enter")
        await until(pilot, "Written to the stick.")
        assert backend.system_calls == [("to_stick", "da2")]
        assert (tmp_path / f"{synth.RUN}.json").exists()


@pytest.mark.parametrize(
    ("tier", "size"), [(Glyphs.CP437, (80, 25)), (Glyphs.ASCII, (80, 25)), (Glyphs.ASCII, (80, 44))]
)
async def test_a_download_link_is_shown_fetched_and_told(tmp_path: Path, tier: Glyphs, size: tuple[int, int]) -> None:
    """Its code is drawn in what the terminal has, or the screen says how much room it would need."""
    import asyncio
    import re
    import urllib.request
    from dataclasses import replace

    from linkladder.app.screens.export import ExportScreen

    backend = synth.settled()
    backend.export_folder = str(tmp_path)
    backend.host = replace(synth.HOST, nics=())  # nobody but us: 127.0.0.1
    app = LadderApp(backend, tier)
    async with app.run_test(size=size) as pilot:
        await until(pilot, "Quit")
        app.push_screen(ExportScreen(synth.RUN))
        await until(pilot, "Download link")
        await pilot.press("end", "enter")
        text = await until(pilot, "Good for one download, 9 min")
        url = re.search(r"http://127\.0\.0\.1:\d+/[a-z2-9]{4}(-[a-z2-9]{4}){3}", text)
        assert url
        if tier is Glyphs.CP437:
            assert len(re.findall("[█▀▄]", text)) > 200
        elif size[1] > 40:
            reversed_cells = sum(len(s.text) for strip in app.screen._compositor.render_strips()
                                 for s in strip if s.style and s.style.reverse)  # fmt: skip
            assert reversed_cells > 1000 and text.isascii()
        else:
            assert re.search(r"needs a terminal of \d\d lines", text)
        with await asyncio.to_thread(urllib.request.urlopen, url[0], timeout=5) as answer:
            assert b"replayed run" in answer.read()
        await until(pilot, "It was downloaded")
        await until(pilot, "On this disk")
