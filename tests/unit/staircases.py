"""A staircase climbed to the top without a machine, as the engine does it, for the tests of what comes of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import trials
from judge_documents import F, document, trial
from linkladder import plan as plans
from linkladder.engine.growth import grown
from linkladder.engine.left_out import left_out
from linkladder.judge.evidence import ways
from linkladder.model import (
    Direction,
    Document,
    End,
    Experiment,
    ExperimentResult,
    HostFacts,
    Path,
    Plan,
    RungName,
    RungResult,
    TrialResult,
)

STEPS = 'steps = [{settings = [{kind = "mtu", value = 9000}]}, {window = ["800k", "8M"]}, {streams = [2, 8]}]\n'
PATHS = (Path("10.0.0.1", "10.0.0.2", "beta", "eth0", "eth0"),)
PLAN = f'name = "p"\n[[experiment]]\nrungs = "same-vlan"\nrepeats = 4\n{STEPS}'


def carried(e: Experiment) -> float:
    """A machine that gains from jumbo frames and from two streams, and from nothing else."""
    rate = 3e9 * (2 if e.settings else 1)
    return rate * {1: 1.0, 2: 1.3, 8: 1.0}[e.streams]


def measured(plan: Plan, arms: Iterable[Experiment], before: RungResult) -> RungResult:
    made = tuple(
        ExperimentResult(
            e, tuple(trials.changed(trial(carried(e) * (1 + n / 500), F, n), flows=()) for n in range(e.repeats))
        )
        for e in arms
    )
    return replace(before, experiments=(*before.experiments, *made))


def climb() -> tuple[Plan, RungResult]:
    """To the top, as the engine does it."""
    plan = plans.read_plan(PLAN)
    result = measured(plan, plan.rungs[0].experiments, RungResult(RungName.SAME_VLAN, PATHS))
    while True:
        made = document(result)
        plan, more = grown(plan, RungName.SAME_VLAN, lambda made=made: made)
        if not more:
            return plan, result
        result = measured(plan, dict.fromkeys(e for e, _ in more), result)


def climbed() -> Document:
    return document(climb()[1])


def climbed_with(
    plan: Plan, carries: Callable[[Experiment, Direction], float], facts: Mapping[End, HostFacts] | None = None
) -> tuple[Plan, RungResult]:
    """To the top of each staircase of a plan, on a machine that carries so much in each direction, on each path.

    `facts`: of the ends, where what they cannot do is left out.
    """
    over = plan.rungs[0].paths if len(plan.rungs[0].paths) > 1 else PATHS

    def made(e: Experiment, n: int) -> TrialResult:
        rates = {str(way): carries(e, way) * (1 + n / 500) for way in ways(e)}
        one = trials.changed(trial(sum(rates.values()), e.direction, n), flows=(), by_direction=rates)
        return replace(one, legs=tuple(replace(one.legs[0], path=path) for path in range(len(over))))

    def after(arms: Sequence[Experiment], before: RungResult) -> RungResult:
        gone = left_out(arms, over[0], facts) if facts else {}
        left = (e for e in arms if e.id not in gone)
        found = tuple(ExperimentResult(e, tuple(made(e, n) for n in range(e.repeats))) for e in left)
        return replace(before, experiments=(*before.experiments, *found))

    name = plan.rungs[0].name
    result = after(plan.rungs[0].experiments, RungResult(name, over))
    while True:
        kept = document(result)
        plan, more = grown(plan, name, lambda kept=kept: kept)
        if not more:
            return plan, result
        result = after(tuple(dict.fromkeys(e for e, _ in more)), result)
