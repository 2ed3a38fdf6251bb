"""Of several pairs no contract says what they carry together, unless it names what they share: no share of one pair's
ceiling is told of their sum, nor anything needed of it, and a path that carries nothing takes nothing from the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

import several
from linkladder import report
from linkladder.judge import judge_document
from linkladder.model import (
    Company,
    CpuUse,
    Direction,
    Document,
    EndRecord,
    ExperimentResult,
    Fault,
    Leg,
    Outcome,
    Rung,
    RungName,
    RungResult,
    TrialResult,
)
from linkladder.report import tables
from linkladder.verdicts import Cause, RungJudgement, Verdict
from paths_documents import CARDS, PAIRS, of_paths

MESH = several.document(4)
SHARED = 400e6
BUSY = CpuUse(percent=99.0, busiest=99.0, cores_used=1.0)


def with_deal(document: Document, **changes: float) -> Document:
    plan = document.run.plan
    plan = replace(plan, contract=replace(plan.contract, **changes))  # type: ignore[arg-type]
    return replace(document, run=replace(document.run, plan=plan))


def with_experiments(document: Document, made: tuple[ExperimentResult, ...]) -> Document:
    rung = replace(document.rungs[-1], experiments=made)
    asked = Rung(rung.name, rung.paths, tuple(e.parameters for e in made))
    plan = replace(document.run.plan, rungs=(*document.run.plan.rungs[:-1], asked))
    return replace(document, run=replace(document.run, plan=plan), rungs=(*document.rungs[:-1], rung))


def silent(document: Document, which: Callable[[Leg], bool]) -> Document:
    """The same, but nothing came over these paths of the link."""
    nothing = Outcome(False, Fault.PATH, "nothing arrived")

    def lost(t: TrialResult) -> TrialResult:
        return replace(t, legs=tuple(replace(g, outcome=nothing) if which(g) else g for g in t.legs))

    link = document.rungs[-1]
    made = tuple(replace(e, trials=tuple(map(lost, e.trials))) for e in link.experiments)
    return with_experiments(document, made)


def link(document: Document) -> RungJudgement:
    return judge_document(document).rungs[-1]


def test_no_setting_of_a_good_mesh_is_called_impossible() -> None:
    """The sum of six pairs stood in the carrier's page as 85 % of what one is sold as, or as 187 % and IMPOSSIBLE."""
    document = several.document(4)
    made = tuple(_faster(e) for e in document.rungs[-1].experiments)
    seen = link(document := with_experiments(document, made))
    assert seen.by_direction == {"forward": 6 * 90e6, "reverse": 6 * 90e6} and seen.ceiling is None
    together = [j for j in seen.experiments if "-all-" in j.experiment]
    assert len(together) == 2 and not [j for j in together if j.counts or j.percent_of_ceiling or j.ceiling_bps]
    assert {j.judgement.verdict for j in seen.experiments} == {Verdict.PASS, Verdict.FAIL}, "beta to gamma is slow"
    page = report.html(document)
    assert not re.search(r"(IMPOSSIBLE|% of 191 Mb/s)</", page) and "540 Mb/s" in page
    rows = tables.csv_trials(document).splitlines()
    share = rows[0].split(",").index("forward_percent_of_ceiling")
    assert [row.split(",")[share] for row in rows if "-forward-all-" in row] == [""]


def _faster(e: ExperimentResult) -> ExperimentResult:
    if e.parameters.company is not Company.ALL or "tcp" not in e.parameters.id:
        return e
    return several.result(tuple(range(6)), [90e6] * 6, e.parameters.direction, Company.ALL)


def test_what_is_shared_is_what_their_sum_is_held_against() -> None:
    seen = link(with_deal(of_paths(PAIRS, 191e6, 191e6, MESH.run.plan.contract), shared_bps=SHARED))
    assert seen.verdict is Verdict.PASS and seen.ceiling is not None
    together = [j for j in seen.experiments if "all" in j.experiment]
    assert [round(j.percent_of_ceiling or 0) for j in together] == [100, 100] and all(j.counts for j in together)


@pytest.mark.parametrize("paths", [CARDS, PAIRS], ids=["cards", "pairs"])
def test_every_throughput_setting_is_shown_with_what_its_own_paths_are_sold_as(paths: tuple[object, ...]) -> None:
    document = of_paths(paths, 190e6, 95e6, MESH.run.plan.contract)  # type: ignore[arg-type]
    alone = [j for j in link(document).experiments if "all" not in j.experiment]
    assert len(alone) == 4 and all(95 < (j.percent_of_ceiling or 0) < 101 for j in alone)
    told = tables.openmetrics(document)
    assert all(f'experiment="{j.experiment}",direction="{j.direction}",stat="median"' in told for j in alone)


def test_what_the_others_carry_is_told_where_one_path_carries_nothing() -> None:
    """It stood as 0 b/s in the ladder's picture, beside a sentence with the right figure."""
    document = silent(of_paths(PAIRS, 191e6, 191e6, MESH.run.plan.contract), lambda g: g.path == 1)
    seen = link(document)
    assert seen.verdict is Verdict.FAIL and seen.by_direction["forward"] == pytest.approx(191e6, rel=1e-2)
    assert "went 191 Mb/s a to b and 191 Mb/s b to a" in seen.sentence
    assert '"median"} 0\n' not in tables.openmetrics(with_experiments(document, _of_all(document.rungs[-1])))
    whole = judge_document(document)
    assert not [text for text in whole.diagnosis if "needed is dc-link" in text], "nothing is needed of their sum"


def test_of_two_cards_the_one_that_carries_nothing_is_told_and_what_the_other_carries() -> None:
    """It failed as 0 b/s that carried nothing, of which the link itself was the limit with 99 % of the ceiling."""
    document = silent(of_paths(CARDS, 190e6, 190e6, MESH.run.plan.contract), lambda g: g.path == 1)
    seen = link(document)
    assert (seen.verdict, seen.judgement.cause) == (Verdict.FAIL, Cause.SILENCE)
    assert "dc-link carried 190 Mb/s near to far (99.4 % of the ceiling)" in seen.sentence
    assert "in 3 of 3 trials one of the paths carried nothing or stalled: nothing arrived" in seen.sentence
    assert seen.by_direction == {"forward": pytest.approx(190e6, rel=1e-2), "reverse": pytest.approx(190e6, rel=1e-2)}
    none = link(silent(document, lambda _: True))
    assert none.by_direction == {"forward": 0.0, "reverse": 0.0} and "carried 0 b/s" in none.sentence
    assert "3 of 3 trials carried nothing or stalled" in none.sentence


def _of_all(rung: RungResult) -> tuple[ExperimentResult, ...]:
    return tuple(e for e in rung.experiments if not e.parameters.paths)


def test_a_mesh_that_carries_nothing_was_measured_and_is_drawn() -> None:
    document = silent(of_paths(PAIRS, 191e6, 191e6, MESH.run.plan.contract), lambda _: True)
    seen = link(document)
    assert seen.verdict is Verdict.FAIL and "went 0 b/s a to b and 0 b/s b to a." in seen.sentence
    assert seen.by_direction == {"forward": 0.0, "reverse": 0.0}
    picture = report.html(document).split("<svg", 1)[1].split("</svg>")[0]
    assert "0 b/s all paths, back</text>" in picture


def test_both_ways_at_once_alone_do_not_make_a_mesh_impossible() -> None:
    both = [_both_ways(e) for e in MESH.rungs[-1].experiments if e.parameters.direction is Direction.FORWARD]
    for made in (both[1:], both[-1:]):  # each alone and all, and all
        seen = link(with_experiments(MESH, tuple(made)))
        assert (seen.verdict, seen.judgement.cause) == (Verdict.INCOMPLETE, Cause.NOTHING_MEASURED)
        assert "No TCP throughput, one way at a time, was measured on dc-link." in seen.sentence
        assert seen.by_direction and not [j for j in seen.experiments if j.judgement.verdict is Verdict.IMPOSSIBLE]


def _both_ways(e: ExperimentResult, cpu: CpuUse | None = None) -> ExperimentResult:
    def both(t: TrialResult) -> TrialResult:
        legs = tuple(
            replace(g, outcome=replace(g.outcome, goodput_bps=2 * bps, by_direction={"forward": bps, "reverse": bps}))
            for g in t.legs
            for bps in (g.outcome.goodput_bps or 60e6,)
        )
        legs = tuple(replace(g, near=0, far=1) for g in legs)
        return replace(t, legs=legs, ends=(EndRecord("near", cpu=cpu), EndRecord("beta", cpu=cpu)))

    p = replace(e.parameters, id=f"{e.parameters.id}-both", direction=Direction.DUPLEX, streams=16)
    return ExperimentResult(p, tuple(map(both, e.trials)))


def test_nothing_is_asked_of_all_pairs_at_once_where_an_end_was_busy_either() -> None:
    """272 Mb/s were, of three pairs at once, of whose ends each has one card of 100 Mb/s."""
    made = MESH.rungs[-1].experiments
    more = _both_ways(next(e for e in made if "forward-all" in e.parameters.id), BUSY)
    seen = link(with_experiments(MESH, (*made, more)))
    assert not [text for text in (*seen.judgement.reasons, *seen.judgement.findings) if "of both at once" in text]


def test_charts_of_all_paths_come_first_and_the_matrix_has_the_others() -> None:
    document = of_paths(PAIRS, 191e6, 191e6, MESH.run.plan.contract)
    page = report.html(with_deal(document, shared_bps=SHARED))
    assert page.index("Charts of the other settings (4)") > page.index("all paths at once")
    assert RungName.DC_LINK in page


def test_pairs_within_a_site_make_no_sum_impossible_nor_faster_than_ideal() -> None:
    """170 % of what the sites share stood as what limits, though gamma and near do not cross it."""
    within = (*PAIRS, replace(PAIRS[0], peer="delta", remote="10.0.0.9", peer_site="a"))
    document = with_deal(of_paths(within, 191e6, 150e6, MESH.run.plan.contract), shared_bps=SHARED)
    seen = link(document)
    assert seen.by_direction["forward"] > SHARED and seen.limiter is None and seen.rfc6349 == ()
    assert "so the link is not what was entered" not in report.html(document)


def test_beside_pings_of_all_paths_the_neighbours_rates_are_those_of_the_ladder() -> None:
    """Pings over all paths made every load by the side of one other path no load of the rung: it had no bars at all."""
    document = with_deal(of_paths(PAIRS, 191e6, 191e6, MESH.run.plan.contract), shared_bps=SHARED)
    echo = MESH.rungs[-1].experiments[0]
    pings = replace(echo, trials=tuple(replace(t, legs=t.legs[:2]) for t in echo.trials))
    beside = tuple(
        e
        if e.parameters.paths
        else replace(e, parameters=replace(e.parameters, company=Company.NEIGHBOURS, paths=(0, 1)))
        for e in document.rungs[-1].experiments
    )
    seen = link(with_experiments(document, (pings, *beside)))
    assert {way: round(bps / 1e6) for way, bps in seen.by_direction.items()} == {"forward": 382, "reverse": 382}
    assert len(seen.experiments) == 6 and seen.best_bps
    alone = tuple(e for e in beside if len(e.parameters.paths) == 1)
    assert link(with_experiments(document, (pings, *alone))).by_direction == {}, "none of them is that of all paths"
