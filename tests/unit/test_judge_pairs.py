"""One change measured in pairs: what is claimed, how often wrongly, and what is asked for when it cannot be told."""

from __future__ import annotations

import math
import os
import random
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder import plan
from linkladder.judge import pairs
from linkladder.judge.pairs import BAND, ERROR, Answer, PairAnswer, Pairs, judge_pairs, judge_together, signed_rank
from linkladder.judge.student import inside, quantile
from linkladder.model import Experiment, Rung, RungName
from linkladder.phrases import changes
from linkladder.verdicts import MOST_MORE, ChangedFigure, Measured

RUNS = 1500
LATER = int(os.environ.get("LINKLADDER_SIMULATED", "600"))  # cases in which more pairs are proposed


def order(pairs: int, a_first: bool) -> str:
    """The arms as a plan has them run."""
    arms = (Experiment("A", repeats=pairs, begins=a_first), Experiment("B", repeats=pairs, baseline="A"))
    arms = (arms[0], replace(arms[1], begins=not a_first))
    return "".join(exp.id for exp, _ in plan.order(Rung(RungName.SAME_HOST, experiments=arms)))


SEQUENCES = {(pairs, first): order(pairs, first) for pairs in (4, 6, 10) for first in (True, False)}


def drawn(dice: random.Random, pairs: int, sigma: float, effect: float, drift: float, outliers: float) -> PairAnswer:
    """An experiment on a machine that scatters, drifts and now and then stumbles."""
    arms: dict[str, list[float]] = {"A": [], "B": []}
    sequence = SEQUENCES[pairs, dice.random() < 0.5]
    for index, arm in enumerate(sequence):
        value = 1e9 * math.exp(dice.gauss(0, sigma)) * (1 + drift * index / (len(sequence) - 1))
        if dice.random() < outliers:
            value *= 1 - dice.uniform(0, 0.15)
        arms[arm].append(value * (1 + effect) if arm == "B" else value)
    return judge_pairs(arms["A"], arms["B"])


def share(answer: Answer, pairs: int, sigma: float, effect: float = 0, drift: float = 0, outliers: float = 0) -> float:
    dice = random.Random(f"{pairs} {sigma} {effect} {drift} {outliers}")
    return sum(drawn(dice, pairs, sigma, effect, drift, outliers).answer == answer for _ in range(RUNS)) / RUNS


@pytest.mark.parametrize("pairs", [4, 6, 10])
@pytest.mark.parametrize(("drift", "outliers"), [(0, 0), (0.08, 0), (0, 0.1), (0.08, 0.1)])
def test_no_change_is_called_one_in_at_most_one_of_twenty(pairs: int, drift: float, outliers: float) -> None:
    assert share(Answer.DIFFERS, pairs, 0.02, drift=drift, outliers=outliers) <= 0.05


@pytest.mark.parametrize(("pairs", "least"), [(4, 0.45), (6, 0.80), (10, 0.98)])
def test_a_change_of_five_percent_is_found_in_a_drifting_machine(pairs: int, least: float) -> None:
    assert share(Answer.DIFFERS, pairs, 0.02, effect=0.05, drift=0.08) >= least


def test_a_change_that_matters_is_hardly_ever_called_the_same() -> None:
    assert share(Answer.SAME, 6, 0.02, effect=0.05) <= 0.01


def test_a_quiet_machine_gets_the_word_same() -> None:
    assert share(Answer.SAME, 6, 0.005) >= 0.95


def test_pairs_mirror_each_other_from_the_side_that_the_coin_chose() -> None:
    assert order(4, a_first=True) == "ABBAABBA"
    assert order(3, a_first=False) == "BAABBA"


def test_too_few_pairs_ask_for_the_rest() -> None:
    answer = judge_pairs([1.0] * 3, [2.0] * 3)
    assert (answer.answer, answer.more_pairs) == (Answer.UNDECIDED, 1)


def test_more_pairs_than_anybody_would_wait_for_are_not_proposed() -> None:
    answer = judge_pairs([100, 100, 100, 100], [97, 105, 96, 104])
    assert (answer.answer, answer.more_pairs) == (Answer.UNDECIDED, None)
    told = ChangedFigure(Measured.GOODPUT, answer.answer, 1e8, 1e8, 4, answer.ratio, answer.low, answer.high)
    assert changes.figure(told).endswith("and 40 more pairs might not tell either")


def later(dice: random.Random, pairs: int, sigma: float, effect: float, comparisons: int) -> tuple[bool, bool] | None:
    """Whether as many pairs as were proposed tell, in a new run and beside those at hand; None if none are proposed."""

    def more(count: int, gain: float) -> list[float]:
        return [1e9 * (1 + gain) * math.exp(dice.gauss(0, sigma)) for _ in range(count)]

    a, b = more(pairs, 0), more(pairs, effect)
    first = judge_pairs(a, b, comparisons)
    if first.answer is not Answer.UNDECIDED or first.more_pairs is None:
        return None
    assert 0 < first.more_pairs <= MOST_MORE
    new = judge_pairs(more(pairs + first.more_pairs, 0), more(pairs + first.more_pairs, effect), comparisons)
    whole = judge_pairs(a + more(first.more_pairs, 0), b + more(first.more_pairs, effect), comparisons)
    return new.answer is not Answer.UNDECIDED, whole.answer is not Answer.UNDECIDED


@pytest.mark.parametrize("comparisons", [1, 4, 12])
def test_as_many_more_pairs_as_are_proposed_tell_in_four_of_five_cases(comparisons: int) -> None:
    """Whatever the true change, up to 6 % either way, and whatever the noise."""
    dice = random.Random(f"later {comparisons}")
    drawn: list[tuple[bool, bool]] = []
    while len(drawn) < LATER:
        sigma = dice.choice([0.005, 0.01, 0.02])
        if found := later(dice, dice.choice([4, 6, 10]), sigma, dice.uniform(-0.06, 0.06), comparisons):
            drawn.append(found)
    shares = [sum(told) / len(told) for told in zip(*drawn, strict=True)]
    print(f"\n| {comparisons} | {' | '.join(f'{share:.0%}' for share in shares)} |", end="")
    assert min(shares) >= 0.78  # four of five, less one and a half standard errors


def test_a_sure_but_tiny_change_is_the_same() -> None:
    answer = judge_pairs([100.0] * 6, [100.9, 101.0, 101.1, 101.0, 100.9, 101.1])
    assert answer.answer == Answer.SAME
    assert answer.low is not None and answer.low > 1


def test_more_answers_from_one_experiment_are_each_harder_to_get() -> None:
    a, b = [100.0] * 4, [102.0, 106.0, 103.0, 106.0]
    assert judge_pairs(a, b).answer == Answer.DIFFERS
    assert judge_pairs(a, b, comparisons=6).answer == Answer.UNDECIDED


def family(dice: random.Random, effects: tuple[float, ...]) -> list[Pairs]:
    """One figure for each effect, in six pairs."""
    return [
        Pairs(
            [math.exp(dice.gauss(0, 0.02)) for _ in range(6)],
            [(1 + e) * math.exp(dice.gauss(0, 0.02)) for _ in range(6)],
        )
        for e in effects
    ]


@pytest.mark.parametrize("effects", [(0.0,) * 7, (0.5, 0.5, 0.5, 0.0, 0.0), (0.5,) * 6 + (0.0,)])
def test_of_all_figures_told_together_one_differs_wrongly_once_in_twenty_at_most(
    effects: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "more_pairs", lambda *_: None)
    dice = random.Random(f"family {effects}")
    wrong = 0
    for _ in range(RUNS):
        told = judge_together(family(dice, effects))
        wrong += any(t.answer is Answer.DIFFERS for t, e in zip(told, effects, strict=True) if e == 0)
    assert wrong / RUNS <= 0.05


def test_sure_figures_hand_their_share_of_the_error_to_the_others() -> None:
    dice = random.Random("shares")
    *sure, last = judge_together(family(dice, (0.5, 0.6, 0.7, 0.0)))
    assert all(one.answer is Answer.DIFFERS for one in sure)
    assert last.confidence == pytest.approx(0.95)
    assert max(one.confidence for one in sure) == pytest.approx(1 - 0.05 / 4), "the surest one comes first"
    heavy, light = judge_together([replace(one, weight=w) for one, w in zip(family(dice, (0, 0)), (3, 1), strict=True)])
    assert [heavy.confidence, light.confidence] == pytest.approx([1 - 0.05 * 3 / 4, 1 - 0.05 / 4])


def test_no_change_is_told_that_the_same_setting_has_to_itself() -> None:
    a, b = [100.0] * 6, [103.0, 103.1, 102.9, 103.0, 103.2, 102.8]
    (plain,) = judge_together([Pairs(a, b)])
    (within,) = judge_together([Pairs(a, b, floor=math.log(1.05))])
    assert (plain.answer, within.answer) == (Answer.DIFFERS, Answer.UNDECIDED)
    told = ChangedFigure(
        Measured.GOODPUT, within.answer, 100, 103, 6, within.ratio, within.low, within.high, floor=1.05
    )
    assert changes.figure(told).endswith(", as the same setting differs from itself by up to 5.0 %")


def test_one_stray_pair_that_decides_is_named() -> None:
    answer = judge_pairs([100.0] * 12, [103, 104, 103, 102, 104, 103, 102, 40, 103, 105, 104, 103])
    assert answer.outlier == 8  # the ranks are sure of a gain, which the mean cannot see
    assert answer.answer == Answer.UNDECIDED
    gain = [105.03, 101.42, 97.42, 102.89, 101.57, 100.73, 107.74, 105.79]
    answer = judge_pairs([100.0] * 8, gain)
    assert answer.low is not None and answer.low > 1 and answer.rank_p is not None and answer.rank_p > 0.05
    assert (answer.answer, answer.outlier) == (Answer.UNDECIDED, 7), "the mean is sure, the ranks are not"
    assert judge_pairs([100.0] * 7, gain[:6] + gain[7:]).answer == Answer.UNDECIDED
    figure = ChangedFigure(
        Measured.GOODPUT, answer.answer, 1e8, 1.03e8, 8, 1.03, 1.001, 1.06, outlier=7, rank_p=answer.rank_p
    )
    assert changes.figure(figure).endswith("between +0.1 % and +6.0 %; signed ranks p 0.055, as pair 7 decides")


def test_where_the_ranks_alone_are_not_sure_it_is_said_how_many_more_pairs_would_tell() -> None:
    answer = judge_pairs([100.0] * 8, [103, 105, 111, 94, 110, 108, 102, 105])
    assert answer.low is not None and answer.low > 1 and answer.rank_p is not None and answer.rank_p > 0.05
    assert (answer.answer, answer.outlier, answer.more_pairs) == (Answer.UNDECIDED, None, 12)
    told = ChangedFigure(
        Measured.GOODPUT, answer.answer, 1e8, 1.05e8, 8, answer.ratio, answer.low, answer.high,
        more_pairs=answer.more_pairs, rank_p=answer.rank_p,
    )  # fmt: skip
    assert changes.figure(told).endswith("; signed ranks p 0.07, 12 more pairs (20 in all) would tell in 4 of 5 cases")


def test_as_many_more_pairs_as_are_proposed_make_the_ranks_sure_as_well() -> None:
    """Of the answers that the ranks alone withheld, whatever the true change and the noise."""
    dice = random.Random("ranks")
    withheld, told = 0, list[bool]()
    while withheld < LATER // 2:
        count, sigma, effect = dice.choice([8, 10, 12]), dice.uniform(0.01, 0.05), dice.uniform(-0.06, 0.06)

        def ratios(wanted: int, sigma: float = sigma, effect: float = effect) -> list[float]:
            return [math.exp(dice.gauss(effect, sigma)) for _ in range(wanted)]

        b = ratios(count)
        if signed_rank([math.log(x) for x in b]) <= ERROR:
            continue
        first = judge_pairs([1.0] * count, b)
        assert first.low and first.high and first.ratio
        if first.low <= 1 <= first.high or abs(math.log(first.ratio)) <= math.log1p(BAND):
            continue
        withheld += 1
        if first.more_pairs:
            wanted = count + first.more_pairs
            told.append(judge_pairs([1.0] * wanted, ratios(wanted)).answer is not Answer.UNDECIDED)
    assert told
    print(f"\n| ranks alone | {sum(told) / len(told):.0%} |", end="")
    assert sum(told) / len(told) >= 0.78


def test_the_farthest_pair_is_not_named_where_the_answer_is_the_same_without_it() -> None:
    """Seven gains of 5 % and a pair without any: the ranks of so few are not sure enough for four answers."""
    gain = [105.0, 104.0, 106.0, 105.0, 104.0, 106.0, 105.0, 99.9]
    answer = judge_pairs([100.0] * 8, gain, comparisons=4)
    assert answer.rank_p is not None and 1 - answer.confidence < answer.rank_p < 0.05
    assert (answer.answer, answer.outlier) == (Answer.DIFFERS, None)


def test_figures_of_nothing_are_no_figures() -> None:
    assert judge_pairs([100.0, 0, 100, 100], [1.0, 1, 1, 1]).answer == Answer.UNDECIDED


def test_halves_of_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        judge_pairs([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [(0.95, 1, 12.7062), (0.95, 5, 2.5706), (0.975, 5, 3.1634), (0.99, 9, 3.2498), (0.95, 30, 2.0423)],
)
def test_quantiles_are_those_of_the_printed_tables(confidence: float, freedom: int, expected: float) -> None:
    assert quantile(confidence, freedom) == pytest.approx(expected, abs=5e-4)


@given(st.floats(0.01, 30), st.integers(1, 40))
def test_a_quantile_undoes_its_share(t: float, freedom: int) -> None:
    confidence = inside(t, freedom)
    if confidence < 0.99999:
        assert quantile(confidence, freedom) == pytest.approx(t, rel=1e-3)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_the_signed_rank_is_that_of_counting_every_sign_pattern(values: list[int]) -> None:
    sizes = sorted(abs(v) for v in values if v)
    ranks = [sum(i + 1 for i, s in enumerate(sizes) if s == size) / sizes.count(size) for size in sizes]
    by_size = dict(zip(sizes, ranks, strict=True))
    positive = sum(by_size[v] for v in values if v > 0)
    sums = [
        sum(r for r, sign in zip(ranks, signs, strict=True) if sign) for signs in product((0, 1), repeat=len(ranks))
    ]
    extreme = min(positive, sum(ranks) - positive)
    expected = min(1.0, 2 * sum(s <= extreme + 1e-9 for s in sums) / len(sums))
    assert signed_rank(values) == pytest.approx(expected)
