"""A pair that a failed trial voided is measured once more, once, and where more than a few were void it is not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from judge_documents import F, R, document, failed, trial
from linkladder import plan as plans
from linkladder.engine.pairs_again import pairs_again
from linkladder.model import Document, Experiment, ExperimentResult, Fault, Plan, RungName, RungResult
from trials import changed

HERE = RungName.SAME_VLAN
LOADS = "streams = [1, 2, 8]\nbaseline = {streams = 1}\n"
BASE, TWO, EIGHT = (f"tcp-{n}s-default-forward" for n in (1, 2, 8))
Broken = Collection[tuple[str, int]]  # experiment and repeat of each trial that failed


def read(repeats: int = 6, loads: str = LOADS) -> Plan:
    return plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "same-vlan"\nrepeats = {repeats}\n{loads}')


def measured(plan: Plan, broken: Broken, gone: Collection[str] = ()) -> Document:
    """All trials of the plan but those of the experiments that are `gone`."""
    made = tuple(
        ExperimentResult(
            e,
            tuple(
                failed(Fault.TOOL, n=n) if (e.id, n) in broken else changed(trial(1e9, e.direction, n), flows=())
                for n in range(e.repeats)
                if e.id not in gone
            ),
        )
        for e in plan.rungs[0].experiments
    )
    return document(RungResult(HERE, experiments=made))


def again(plan: Plan, broken: Broken, asked: set[str] | None = None) -> tuple[Plan, list[tuple[str, int]], str]:
    made = measured(plan, broken)
    after, more, why = pairs_again(plan, HERE, lambda: made, set() if asked is None else asked)
    assert all(e in after.rungs[0].experiments for e, _ in more), "they are not as the plan has them"
    return after, [(e.id, n) for e, n in more], why


def repeats(plan: Plan) -> dict[str, int]:
    return {e.id: e.repeats for e in plan.rungs[0].experiments}


def test_only_the_arm_that_lost_a_trial_runs_again_beside_its_baseline() -> None:
    plan, more, why = again(read(), {(TWO, 2)})
    assert repeats(plan) == {BASE: 7, TWO: 7, EIGHT: 6}
    assert sorted(more) == [(BASE, 6), (TWO, 6)]
    assert why == "same-vlan: 1 pair is void, as a trial failed or is not borne out; another is measured for it"


def test_a_baseline_that_failed_voids_the_pair_of_each_arm() -> None:
    plan, more, why = again(read(), {(BASE, 0), (EIGHT, 3)})
    assert repeats(plan) == {BASE: 8, TWO: 7, EIGHT: 8}
    as_the_coin_chose = [e.id for e, n in plans.order(plan.rungs[0]) if n == 0]
    mirrored = [name for name in reversed(as_the_coin_chose) if name != TWO]
    assert more == [(name, 6) for name in as_the_coin_chose] + [(name, 7) for name in mirrored]
    assert why == "same-vlan: 3 pairs are void, as a trial failed or is not borne out; another is measured for each"


def test_both_trials_of_one_pair_void_one_pair() -> None:
    _, more, _ = again(read(), {(BASE, 4), (TWO, 4), (EIGHT, 4)})
    assert [n for _, n in more] == [6, 6, 6]


@pytest.mark.parametrize(("pairs", "most"), [(4, 1), (6, 2), (10, 3)])
def test_where_more_than_a_few_failed_it_is_left_at_that(pairs: int, most: int) -> None:
    _, more, _ = again(read(pairs), {(TWO, n) for n in range(most)})
    assert len(more) == 2 * most
    before = read(pairs)
    assert again(before, {(TWO, n) for n in range(most + 1)}) == (before, [], "")


def test_a_trial_that_something_contradicts_voids_its_pair() -> None:
    plan = read()
    made = measured(plan, ())
    (held,) = made.rungs
    base, two, eight = held.experiments
    told = replace(eight, trials=(*eight.trials[:5], trial(1e9, F, 5)))  # of one flow, where eight were asked for
    made = document(replace(held, experiments=(base, two, told)))
    _, more, _ = pairs_again(plan, HERE, lambda: made, set())
    assert {(e.id, n) for e, n in more} == {(BASE, 6), (EIGHT, 6)}


def test_a_pair_of_two_boots_is_not_run_again() -> None:
    plan = read()
    (here,) = plan.rungs
    booted = replace(here, experiments=tuple(replace(e, kernel="GENERIC") for e in here.experiments))
    plan = replace(plan, rungs=(booted,))
    assert again(plan, {(TWO, 2)}) == (plan, [], "")


def test_each_comparison_is_completed_once() -> None:
    asked: set[str] = set()
    plan, more, _ = again(read(), {(TWO, 2)}, asked)
    assert more
    after, more, why = again(plan, {(TWO, 2), (TWO, 6)}, asked)
    assert (after, more, why) == (plan, [], "")


def test_nothing_failed_nothing_more_and_what_was_left_out_is_not_void() -> None:
    plan = read()
    assert again(plan, ()) == (plan, [], "")
    made = measured(plan, (), gone={TWO})
    assert pairs_again(plan, HERE, lambda: made, set()) == (plan, (), "")


def test_what_is_not_compared_is_not_read_for_it() -> None:
    def unread() -> Document:
        raise AssertionError("the document was read")

    plan = read(loads="streams = [1, 2]\n")
    assert pairs_again(plan, HERE, unread, set()) == (plan, (), "")


def test_each_direction_is_a_comparison_of_its_own() -> None:
    plan = read(loads=f'direction = ["{F}", "{R}"]\n{LOADS}')
    back: list[Experiment] = [e for e in plan.rungs[0].experiments if e.direction is R]
    _, more, _ = again(plan, {(back[-1].id, 1)})
    assert {name for name, _ in more} == {back[-1].id, back[-1].baseline}
