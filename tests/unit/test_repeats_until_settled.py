"""Repeats that go on until the verdict is settled: how often that is wrong, when it ends, and how the plan grows."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest

from judge_documents import F, document, failed, rung, tcp, trial
from linkladder import judge, plan
from linkladder.engine.growth import one_more
from linkladder.judge.interim_looks import MOST_LOOKS, PER_LOOK, confidence
from linkladder.judge.student import inside
from linkladder.model import Contract, Document, Experiment, Fault, Plan, Rung, RungName
from linkladder.verdicts import Verdict

BAR = 0.97 * judge.ceiling(Contract(port_bps=10e9, rate_bps=1e9)).bps
DRAWS = 8_000
ERROR = 3 * (0.05 * 0.95 / DRAWS) ** 0.5  # three standard errors of so many draws


@pytest.fixture(scope="module")
def surest() -> list[list[float]]:
    """Of each draw the surest look after 2, 3, ... repeats so far, at what is not so."""
    dice = random.Random("looks")
    return [surest_so_far([dice.gauss(0, 1) for _ in range(MOST_LOOKS)]) for _ in range(DRAWS)]


def surest_so_far(values: list[float]) -> list[float]:
    """`confidence` at which an interval over the first 2, 3, ... would just exclude nought, the highest until then."""
    found: list[float] = []
    total, squares = values[0], values[0] ** 2
    for count, value in enumerate(values[1:], 2):
        total, squares = total + value, squares + value**2
        deviation = ((squares - total**2 / count) / (count - 1)) ** 0.5
        found.append(inside(abs(total) / count / deviation * count**0.5, count - 1))
    return list(itertools.accumulate(found, max))


@pytest.mark.parametrize("bound", range(2, MOST_LOOKS + 1))
def test_all_looks_together_are_wrong_once_in_twenty(bound: int, surest: list[list[float]]) -> None:
    sure = confidence(Experiment("e", repeats=2, at_most=bound))
    assert sure == PER_LOOK[bound]
    wrong = sum(looks[bound - 2] > sure for looks in surest) / DRAWS
    assert wrong == pytest.approx(0.05, abs=ERROR)


def test_looks_at_95_percent_each_would_be_wrong_far_more_often(surest: list[list[float]]) -> None:
    assert sum(looks[-1] > 0.95 for looks in surest) / DRAWS > 0.12


def test_a_fixed_number_of_repeats_keeps_its_95_percent() -> None:
    assert confidence(Experiment("e", repeats=5)) == 0.95
    assert confidence(Experiment("e", repeats=3, at_most=6)) == PER_LOOK[6]


def measured(values: list[float], bound: int, name: RungName = RungName.DC_LINK) -> Document:
    """One setting with these repeats, as a run has stored it so far."""
    one = tcp(F, tuple(trial(v, F, n) for n, v in enumerate(values)), at_most=bound)
    return document(rung(name, one))


def goes_on(made: Document) -> bool:
    return bool(judge.unsettled(made.rungs[0], made))


def ended(dice: random.Random, mean: float, sigma: float, bound: int) -> tuple[Verdict, int]:
    """The verdict of a run on a link that carries this on the mean, and after how many repeats it came."""
    values = [dice.gauss(mean, sigma * mean) for _ in range(2)]
    while goes_on(measured(values, bound)):
        values.append(dice.gauss(mean, sigma * mean))
    made = measured(values, bound)
    return judge.judge_rung(made.rungs[0], made).experiments[0].judgement.verdict, len(values)


def test_a_link_at_the_very_bar_is_given_a_word_once_in_twenty_at_most() -> None:
    dice = random.Random("at the bar")
    words = [ended(dice, BAR, 0.01, 4)[0] for _ in range(150)]
    assert sum(word in (Verdict.PASS, Verdict.FAIL) for word in words) / len(words) <= 0.05 + 0.035


@pytest.mark.parametrize(("mean", "verdict"), [(BAR * 1.024, Verdict.PASS), (BAR * 0.90, Verdict.FAIL)])
def test_a_clear_link_is_settled_early(mean: float, verdict: Verdict) -> None:
    dice = random.Random("clear")
    seen = [ended(dice, mean, 0.002, 8) for _ in range(30)]
    assert all(word is verdict for word, _ in seen)
    assert sum(repeats for _, repeats in seen) / len(seen) <= 3.2


def test_a_scattered_link_goes_on_to_the_bound_and_no_further() -> None:
    assert goes_on(measured([BAR * 1.02, BAR * 0.95, BAR * 1.01], 4))
    assert not goes_on(measured([BAR * 1.02, BAR * 0.95, BAR * 1.01, BAR * 0.97], 4))
    assert not goes_on(measured([BAR * 1.02, BAR * 0.95], 0))


def test_below_the_link_it_ends_when_what_is_needed_there_lies_outside_the_interval() -> None:
    needed = 1.5 * 1e9
    assert not goes_on(measured([3 * needed, 3.1 * needed], 4, RungName.SAME_HOST))
    assert not goes_on(measured([0.50 * needed, 0.501 * needed], 4, RungName.SAME_HOST))
    assert goes_on(measured([0.97 * needed, 1.05 * needed], 4, RungName.SAME_HOST))


def test_a_trial_that_failed_is_no_repeat() -> None:
    made = measured([BAR * 1.02, BAR * 1.02], 4)
    (link,) = made.rungs
    (one,) = link.experiments
    broken = dataclasses.replace(one, trials=(one.trials[0], failed(Fault.TOOL, n=1)))
    assert goes_on(dataclasses.replace(made, rungs=(dataclasses.replace(link, experiments=(broken,)),)))


def test_the_plan_grows_by_what_is_not_settled_and_tells_how_long_it_may_take() -> None:
    made = measured([BAR * 1.02, BAR * 0.95], 4)
    (asked,) = made.run.plan.rungs[0].experiments
    fixed = Experiment("other", repeats=2)
    before = Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=(fixed, asked)),))
    assert plan.longest(before) - plan.seconds(before) == 2 * plan.trial_seconds(asked)
    after, more = one_more(before, RungName.DC_LINK, lambda: made)
    assert [(e.id, repeat) for e, repeat in more] == [(asked.id, 2)]
    assert [e.repeats for e in after.rungs[0].experiments] == [2, 3]
    assert plan.longest(after) == plan.longest(before)
    settled = measured([BAR * 1.024, BAR * 1.024], 4)
    assert one_more(before, RungName.DC_LINK, lambda: settled) == (before, ())


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("repeats = 1\nat_most = 4", "from 2 to at_most"),
        ("repeats = 5\nat_most = 4", "from 2 to at_most"),
        ("at_most = 11", "from 2 to 10"),
        ('tool = "ping"\nprotocol = "echo"\nat_most = 4', "protocol tcp, udp"),
        ('rungs = ["dc-link"]\nsettings = {kind = "mtu", value = 9000}\nbaseline = true\nat_most = 8', "are fixed"),
    ],
)
def test_a_plan_that_leaves_too_much_open_is_refused(keys: str, expected: str) -> None:
    with pytest.raises(plan.PlanError, match=expected):
        plan.read_plan(f'name = "p"\n[[experiment]]\n{keys}\n')


def test_quick_and_circuit_keep_the_times_that_they_promise() -> None:
    sold = Contract(port_bps=10e9, rate_bps=1e9)
    for name, most in (("quick", 180), ("circuit", 720)):
        chosen = plan.builtin(name, contract=sold)
        assert plan.soonest(chosen) <= most, "with the search for what is strongest, which a first run has"
        assert plan.at_best(chosen) < plan.seconds(chosen), "not every probe is answered"
