"""How often anything is told to differ that does not, and how often a planted change is found, over recorded noise.

LINKLADDER_SIMULATED=N draws N experiments of each kind instead of a few, and prints the table that docs/statistics.md
has (pytest -s).
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest

from linkladder.judge import pairs as judging
from linkladder.judge.changes import changes
from linkladder.judge.pairs import BAND, ERROR
from linkladder.model import Protocol, RungResult
from linkladder.verdicts import Answer, ChangedFigure, Measured
from recorded_noise import PATHS, Disturbance, Row, apart, arms, computed_power, measured

ASKED = int(os.environ.get("LINKLADDER_SIMULATED", "0"))
DRAWS = ASKED or 60

ECHO = Protocol.ECHO
KINDS = {  # the arms of an experiment, as built-in plans have them
    "one change, 4 pairs": [arms(1, 4)],
    "one change, 6 pairs": [arms(1, 6)],
    "one change, 10 pairs": [arms(1, 10)],
    "three changes with round trips and a noise floor, 6 pairs": [arms(3, 6, True), arms(3, 6, True, load=ECHO)],
    "staircase of three steps, 4 pairs": [arms(1, 4, step=1), arms(2, 4, step=2), arms(3, 4, step=3)],
}
QUIET = Disturbance()
RESTLESS = Disturbance(drift=0.05, stumbling=0.05)
BURST = Disturbance(burst=3)
DISTURBED = {"as recorded": QUIET, "drift and outliers": RESTLESS, "one burst": BURST}


@pytest.fixture(autouse=True)
def nobody_asks_for_more_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests do; it takes longer than all the rest."""
    monkeypatch.setattr(judging, "more_pairs", lambda *_: None)


def differing(result: RungResult) -> list[ChangedFigure]:
    return [f for change in changes(result) for f in change.figures if f.answer is Answer.DIFFERS]


@pytest.mark.parametrize("how", DISTURBED)
@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_was_changed_anything_differs_once_in_twenty_at_most(kind: str, how: str) -> None:
    wrong = []
    for path in PATHS:
        dice = random.Random(f"{kind} {how} {path}")
        told = (bool(differing(measured(dice, path, KINDS[kind], DISTURBED[how]))) for _ in range(DRAWS))
        wrong.append(sum(told) / DRAWS)
    print(f"\n| {kind} | {how} | {' | '.join(f'{100 * share:.1f} %' for share in wrong)} |", end="")
    assert max(wrong) <= ERROR + 2 * math.sqrt(ERROR * (1 - ERROR) / DRAWS)
    assert statistics.fmean(wrong) <= ERROR


def faster(share: float) -> Callable[[Row], Row]:
    return lambda row: replace(row, bps=row.bps * (1 + share))


def again(segments: float) -> Callable[[Row], Row]:
    return lambda row: replace(row, retransmits=row.retransmits + segments * row.segments)


def found(dice: random.Random, path: str, pairs: int, effect: float, how: Disturbance) -> tuple[float, float]:
    """How often a change of throughput is told with its sign, and the deviation of the logarithms of B/A."""
    told, squares = 0, list[float]()
    for _ in range(DRAWS):
        result = measured(dice, path, [arms(1, pairs)], how, planted=faster(effect))
        first = next(f for f in changes(result)[0].figures if f.measured is Measured.GOODPUT)
        told += first.answer is Answer.DIFFERS and (first.ratio or 0) > 1
        both = zip(*(e.trials for e in result.experiments), strict=True)
        squares.append(statistics.variance(math.log(b.goodput_bps / a.goodput_bps) for a, b in both))
    return told / DRAWS, math.sqrt(statistics.fmean(squares))


@pytest.mark.parametrize("pairs", [4, 6, 10])
@pytest.mark.parametrize(("path", "effect"), [("plain", 0.3), ("plain", 0.6), ("shaped", 0.03), ("lossy", 0.05)])
def test_a_planted_change_is_found_as_often_as_computed(path: str, effect: float, pairs: int) -> None:
    """As computed with the least share of the error that throughput has; an outlier may cost the whole experiment."""
    dice = random.Random(f"power {path} {effect} {pairs}")
    seen, deviation = found(dice, path, pairs, effect, QUIET)
    computed = computed_power(effect, deviation, pairs, ERROR / 2, BAND)
    spared = (1 - RESTLESS.stumbling) ** (2 * pairs)  # how often no trial stumbles
    with_outliers, _ = found(dice, path, pairs, effect, RESTLESS)
    shares = " | ".join(f"{share:.0%}" for share in (computed, seen, spared * computed, with_outliers))
    print(f"\n| {path} | +{effect:.0%} | {pairs} | {100 * deviation:.1f} % | {shares} |", end="")
    assert seen >= computed - 0.15 and with_outliers >= spared * computed - 0.15


@pytest.mark.parametrize("how", DISTURBED)
def test_one_baseline_for_three_changes_tells_as_much_as_three_do(how: str) -> None:
    """A block of four trials in place of six: no more is wrongly told, and a planted change is found as often.

    Only the errors are held where a burst is planted: its three trials are a larger part of the shorter experiment.
    """
    wrong, right = dict[str, list[float]](), dict[str, list[float]]()
    for name, asked in {"shared": arms(3, 6), "apart": apart(3, 6)}.items():
        wrong[name], right[name] = [], []
        for path, effect in (("plain", 0.6), ("shaped", 0.05), ("lossy", 0.05)):
            dice = random.Random(f"{name} {how} {path}")
            told = (bool(differing(measured(dice, path, [asked], DISTURBED[how]))) for _ in range(DRAWS))
            wrong[name].append(sum(told) / DRAWS)
            each = [changes(measured(dice, path, [asked], DISTURBED[how], faster(effect)))[0] for _ in range(DRAWS)]
            first = (next(f for f in change.figures if f.measured is Measured.GOODPUT) for change in each)
            right[name].append(sum(f.answer is Answer.DIFFERS and (f.ratio or 0) > 1 for f in first) / DRAWS)
        shares = " | ".join(f"{100 * share:.1f} %" for share in (*wrong[name], *right[name]))
        print(f"\n| {name} | {how} | {shares} |", end="")
    assert max(wrong["shared"]) <= ERROR + 2 * math.sqrt(ERROR * (1 - ERROR) / DRAWS)
    chance = 2 * math.sqrt(0.5 / DRAWS)  # of the difference of two shares of so many draws
    both = zip(right["shared"], right["apart"], strict=True)
    assert how == "one burst" or all(one >= 0.9 * own - chance for one, own in both)


def test_segments_sent_again_are_told_where_most_trials_have_none() -> None:
    dice = random.Random("again")
    told = 0
    for _ in range(DRAWS):
        result = measured(dice, "shaped", KINDS["one change, 6 pairs"], QUIET, planted=again(0.003))
        told += any(f.measured is Measured.RESENT and (f.ratio or 0) > 1 for f in differing(result))
    assert told / DRAWS >= 0.8
