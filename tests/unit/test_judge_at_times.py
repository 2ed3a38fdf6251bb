"""A setting that reaches the required rate in some of its trials and not in others counts, however good others are."""

from __future__ import annotations

import dataclasses

import pytest

from judge_documents import F, R, document, failed, rung, tcp, trial
from linkladder.judge import judge_document
from linkladder.model import Company, Direction, ExperimentResult, Fault, RungName
from linkladder.verdicts import Cause, DocumentJudgement, Verdict
from test_judge_company import ALONE, CARDS, judged, measured, together


def setting(way: Direction, streams: int, *rates: float) -> ExperimentResult:
    return tcp(way, tuple(trial(mbps * 1e6, way, n) for n, mbps in enumerate(rates)), streams=streams)


def beside_good_ones(other: ExperimentResult) -> DocumentJudgement:
    good = [setting(F, 2, 950, 951), setting(R, 2, 950, 949)]
    below = rung(RungName.SAME_HOST, setting(F, 4, 4000, 4001), setting(R, 4, 4000, 4001))
    return judge_document(document(below, rung(RungName.DC_LINK, *good, other)))


@pytest.mark.parametrize(
    "rates", [(950, 470), (470, 950), (950, 700), (470, 950, 950, 470), (949, 949, 300), (20, 949, 30)]
)
def test_half_of_the_trials_that_reach_the_bar_show_what_the_others_lack(rates: tuple[float, ...]) -> None:
    seen = beside_good_ones(setting(F, 8, *rates))
    assert seen.verdict is Verdict.CANNOT_JUDGE
    assert f"{len(rates)} repeats carried" in seen.sentence


@pytest.mark.parametrize("rates", [(700, 705), (950, 700, 690, 700), (950, 925), (950, 880), (470,)])
def test_a_weaker_setting_takes_nothing_from_a_good_one(rates: tuple[float, ...]) -> None:
    assert beside_good_ones(setting(F, 8, *rates)).verdict is Verdict.PASS


def test_a_trial_that_the_tool_broke_is_not_one_below_the_bar() -> None:
    one = setting(F, 8, 950, 951)
    broken = dataclasses.replace(one, trials=(one.trials[0], failed(Fault.TOOL, n=1)))
    assert beside_good_ones(broken).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [((1.0, 1.0, 0.3), Verdict.CANNOT_JUDGE), ((1.0, 0.5), Verdict.CANNOT_JUDGE), ((0.6, 0.61), Verdict.PASS)],
)
def test_so_does_another_setting_of_a_pair(rates: tuple[float, ...], verdict: Verdict) -> None:
    best = [measured((n,), [ALONE], Company.ALONE) for n in range(2)]
    each = [measured((0,), [share * ALONE * 0.999], Company.ALONE, repeats=1).trials[0] for share in rates]
    p = dataclasses.replace(best[0].parameters, id="eight streams", streams=8)
    other = ExperimentResult(p, tuple(dataclasses.replace(t, id=f"o{n}", repeat=n) for n, t in enumerate(each)))
    seen = judged(CARDS, *best, other, together(ALONE, ALONE))
    first, second = (cell.judgement for cell in seen.cells)
    assert first.verdict is verdict and second.verdict is Verdict.PASS
    if verdict is Verdict.CANNOT_JUDGE:
        assert first.cause is Cause.WORST_TRIAL and "with 8 streams" in first.sentence
