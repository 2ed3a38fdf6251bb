"""Who divides the figures of a comparison gets its percentage: both are of the same pairs, and of the same kind."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import trials
from judge_documents import F, trial
from linkladder import phrases
from linkladder import plan as plans
from linkladder.judge.changes import changes
from linkladder.judge.staircase import landings, staircase
from linkladder.model import Experiment, ExperimentResult, RungName, RungResult, TrialResult
from linkladder.phrases.stairs import row
from linkladder.verdicts import Answer, Measured
from staircases import PATHS

# One stray pair: the medians go from 941 to 989 Mb/s, 5.1 % more, and the mean of the pairs is 3.9 % more.
AS_IT_IS = [941e6, 941e6, 941e6, 941e6, 941e6, 941e6]
CHANGED = [989e6, 989e6, 989e6, 989e6, 989e6, 920e6]
PLAN = """name = "p"
[[experiment]]
rungs = "same-vlan"
repeats = 6
steps = [{settings = [{kind = "mtu", value = 9000}]}]
"""


def measured(without: int = 0) -> RungResult:
    """`without`: so many trials of the changed arm failed."""
    made = []
    for e, rates in zip(plans.read_plan(PLAN).rungs[0].experiments, (AS_IT_IS, CHANGED), strict=True):
        made.append(ExperimentResult(e, tuple(one(e, n, bps, n >= without) for n, bps in enumerate(rates))))
    return RungResult(RungName.SAME_VLAN, PATHS, tuple(made))


def one(e: Experiment, n: int, bps: float, good: bool) -> TrialResult:
    return trials.changed(trial(bps, F, n), flows=(), ok=good or not e.baseline)


def divided(text: str) -> tuple[float, float]:
    """What the two rates of a text make, and what it says, in percent."""
    first, second = (float(found) for found in re.findall(r"([\d.]+) Mb/s", text)[:2])
    (said,) = re.findall(r"([+-][\d.]+) %", text)[:1]
    return 100 * (second / first - 1), float(said)


def test_the_rates_of_a_change_are_those_whose_ratio_is_told() -> None:
    (change,) = changes(measured())
    figure = next(f for f in change.figures if f.measured is Measured.GOODPUT)
    assert figure.ratio is not None and figure.after / figure.before == pytest.approx(figure.ratio)
    surely = replace(change, figures=(replace(figure, answer=Answer.DIFFERS),))
    made, said = divided(phrases.change("MTU 9000", "", surely))
    assert made == pytest.approx(said, abs=0.15)


def test_so_are_those_of_a_staircase() -> None:
    result = measured()
    base, jumbo = landings(result, changes(result))
    assert jumbo.ratio and jumbo.bps / base.bps == pytest.approx(jumbo.ratio) and jumbo.in_pairs is None
    assert jumbo.low <= jumbo.bps <= jumbo.high


def test_a_percentage_of_fewer_pairs_than_the_rates_have_repeats_says_so() -> None:
    result = measured(without=1)
    _, jumbo = landings(result, changes(result))
    assert jumbo.in_pairs == 5
    told = replace(jumbo, answer=Answer.DIFFERS, kept=True)
    assert row(told)[3].endswith(" % in 5 pairs")
    assert " % in 5 pairs)" in phrases.staircase([landings(result, changes(result))[0], told])
    assert "in 5 pairs" not in "".join(staircase(measured(), changes(measured())))
