"""A staircase: each step beside the best so far, built on what won, told in a sentence with what to set where."""

from __future__ import annotations

from dataclasses import replace

import pytest

import trials
from judge_documents import document
from linkladder import phrases
from linkladder import plan as plans
from linkladder.engine.growth import grown
from linkladder.judge import judge_rung
from linkladder.judge.changes import changes, steps_to_come
from linkladder.judge.staircase import landings, staircase, winner
from linkladder.model import Document, Experiment, RungName, RungResult
from linkladder.phrases.stairs import row
from staircases import PATHS, PLAN, STEPS, climb, climbed_with, measured


def test_each_step_is_built_on_what_won() -> None:
    plan, result = climb()
    by_step = {
        n: [e for e in plan.rungs[0].experiments if e.step == n] for n in {e.step for e in plan.rungs[0].experiments}
    }
    assert sorted(by_step) == [1, 2, 3]
    assert all(e.settings for e in by_step[2] + by_step[3]), "the jumbo frames won"
    assert all(e.window is None for e in by_step[3]), "no buffer won"
    top = plans.present_step(plan.rungs[0], plan.rungs[0].stairs[0])
    assert winner(changes(result), top).streams == 2
    assert all(e.baseline == by_step[e.step][0].id for e in plan.rungs[0].experiments if e.baseline)


def test_a_step_has_as_many_pairs_as_were_asked_for_whatever_the_best_before_it_has() -> None:
    stair = plans.read_plan(PLAN).rungs[0].stairs[0]
    arms, _ = plans.next_step(stair, replace(stair.first, repeats=5, step=1))
    assert {e.repeats for e in arms} == {4}


def test_the_time_told_beforehand_is_the_time_it_takes() -> None:
    before = plans.read_plan(PLAN)
    after, _ = climb()
    assert plans.trials(before) == plans.trials(after) == 4 * (2 + 3 + 3)
    assert plans.seconds(before) == plans.seconds(after) == plans.longest(after)


def test_the_sentence_names_what_was_kept_and_what_to_set() -> None:
    _, result = climb()
    judged = judge_rung(result, document(result))
    said, *lines = judged.judgement.findings
    assert said == (
        "Staircase, near to far: 3.01 Gb/s as it is; MTU 9000 kept, 6.02 Gb/s (+100 %); nothing sure gained by "
        "800k window instead of default or 8M window instead of default; 2 streams instead of 1 kept, 7.82 Gb/s "
        "(+30 %). From 3.01 Gb/s to 7.82 Gb/s, 2.60 times."
    )
    assert lines[:3] == [
        "To set, MTU 9000, at both ends, FreeBSD: ifconfig eth0 mtu 9000",
        'To set, MTU 9000, at both ends, FreeBSD at boot: sysrc ifconfig_eth0+=" mtu 9000"',
        "To set, MTU 9000, at both ends, Linux: ip link set dev eth0 mtu 9000",
    ]
    assert "To set, 2 streams, at the end that connects: let the application open 2 connections" in lines
    kept = [(one.step, one.words) for one in judged.staircase if one.kept]
    assert kept[0] == (1, "MTU 9000") and kept[2] == (3, "2 streams instead of 1")


def test_a_change_that_failed_wins_nothing() -> None:
    plan = plans.read_plan(PLAN)
    base, jumbo = plan.rungs[0].experiments
    whole = measured(plan, (base, jumbo), RungResult(RungName.SAME_VLAN))
    lost = tuple(trials.changed(t, ok=False) for t in whole.experiments[1].trials)
    broken = replace(whole, experiments=(whole.experiments[0], replace(whole.experiments[1], trials=lost)))
    assert winner(changes(broken), (base, jumbo)) == base
    assert [one.kept for one in landings(broken, changes(broken))] == [True]
    made: Document = document(broken)
    _, more = grown(plan, RungName.SAME_VLAN, lambda: made)
    assert not any(e.settings for e, _ in more)
    assert phrases.staircase(landings(broken, changes(broken))) == "Staircase, near to far: 3.01 Gb/s as it is."
    assert staircase(broken, changes(broken))[0] == (
        "Staircase, near to far: 3.01 Gb/s as it is. With MTU 9000 none of 4 trials counts; in each of them 6.00 "
        "Gb/s to 6.04 Gb/s arrived all the same."
    )
    lone = replace(whole, experiments=tuple(replace(e, trials=e.trials[:1]) for e in whole.experiments))
    assert [row(one)[2] for one in landings(lone, changes(lone))] == ["3.00 Gb/s", "6.00 Gb/s"], "no interval of one"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("streams = [1, 2]\n" + STEPS, "begins at one setting"),
        ("repeats = 3\n" + STEPS, "at least 4 pairs"),
        ("steps = [{duration = 3}]", "tables of tool"),
        ('tool = "ping"\n' + STEPS, "has no meaning|without baseline"),
    ],
)
def test_what_is_no_staircase_is_refused(keys: str, expected: str) -> None:
    with pytest.raises(plans.PlanError, match=expected):
        plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "same-vlan"\n{keys}\n')


def test_each_step_is_decided_with_its_part_of_one_error_and_stays_so() -> None:
    """The staircase has three steps: the first one is decided when the others are not even planned."""
    plan = plans.read_plan(PLAN)
    first = measured(plan, plan.rungs[0].experiments, RungResult(RungName.SAME_VLAN))
    assert steps_to_come(plan, RungName.SAME_VLAN) == 2
    made = document(first)
    made = replace(made, run=replace(made.run, plan=plan))
    (early,) = judge_rung(first, made).changes
    after, whole = climb()
    made = document(whole)
    made = replace(made, run=replace(made.run, plan=after))
    assert steps_to_come(after, RungName.SAME_VLAN) == 0
    late = judge_rung(whole, made).changes[0]
    assert early.figures[0].confidence == late.figures[0].confidence == pytest.approx(1 - 0.05 / 3 / 2)


def grown_from(keys: str, wins: str) -> list[Experiment]:
    """The arms of the second step, as far as their settings go, after this setting has won the first."""
    plan = plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "same-vlan"\nrepeats = 4\n{keys}\n')
    (rung,) = plan.rungs
    best = next(e for e in rung.experiments if wins in phrases.arm(e))
    return list(plans.next_step(rung.stairs[0], best)[0])


def test_a_step_at_one_end_leaves_what_won_at_the_other() -> None:
    near, far = ('{kind = "tso", value = "off", ends = "' + end + '"}' for end in ("near", "far"))
    base, tried = grown_from(f"steps = [{{settings = [{near}]}}, {{settings = [{far}]}}]", "TSO off at the near end")
    assert phrases.settings(base) == "TSO off at the near end"
    assert phrases.settings(tried) == "TSO off at the near end, TSO off at the far end"
    assert phrases.difference(tried, base) == "TSO off at the far end"
    assert phrases.difference(base, tried) == "TSO off at the far end no more"
    assert phrases.beside(tried, base) == "1 stream, TSO off at the near end"


def test_a_step_keeps_what_the_staircase_has_on_loan_from_the_beginning_and_what_won_since() -> None:
    keys = (
        'settings = [{kind = "mtu", value = 1500}, {kind = "tso", value = "off"}]\n'
        'steps = [{settings = [{kind = "mtu", value = 9000}]}, {streams = [2]}]'
    )
    base, tried = grown_from(keys, "MTU 9000")
    assert phrases.settings(base) == phrases.settings(tried) == "TSO off, MTU 9000"
    assert phrases.difference(tried, base) == "2 streams instead of 1"


def test_a_step_wins_nothing_if_nobody_knows_what_one_way_carried() -> None:
    """Of both ways at once, what one gains may be paid for by the other."""
    keys = 'rungs = "same-vlan"\nrepeats = 4\ndirection = "duplex"\nsteps = [{streams = [2]}]'
    plan = plans.read_plan(f'name = "p"\n[[experiment]]\n{keys}\n')
    _, result = climbed_with(plan, lambda e, way: 1e9 * e.streams if way == "forward" else 0.0)
    arms = plans.present_step(plan.rungs[0], plan.rungs[0].stairs[0])
    assert winner(changes(result), arms) == arms[0]


def test_a_first_step_that_tries_what_it_begins_with_is_passed_over() -> None:
    """Six trials of one arm answer nothing."""
    keys = 'rungs = "same-vlan"\nsteps = [{streams = [1]}, {streams = [2]}]'
    (rung,) = plans.read_plan(f'name = "p"\n[[experiment]]\n{keys}\n').rungs
    assert [(e.streams, e.step) for e in rung.experiments] == [(1, 1), (2, 1)]
    assert plans.trials(rung) == 12 and not rung.stairs[0].steps


def test_as_many_settings_as_both_ends_may_win_one_by_one_are_counted() -> None:
    """An end takes 16 at once, and each end may have its own of a kind."""
    kinds = ("tso", "lro", "gso", "gro", "rxcsum", "txcsum", "sack", "ecn", "stack-tso")
    steps = [
        f'{{settings = {{kind = "{kind}", value = "off", ends = "{end}"}}}}'
        for kind in kinds
        for end in ("near", "far")
    ]
    with pytest.raises(plans.PlanError, match="settings: expected at most 16, got 18"):
        plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "same-vlan"\nsteps = [{", ".join(steps)}]\n')


def test_no_step_is_built_on_trials_that_their_own_seconds_contradict() -> None:
    plan = plans.read_plan(PLAN)
    base, jumbo = plan.rungs[0].experiments
    whole = measured(plan, (base, jumbo), RungResult(RungName.SAME_VLAN, PATHS))

    def next_arms(of: RungResult) -> list[Experiment]:
        made = document(of)
        return [e for e, _ in grown(plan, RungName.SAME_VLAN, lambda: made)[1]]

    assert all(e.settings for e in next_arms(whole))
    claimed = tuple(
        trials.changed(t, intervals=whole.experiments[0].trials[0].intervals) for t in whole.experiments[1].trials
    )
    doubtful = replace(whole, experiments=(whole.experiments[0], replace(whole.experiments[1], trials=claimed)))
    assert next_arms(doubtful) and not any(e.settings for e in next_arms(doubtful))
