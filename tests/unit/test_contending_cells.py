"""The short matrix: which cells are repeated, and how often its winner is one that the long form would have too."""

from __future__ import annotations

import random

import pytest

from judge_documents import F, document, rung, tcp, trial
from linkladder import judge
from linkladder import plan as plans
from linkladder.judge.contending import contenders
from linkladder.model import RungName

# True rates of the twelve cells of one way, in Gb/s: where streams matter, and where a link of 1 Gb/s levels them all.
TRUE = (
    (5.8, 6.1, 6.0, 7.7, 7.9, 7.8, 9.1, 9.2, 9.0, 8.1, 8.3, 8.0),
    (0.942, 0.95, 0.951, 0.952, 0.95, 0.951, 0.951, 0.95, 0.949, 0.94, 0.945, 0.943),
)
DRAWS, MOST = 1000, 4


def climbed(dice: random.Random, true: tuple[float, ...], sigma: float) -> tuple[float, list[int]]:
    """What the winner truly carries, and how many looks each cell took."""
    cells = {str(n): [dice.gauss(rate, sigma * rate)] for n, rate in enumerate(true)}
    while True:
        left = contenders(cells)
        open_yet = sorted(name for name in left if len(cells[name]) < MOST) if len(left) > 1 else []
        if not open_yet:
            break
        for name in open_yet:
            cells[name].append(dice.gauss(true[int(name)], sigma * true[int(name)]))
    best = max(sorted(contenders(cells)), key=lambda name: sum(cells[name]) / len(cells[name]))
    return true[int(best)], [len(looks) for looks in cells.values()]


@pytest.mark.parametrize("true", TRUE)
@pytest.mark.parametrize("sigma", [0.005, 0.01, 0.02])
def test_the_winner_is_within_two_percent_of_the_best_in_95_of_100(true: tuple[float, ...], sigma: float) -> None:
    dice = random.Random(f"{true} {sigma}")
    good = sum(climbed(dice, true, sigma)[0] >= 0.98 * max(true) for _ in range(DRAWS))
    assert good / DRAWS >= 0.95


def test_cells_that_stay_far_behind_are_left_after_one_look() -> None:
    """A third below the best, where a single look is taken for as far off as 5 %: no second one is spent on them."""
    dice = random.Random("cost")
    for _ in range(DRAWS):
        looks = climbed(dice, TRUE[0], 0.01)[1]
        behind = [n for n, rate in enumerate(TRUE[0]) if rate < 0.7 * max(TRUE[0])]
        assert behind and {looks[n] for n in behind} == {1}
        assert sum(looks) < len(looks) * MOST


def test_the_engine_is_told_of_those_that_come_close_and_of_a_lone_winner_once() -> None:
    def cell(streams: int, *rates: float) -> object:
        return tcp(F, tuple(trial(r, F, n) for n, r in enumerate(rates)), streams, at_most=4, contends=True)

    close = rung(RungName.SAME_VLAN, cell(1, 5e9), cell(2, 9e9), cell(4, 9.2e9))
    assert judge.unsettled(close, document(close)) == ("tcp-2s-forward", "tcp-4s-forward")
    lone = rung(RungName.SAME_VLAN, cell(1, 5e9), cell(2, 9e9))
    assert judge.unsettled(lone, document(lone)) == ("tcp-2s-forward",), "one repeat alone makes no firm verdict"
    done = rung(RungName.SAME_VLAN, cell(1, 5e9), cell(2, 9e9, 9.05e9))
    assert judge.unsettled(done, document(done)) == ()


def test_the_matrix_takes_an_hour_at_most_and_the_long_form_keeps_its_60_seconds() -> None:
    short, long = plans.builtin("ladder"), plans.builtin("ladder-long")
    assert plans.longest(short) <= 3600 < 4 * 3600 < plans.seconds(long)
    cells = [{(e.streams, e.window, e.direction) for r in p.rungs for e in r.experiments} for p in (short, long)]
    assert cells[0] == cells[1]
    assert {(e.duration, e.repeats) for e in long.rungs[0].experiments} == {(60.0, 3)}


@pytest.mark.parametrize("keys", ["contend = true", "contend = true\nat_most = 4\nrepeats = 5"])
def test_what_contends_needs_a_bound(keys: str) -> None:
    with pytest.raises(plans.PlanError, match="at_most"):
        plans.read_plan(f'name = "p"\n[[experiment]]\n{keys}\n')
