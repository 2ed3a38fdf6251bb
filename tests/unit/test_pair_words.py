"""With more than two ends everything that people read calls a pair by its ends, and no path by its number."""

from __future__ import annotations

import csv
import json
import lzma
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import cli, formats, report
from linkladder.app.screens.results import rung_page
from linkladder.judge import compare, judge_document
from linkladder.judge.contradictions import contradiction
from linkladder.judge.trial_figures import doubt
from linkladder.model import (
    Company,
    Direction,
    Document,
    Experiment,
    ExperimentResult,
    Flow,
    Leg,
    Outcome,
    Protocol,
    Role,
    TrialResult,
)
from linkladder.phrases import arm, beside, change, loaded, trial, way
from linkladder.phrases.arms import one_way
from linkladder.phrases.ways import end_name
from linkladder.verdicts import Change
from several import document as many
from several import result

KEPT = Path(__file__).parents[1] / "documents"
NAMELESS = re.compile(r"near to far|far to near|paths? \d")


def kept(name: str) -> str:
    return lzma.decompress((KEPT / f"{name}.json.xz").read_bytes()).decode()


@pytest.fixture(scope="module")
def mesh() -> Document:
    """A real run of the plan mesh over four ends."""
    return formats.document(json.loads(kept("v2/mesh")))


def people_read(page: str) -> str:
    """The words of a page, of its pictures too, without its data."""
    bare = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join([re.sub(r"<[^>]+>", " ", bare), *re.findall(r'aria-label="([^"]*)"', bare)])


@pytest.mark.parametrize("command", ["show", "judge"])
def test_a_shell_is_told_of_pairs(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mesh.json"
    file.write_text(kept("v2/mesh"))
    assert cli.main([command, str(file)]) == 0
    told = capsys.readouterr().out
    assert not NAMELESS.findall(told)
    assert "gamma to delta" in told
    assert not re.search(r" far \d", told), "an end is called by its own name"


def test_the_page_tells_of_pairs(mesh: Document) -> None:
    told = people_read(report.html(mesh))
    assert not NAMELESS.findall(told)
    assert "TCP, 1 stream, default window, beta to gamma, repeat 1" in told


def test_the_results_screen_tells_of_pairs(mesh: Document) -> None:
    judged = judge_document(mesh)
    told = rung_page(mesh.rungs[-1], judged.rungs[-1], 78).plain
    assert not NAMELESS.findall(told)
    assert "\nbeta to gamma:\n1       default" in told and "\nnear to beta and gamma to delta:\n" in told
    assert told.index("\ngamma to delta:") < told.index("\nnear to beta and gamma to delta:"), "each alone comes first"
    assert "CPU: first/second end" in told


def test_a_failed_trial_is_told_with_its_pair(mesh: Document) -> None:
    failed = Outcome(False, reason="it broke")
    lost = replace(mesh.rungs[-1].experiments[3].trials[0], legs=())
    legs = tuple(replace(leg, outcome=failed) for leg in mesh.rungs[-1].experiments[3].trials[0].legs)
    first = replace(mesh.rungs[-1].experiments[3], trials=(replace(lost, legs=legs),))
    rung = replace(mesh.rungs[-1], experiments=(first,))
    assert "TCP, 1 stream, default window, beta to gamma, repeat 1: it broke" in rung_page(rung, None, 78).plain


def test_the_table_of_trials_has_the_pairs(mesh: Document) -> None:
    head, *rows = (line.split(",") for line in report.csv_trials(mesh).splitlines())
    at = head.index("pairs")
    assert [row[at] for row in rows][3:7] == [
        "beta to gamma",
        "beta to delta",
        "gamma to delta",
        "near to beta and gamma to delta",
    ]
    two_ends = report.csv_trials(formats.document(json.loads(kept("v2/two-paths")))).splitlines()
    assert {row["pairs"] for row in csv.DictReader(two_ends)} == {""}


def test_two_runs_are_compared_by_pairs(mesh: Document) -> None:
    found = compare(mesh, mesh)
    assert not [d.sentence for d in found.differences if NAMELESS.search(d.sentence)]
    assert "beta to gamma" in {d.pair for d in found.differences}
    assert {d.experiment for d in found.differences} == {"TCP, 1 stream, default window"}
    page = people_read(report.html(mesh, comparison=found))
    assert not NAMELESS.findall(page)


def backwards(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    return tuple(replace(f, direction=Direction.REVERSE) for f in flows)


@pytest.mark.parametrize(
    "forged,clause",
    [
        (lambda o: replace(o, goodput_bps=2e9, by_direction={"forward": 2e9}), "2.00 Gb/s beta to gamma are claimed"),
        (lambda o: replace(o, by_direction={"reverse": 1e6}), "it was measured gamma to beta, which was not asked for"),
        (lambda o: replace(o, flows=2 * o.flows), "2 flows beta to gamma, 1 were asked for"),
        (lambda o: replace(o, flows=backwards(o.flows)), "no flow beta to gamma is there, and others are"),
    ],
)
def test_a_contradiction_names_the_pair(mesh: Document, forged: Callable[[Outcome], Outcome], clause: str) -> None:
    link = mesh.rungs[-1]
    asked = next(e for e in link.experiments if e.parameters.paths == (3,))
    (trial,) = asked.trials
    (leg,) = (leg for leg in trial.legs if leg.role is Role.LOAD)
    other = tuple(replace(one, outcome=forged(one.outcome)) if one is leg else one for one in trial.legs)
    found = contradiction(replace(trial, legs=other), asked.parameters, link.paths)
    said = doubt(replace(trial, legs=other), asked.parameters, link, mesh)
    assert clause in f"{found} {said}"
    assert not NAMELESS.search(f"{found} {said}")


def test_the_way_back_names_the_pair_the_other_way_round() -> None:
    paths = many(3).rungs[0].paths
    back = result((2,), [1e9], Direction.REVERSE, Company.ALONE).parameters
    assert arm(back, paths=paths) == "TCP, 1 stream, default window, gamma to beta"
    assert trial(back, 1, paths=paths).endswith("gamma to beta, repeat 2")
    every = replace(back, paths=())
    assert (loaded(every, paths), way(Direction.REVERSE, paths)) == ("all paths at once, back", "all paths, back")
    both = replace(back, direction=Direction.DUPLEX)
    assert loaded(both, paths) == "beta to gamma, both ways at once"
    assert loaded(both, paths[:1]) == "both ways at once", "two ends need no names"
    assert [end_name(name, back, paths) for name in ("near", "far", "beta")] == ["near", "gamma", "beta"]


def test_a_change_is_told_with_the_pair_that_it_was_tried_on() -> None:
    paths = many(3).rungs[0].paths
    tried = result((2,), [1e9], Direction.REVERSE, Company.ALONE).parameters
    common = beside(tried, tried, paths)
    said = change("MTU 9000", common, Change("b", "a", "reverse", 4), paths)
    assert said.startswith("MTU 9000 (1 stream, beta to gamma), back: ")


def test_what_several_pairs_lost_of_paced_udp_is_told_of_the_pair_once() -> None:
    whole = many(3)
    (rung,) = whole.rungs
    asked = Experiment("udp", protocol=Protocol.UDP, udp_rate_bps=1e8, paths=(0,), company=Company.ALONE)
    lost = Outcome(True, goodput_bps=6e7, by_direction={"forward": 6e7}, datagrams=10_000, lost=4_000)
    udp = ExperimentResult(asked, tuple(TrialResult("u", n, (Leg(lost, path=0),)) for n in range(3)))
    rung = replace(rung, experiments=(*rung.experiments, udp))
    told = judge_document(replace(whole, rungs=(rung,))).rungs[0].judgement
    said = [text for text in (*told.reasons, *told.findings) if text.startswith("UDP near to beta at 100 Mb/s")]
    assert said and not any("(near to beta)" in text for text in said)


def test_a_way_of_both_at_once_is_told_from_that_way_by_itself(mesh: Document) -> None:
    """Two findings of one wording stood below each other, of another trial each."""
    rung = mesh.rungs[-1]
    alone = replace(rung.experiments[3].parameters, direction=Direction.FORWARD)
    both = replace(alone, direction=Direction.DUPLEX)
    said = [one_way(p, Direction.FORWARD, paths=rung.paths) for p in (alone, both)]
    assert said[0] == "TCP, 1 stream, default window, beta to gamma"
    assert said[1] == "TCP, 1 stream, default window, both ways at once, beta to gamma"
