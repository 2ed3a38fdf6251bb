"""The short matrix over recorded noise: which cells are repeated, and how often it wins as well as the long form.

LINKLADDER_SIMULATED=N replays each matrix N times instead of a hundred, also with noise that a longer trial averages
away, and prints the tables that docs/statistics.md has (pytest -s).
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

import pytest

import trials
from judge_documents import F, document, rung, tcp, trial
from linkladder import judge
from linkladder import plan as plans
from linkladder.engine.growth import one_more
from linkladder.judge.chosen import chosen_of
from linkladder.judge.stats import spread
from linkladder.model import Document, Experiment, ExperimentResult, Plan, Rung, RungName, RungResult, TrialResult
from linkladder.verdicts import ExperimentJudgement, Judgement, Verdict
from recorded_noise import Disturbance, drawn, recorded

ASKED = int(os.environ.get("LINKLADDER_SIMULATED", "0"))
DRAWS = ASKED or 100
CLOSE, SHARE = 0.02, 0.95  # the short form's winner truly carries what the long form's does, or 2 % less, so often

# True Gb/s with 1, 2, 4 and 8 streams, with the default buffer and with 800k, which 8M is taken to be like. The first
# three were measured between FreeBSD guests on ESXi.
MATRICES = {
    "localhost": ((79.2, 91.4, 88.8, 93.5), (75.4, 69.9, 69.6, 73.3)),
    "same-host": ((6.6, 8.52, 19.85, 17.75), (6.67, 7.98, 17.3, 20.95)),
    "same-vlan": ((6.22, 10.05, 19.85, 17.75), (6.24, 10.35, 18.15, 17.95)),
    "close": ((5.8, 7.7, 9.1, 8.1), (6.1, 7.9, 9.2, 8.3)),
    "level": ((9.74,) * 4, (9.74,) * 4),
}
NOISES = {"plain": 1.0, "a quarter of plain": 0.25, "shaped": 1.0, "lossy": 1.0}  # and how much of it is taken
RECORDED = 2.0  # seconds of a recorded trial
SHORT, LONG = "ladder", "ladder-long"

Noise = Callable[[Experiment], float]
Model = Callable[[random.Random, str], Noise]


@cache
def usual(path: str, seconds: float = RECORDED) -> float:
    return statistics.fmean(row.bps for row in recorded(path, seconds))


def of_starts(dice: random.Random, name: str) -> Noise:
    """What a trial carries of its cell's true rate, if it is the start that decides: as one recorded trial."""
    path = name.split()[-1]
    series = recorded(path)
    return lambda _: 1 + NOISES[name] * (dice.choice(series).bps / usual(path) - 1)


def of_seconds(dice: random.Random, name: str) -> Noise:
    """The same if each second has noise of its own: the mean of as many recorded trials as fill the trial."""
    path = name.split()[-1]

    def share(e: Experiment) -> float:
        rows = drawn(dice, path, math.ceil(e.duration / RECORDED), Disturbance())
        seconds = [min(RECORDED, e.duration - RECORDED * n) for n in range(len(rows))]
        mean = sum(row.bps * part for row, part in zip(rows, seconds, strict=True)) / e.duration
        return 1 + NOISES[name] * (mean / usual(path) - 1)

    return share


def of_its_length(dice: random.Random, name: str) -> Noise:
    """As one of the recorded trials that took as long."""
    path = name.split()[-1]

    def share(e: Experiment) -> float:
        return 1 + NOISES[name] * (dice.choice(recorded(path, e.duration)).bps / usual(path, e.duration) - 1)

    return share


@cache
def asked(plan: str) -> tuple[Plan, Document]:
    """That plan with nothing but the cells of one way of one rung, and a run of it that has measured nothing yet."""
    whole = plans.builtin(plan)
    one = next(r for r in whole.rungs if r.name is RungName.SAME_VLAN)
    kept = Rung(one.name, experiments=tuple(e for e in one.experiments if e.protocol == "tcp" and e.direction is F))
    plan_of_it = replace(whole, rungs=(kept,))
    return plan_of_it, replace(document(), run=replace(document().run, plan=plan_of_it))


def true_rate(matrix: str, e: Experiment) -> float:
    return 1e9 * MATRICES[matrix][e.window is not None][(1, 2, 4, 8).index(e.streams)]


def measured(plan: str, matrix: str, noise: Noise) -> Iterator[RungResult]:
    """The rung after each round, as the engine lets the plan grow."""
    now, run = asked(plan)
    name, found = now.rungs[0].name, dict[str, list[TrialResult]]()
    more = tuple((e, n) for e in now.rungs[0].experiments for n in range(e.repeats))
    while more:
        for e, n in more:
            bps = true_rate(matrix, e) * noise(e)
            found.setdefault(e.id, []).append(trials.trial(f"{e.id}-{n}", n, goodput_bps=bps))
        result = RungResult(
            name, experiments=tuple(ExperimentResult(e, tuple(found[e.id])) for e in now.rungs[0].experiments)
        )
        yield result
        now, more = one_more(now, name, partial(replace, run, rungs=(result,)))


def winner(result: RungResult) -> Experiment:
    """The cell that is told to be the best, where all are judged alike."""
    alike = Judgement(Verdict.PASS, False, "")
    judged = tuple(
        ExperimentJudgement(e.parameters.id, "forward", "tcp", alike, spread([t.goodput_bps for t in e.trials]))
        for e in result.experiments
    )
    best = chosen_of(judged)["forward"].experiment
    return next(e.parameters for e in result.experiments if e.parameters.id == best)


def replayed(plan: str, matrix: str, noise: Noise) -> float:
    """What the winner truly carries."""
    *_, last = measured(plan, matrix, noise)
    return true_rate(matrix, winner(last))


def agreeing(winners: list[float], others: list[float]) -> float:
    """How often the one winner truly carries what the other does, or at most 2 % less."""
    return sum(one >= (1 - CLOSE) * other for one, other in zip(winners, others, strict=True)) / len(winners)


def both_forms(model: Model, matrix: str, noise: str) -> tuple[float, float]:
    """How often the short form's winner is as good as the long form's, and how often another long form's is."""
    share = model(random.Random(f"{matrix} {noise}"), noise)
    long, again, short = ([replayed(plan, matrix, share) for _ in range(DRAWS)] for plan in (LONG, LONG, SHORT))
    found = agreeing(short, long), agreeing(again, long)
    print(f"\n| {model.__name__} | {noise} | {matrix} | {found[0]:.0%} | {found[1]:.0%} |", end="")
    return found


@pytest.mark.parametrize("noise", NOISES)
def test_the_short_form_wins_like_the_long_one_as_often_as_the_long_one_like_itself(noise: str) -> None:
    found = [both_forms(of_starts, matrix, noise) for matrix in MATRICES]
    assert all(short >= SHARE for short, itself in found if itself >= SHARE)
    assert sum(short for short, _ in found) >= sum(min(SHARE, itself) for _, itself in found)


@pytest.mark.parametrize("noise", ["shaped", "lossy", *(name for name in NOISES if ASKED and "plain" in name)])
@pytest.mark.parametrize("matrix", MATRICES)
def test_it_also_does_where_a_longer_trial_averages_the_noise_away(matrix: str, noise: str) -> None:
    """Not so where every trial is as fast as the machine is: there an hour is too short (docs/statistics.md)."""
    short, _ = both_forms(of_seconds, matrix, noise)
    assert short >= SHARE or "plain" in noise


def test_it_also_does_over_trials_that_were_recorded_at_the_lengths_of_both() -> None:
    """On a path as fast as its machine, which did nothing else: 5 s scatter by 3.5 %, and 60 s by 1.9 %."""
    assert [len(recorded("plain", seconds)) for seconds in (5, 60)] == [40, 20]
    found = [both_forms(of_its_length, matrix, "plain") for matrix in MATRICES]
    assert all(short >= min(SHARE, itself) for short, itself in found)
    assert statistics.fmean(short for short, _ in found) >= SHARE


def looks(matrix: str, noise: str) -> dict[Experiment, int]:
    """How many looks each cell of the short form took."""
    *_, last = measured(SHORT, matrix, of_starts(random.Random(f"looks {matrix} {noise}"), noise))
    return {e.parameters: len(e.trials) for e in last.experiments}


def test_cells_that_stay_far_behind_are_left_after_one_look() -> None:
    """A third below the best, where a single look is taken for as far off as 5 %: no second one is spent on them."""
    taken = looks("close", "lossy")
    best = max(true_rate("close", e) for e in taken)
    behind = [count for e, count in taken.items() if true_rate("close", e) < 0.7 * best]
    assert behind and set(behind) == {1}


def test_looks_that_others_leave_go_to_those_that_contend_and_no_more() -> None:
    taken = looks("same-host", "plain")
    together = sum(e.at_most for e in taken)
    assert sum(taken.values()) == together
    assert max(taken.values()) > max(e.at_most for e in taken)


def test_where_no_cell_can_be_clearly_better_no_more_looks_are_spent() -> None:
    taken = looks("level", "shaped")
    assert sum(taken.values()) <= 3 * len(taken) < sum(e.at_most for e in taken)


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
    short, long = plans.builtin(SHORT), plans.builtin(LONG)
    assert plans.longest(short) <= 3600 < 4 * 3600 < plans.seconds(long)
    cells = [{(e.streams, e.window, e.direction) for r in p.rungs for e in r.experiments} for p in (short, long)]
    assert cells[0] == cells[1]
    assert {(e.duration, e.repeats) for e in long.rungs[0].experiments} == {(60.0, 3)}


@pytest.mark.parametrize("keys", ["contend = true", "contend = true\nat_most = 4\nrepeats = 5"])
def test_what_contends_needs_a_bound(keys: str) -> None:
    with pytest.raises(plans.PlanError, match="at_most"):
        plans.read_plan(f'name = "p"\n[[experiment]]\n{keys}\n')
