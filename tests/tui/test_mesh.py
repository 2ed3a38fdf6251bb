"""The Mesh page: eight ends on a console of 80 x 25, a cursor that explains, figures to choose from, and live."""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest
from textual.pilot import Pilot

import synth
from helpers import Compare, seen, settled, until
from linkladder import events, formats
from linkladder.app.main import LadderApp
from linkladder.app.screens.mesh import MeshScreen
from linkladder.app.widgets.ladder_text import figures, trial_line
from linkladder.app.widgets.mesh_grid import explained
from linkladder.model import Direction, Experiment, Interval, Path, Protocol, RungName
from linkladder.phrases import company as words
from linkladder.run.progress import Progress, TrialView
from linkladder.verdicts import Cell, CompanyJudgement, Judgement, OwnLimit, Sharing, Verdict
from replay_backend import ReplayBackend
from several import NAMES, document

CONSOLE = (80, 25)
BUSY = {"near": 10, "beta": 41, "gamma": 93, "delta": 52}  # percent of each end's cores


def backend(ends: int = 8) -> ReplayBackend:
    made = synth.settled()
    made.stored = {synth.RUN: (replace(synth.summary(), plan="mesh"), document(ends))}
    return made


async def test_eight_by_eight_fit_and_the_cursor_explains() -> None:
    app = LadderApp(backend())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Next step")
        app.open("mesh")
        text = await until(pilot, "FAIL (provisional): beta to gamma carries too little alone.")
        rows = [line for line in text.splitlines() if line.strip(" >").startswith(NAMES) and "M+" in line]
        assert len(rows) == 8 and all(len(line) <= 80 for line in rows), text
        assert all(name in text for name in NAMES) and sum(row.count("191M+") for row in rows) == 55
        await until(pilot, "near sends over 7 paths: alone 191 Mb/s each, with all 162 Mb/s in sum")
        await pilot.press("down", "right", "l", "right")  # beta to gamma
        told = await until(pilot, "beta to gamma: 120 Mb/s alone; 27.0 Mb/s with all (78 % taken by the others)")
        assert "[120M!]" in told and "FAIL (provisional): carries 120 Mb/s alone, and 186 Mb/s is needed" in told
        assert "round trip" in told
        await pilot.press("v")
        assert "[27.0M!]" in (await until(pilot, "with all +"))
        await pilot.press("v", "v")
        assert "0.2" in (await until(pilot, "round trip, ms +"))
        await pilot.press("k", "escape")
        await until(pilot, "Next step")


async def test_a_lost_end_is_told_where_it_matters() -> None:
    app = LadderApp(backend())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, "Next step")
        app.open("mesh", synth.RUN)
        text = await until(
            pilot, "epsilon to theta, zeta to theta and 1 more are not in the sum: theta is out of reach"
        )
        assert "theta" in text


async def test_results_lead_to_it_and_without_several_paths_it_says_what_to_do() -> None:
    app = LadderApp(backend(4))
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Next step")
        app.open("results", synth.RUN)
        assert all(len(line) <= 80 for line in (await until(pilot, "m Mesh")).splitlines())
        await pilot.press("m")
        assert "gamma" in (await until(pilot, "from / to"))
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Next step")
        app.open("mesh")
        await until(pilot, 'the plan "mesh" then measures every pair alone')
        assert "from / to" not in seen(app)


async def test_a_run_over_several_paths_leads_to_it() -> None:
    made = backend(4)
    plan = document(4).run.plan
    rung = plan.rungs[0]
    made.entries = [
        (0.0, events.RunStarted(synth.RUN, plan, 60.0, 1)),
        (0.0, events.RungStarted(rung.name, 60.0, 1, 0)),
        (0.0, events.TrialStarted(rung.name, rung.experiments[0].id, 0, 0, 20.0)),
    ]
    app = LadderApp(made)
    async with app.run_test(size=CONSOLE) as pilot:
        app.climb(plan)
        await until(pilot, "m Mesh")
        await pilot.press("m")
        await until(pilot, "from / to")


async def test_every_pair_has_its_place_before_anything_is_measured_and_what_runs_is_named() -> None:
    whole = document(4)
    (rung,) = whole.rungs
    bare = replace(rung, experiments=tuple(replace(e, trials=()) for e in rung.experiments))
    made = synth.settled()
    made.stored = {synth.RUN: (replace(synth.summary(), plan="mesh"), replace(whole, rungs=(bare,)))}
    plan, number = whole.run.plan, next(n for n, path in enumerate(rung.paths) if path.origin)
    alone = next(e for r in plan.rungs for e in r.experiments if e.paths == (number,))
    made.entries = [
        (0.0, events.RunStarted(synth.RUN, plan, 60.0, 1)),
        (0.0, events.RungStarted(rung.name, 60.0, 1, 0)),
        (0.0, events.TrialStarted(rung.name, alone.id, 0, 0, 20.0)),
        (0.0, events.IntervalSeen(Interval(0.0, 1.0, 25_000_000, alone.direction))),
    ]
    app = LadderApp(made)
    async with app.run_test(size=CONSOLE) as pilot:
        app.climb(plan)
        where = f"{rung.paths[number].origin} to {rung.paths[number].peer}"
        told = await until(pilot, f"{where}: TCP")
        assert "near to far" not in told and f"path {number + 1} alone" not in told
        shown = app.progress
        assert shown and shown.words(rung.name, replace(alone, paths=())).startswith("all paths at once: TCP")
        await until(pilot, f"200 Mb/s to {rung.paths[number].peer} 1 flow")
        await pilot.press("m")
        text = await until(pilot, "Nothing is measured yet.")
        rows = [line for line in text.splitlines() if line.strip(" >").startswith(NAMES[:4]) and "·" in line]
        assert len(rows) == 4 and sum(row.count("*") for row in rows) == 1, text
        assert "Of near nothing was measured yet." in text
        await pilot.press("right", "right")
        await until(pilot, "near to beta was not measured yet.")


def test_who_receives_is_named_in_a_mesh_and_far_or_near_elsewhere() -> None:
    mesh = (Path(peer="beta"), Path(peer="gamma", origin="beta"), Path(peer="delta", origin="gamma"))
    ways = Direction.FORWARD, Direction.REVERSE
    assert [words.receivers(mesh, (1,), way) for way in ways] == ["gamma", "beta"]
    assert [words.receivers(mesh, (0, 1), way) for way in ways] == ["beta and gamma", "near and beta"]
    assert [words.receivers(mesh, (), way) for way in ways] == ["3 ends", "3 ends"]
    cards = (Path(peer="beta"), Path(peer="beta"))
    assert [words.receivers(cards, (), way) for way in ways] == ["far", "near"]


LONG = tuple(f"{city}-datacentre-{one}" for city in ("frankfurt", "amsterdam") for one in ("a1", "a2", "b1", "b2"))


def test_a_row_that_is_a_path_tells_of_both_its_ways_and_adds_nothing_up() -> None:
    good = Judgement(Verdict.PASS, False, "it carries enough")
    cells = tuple(
        Cell(n, *ends, way, good, 1e8 * (n + 1), together_bps=9e7)
        for n in range(2)
        for way, ends in (("forward", ("near", "beta")), ("reverse", ("beta", "near")))
    )
    seen = CompanyJudgement(cells, good)
    told = explained(seen, words.grid(cells), (1, -1))
    assert [one.partition(";")[0] for one in told] == ["near to beta: 200 Mb/s alone", "beta to near: 200 Mb/s alone"]
    assert "sum" not in " ".join(told)


def test_of_several_paths_the_flows_are_those_of_each() -> None:
    whole = TrialView(RungName.DC_LINK, Experiment("x"), 0, 0, 10.0, 0.0)
    assert "1 flow" in figures(whole, 80).plain and "each" not in figures(whole, 80).plain
    whole.paths = {(Direction.FORWARD, n): 1e8 for n in range(2)}
    assert "1 flow each" in figures(whole, 80).plain


def test_what_is_measured_fits_into_its_line_with_the_repeat() -> None:
    asked = Experiment("x", repeats=5, paths=(1,))
    one = TrialView(RungName.DC_LINK, asked, 1, 0, 10.0, 0.0)
    setting = "dc-link: TCP, 1 stream, default window, path 2 alone, near to far"
    assert trial_line(Progress(), one, 100) == f"{setting}, repeat 2 of 5"
    assert trial_line(Progress(), one, 78) == f"{setting} (2/5)"
    narrow = trial_line(Progress(), one, 60)
    assert len(narrow) == 60 and narrow.endswith("to far (2/5)") and "~" in narrow
    one.experiment = replace(asked, repeats=1)
    assert trial_line(Progress(), one, 78) == setting


def test_shortened_names_are_never_alike() -> None:
    assert words.shortened(("near", "frankfurt-a1", "frankfurt-b1"), 7) == ["near", "fra~-a1", "fra~-b1"]
    assert words.shortened(("frankfurt-a1", "freiburg-xa1", "frankfort-a1"), 7) == ["fra~-#1", "fre~xa1", "fra~-#3"]
    assert words.shortened(("fits-it",), 7) == ["fits-it"]


async def test_eight_ends_with_long_names_are_told_apart_on_a_console() -> None:
    made = backend()
    whole = document(8)
    names = dict(zip(NAMES, LONG, strict=True)) | {"near": "near"}
    rung = whole.rungs[0]
    paths = tuple(replace(p, peer=names[p.peer], origin=names.get(p.origin, "")) for p in rung.paths)
    made.stored = {synth.RUN: (synth.summary(), replace(whole, rungs=(replace(rung, paths=paths),)))}
    app = LadderApp(made)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Next step")
        app.open("mesh", synth.RUN)
        head, *rows = next(
            text.splitlines()[n:] for text in [await until(pilot, "from / to")]
            for n, line in enumerate(text.splitlines()) if "from / to" in line
        )  # fmt: skip
        columns, begins = head.split()[3:], [row.split()[0].lstrip(">") or row.split()[1] for row in rows[:8]]
        assert len(set(columns)) == 8 == len(set(begins)), (columns, begins)
        await pilot.press("down", "right", "l", "right")
        await until(pilot, f"{names['beta']} to {names['gamma']}: 120 Mb/s alone")


async def test_of_several_other_ends_the_busiest_is_shown_while_they_are_loaded() -> None:
    made = backend(4)
    plan = document(4).run.plan
    name = plan.rungs[0].name
    tcp = next(e for e in plan.rungs[0].experiments if e.protocol is Protocol.TCP and len(e.paths) != 1)
    made.entries = [
        (0.0, events.RunStarted(synth.RUN, plan, 60.0, 1)),
        (0.0, events.RungStarted(name, 60.0, 1, 0)),
        (0.0, events.TrialStarted(name, tcp.id, 0, 0, 20.0)),
        *((1.0, events.Sampled(end, synth.sample(1, busy, 1 << 30))) for end, busy in BUSY.items()),
    ]
    app = LadderApp(made)
    async with app.run_test(size=CONSOLE) as pilot:
        app.climb(plan)
        text = await until(pilot, "gamma 3.8 of 4 cores busy")
        assert "far, beta" not in text


async def test_of_a_pair_both_ends_are_shown_by_name_and_what_its_sender_sent_again() -> None:
    made = backend(4)
    plan = document(4).run.plan
    (rung, *_) = plan.rungs
    pairs = [n for n, path in enumerate(rung.paths) if (path.origin, path.peer) == ("beta", "gamma")]
    alone = next(e for e in rung.experiments if e.paths in [(n,) for n in pairs] and e.protocol is Protocol.TCP)
    resent = {"near": 0, "beta": 7, "gamma": 0, "delta": 5}
    made.entries = [
        (0.0, events.RunStarted(synth.RUN, plan, 60.0, 1)),
        (0.0, events.RungStarted(rung.name, 60.0, 1, 0)),
        (0.0, events.TrialStarted(rung.name, alone.id, 0, 0, 20.0)),
        *(
            (1.0, events.Sampled(end, replace(synth.sample(1, busy, 1 << 30), retransmits=resent[end])))
            for end, busy in BUSY.items()
        ),
    ]
    app = LadderApp(made)
    async with app.run_test(size=CONSOLE) as pilot:
        app.climb(plan)
        text = await until(pilot, "beta 1.7 of 4 cores busy")
        assert re.search(r"beta +1\.7 of 4 .* gamma +3\.8 of 4 ", text), text
        assert not re.search(r"near +0\.4", text)
        assert "retransmits 7" in text


def test_ends_that_only_this_one_loads_are_named_too() -> None:
    star = (Path(peer="beta"), Path(peer="gamma"))
    ways = Direction.FORWARD, Direction.REVERSE
    assert [words.receivers(star, (1,), way) for way in ways] == ["gamma", "near"]


async def test_the_only_other_end_of_a_trial_is_shown_by_its_name_though_its_samples_say_far() -> None:
    made = backend(4)
    plan = document(4).run.plan
    (rung, *_) = plan.rungs
    (number,) = [n for n, path in enumerate(rung.paths) if (path.origin, path.peer) == ("", "beta")]
    alone = next(e for e in rung.experiments if e.paths == (number,) and e.direction is Direction.FORWARD)
    made.entries = [
        (0.0, events.RunStarted(synth.RUN, plan, 60.0, 1)),
        (0.0, events.RungStarted(rung.name, 60.0, 1, 0)),
        (0.0, events.TrialStarted(rung.name, alone.id, 0, 0, 20.0)),
        *((1.0, events.Sampled(end, synth.sample(1, 41, 1 << 30))) for end in ("near", "far")),
    ]
    app = LadderApp(made)
    async with app.run_test(size=CONSOLE) as pilot:
        app.climb(plan)
        await until(pilot, "beta 1.7 of 4 cores busy")


def test_one_rate_is_no_range() -> None:
    good = Judgement(Verdict.PASS, False, "it carries enough")
    said = words.row("near", [Cell(0, "near", "beta", "forward", good, 956e6)])
    assert said == "near sends over 1 path: alone 956 Mb/s, 1 PASS."


async def test_a_run_over_one_path_offers_none() -> None:
    app = LadderApp(synth.settled())
    async with app.run_test(size=CONSOLE) as pilot:
        app.climb(synth.the_plan())
        await until(pilot, "c Commands")
        assert "Mesh" not in seen(app)
        app.open("results", synth.RUN)
        await until(pilot, "Export")
        assert "Mesh" not in seen(app)


@pytest.mark.parametrize("size", [CONSOLE])
def test_mesh_picture(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def ready(pilot: Pilot[Any]) -> None:
        await until(pilot, "Quit")
        pilot.app.push_screen(MeshScreen(synth.RUN))
        await until(pilot, "from / to")
        await pilot.press("down", "right", "right", "right")
        await until(pilot, "[120M!]")
        await settled(pilot)

    assert snap_compare(LadderApp(backend()), terminal_size=size, run_before=ready)


def test_what_is_told_of_a_row_is_known_by_the_end_and_its_paths_not_by_how_a_sentence_begins() -> None:
    good = Judgement(Verdict.PASS, False, "fine")
    cells = tuple(Cell(n, "beta", to, "forward", good, 1e8, together_bps=5e7) for n, to in enumerate(("near", "gamma")))
    seen = CompanyJudgement(
        cells,
        good,
        own_limits=(
            OwnLimit("beta", True, "forward", 1e8, "So much and no more is sent."),
            OwnLimit("gamma", False, "forward", 1e8, "beta is not meant."),
        ),
        sharing=(Sharing((1, 2), "forward", 1e8, "These share."), Sharing((1, 2), "reverse", 1e8, "Those share.")),
        findings=("beta begins a sentence",),
    )
    grid = words.grid(cells)
    told = explained(seen, grid, (grid.rows.index("beta"), -1))
    assert told[1:] == ["So much and no more is sent.", "These share."]


async def test_the_mesh_says_no_better_verdict_than_the_rung_has() -> None:
    """Of a real run over two cards, whose generator was too weak: that all paths carried something is no PASS."""
    kept = FilePath(__file__).parents[1] / "documents/v2/two-paths.json.xz"
    whole = formats.document(json.loads(lzma.decompress(kept.read_bytes())))
    made = synth.settled()
    made.stored = {synth.RUN: (replace(synth.summary(), plan="cards"), whole)}
    app = LadderApp(made)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Next step")
        app.open("mesh")
        text = await until(pilot, "all paths at once carry 172 Mb/s near to far")
        assert "CANNOT JUDGE (provisional): all paths at once" in text and "PASS (provisional): all" not in text
