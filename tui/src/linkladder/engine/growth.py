"""Lets a plan grow by what its results call for: another repeat of unsettled settings, or a staircase's next step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkladder import judge
from linkladder import plan as plans
from linkladder.model import Document, Experiment, Plan, RungName, RungResult, Stair

More = tuple[tuple[Experiment, int], ...]  # trials that were added to the plan


def grown(plan: Plan, name: RungName, measured: Callable[[], Document]) -> tuple[Plan, More]:
    """The plan with what its rung's results call for next, and the new trials in order; () if nothing is left to do."""
    after, more = one_more(plan, name, measured)
    return (after, more) if more else next_steps(plan, name, measured)


def one_more(plan: Plan, name: RungName, measured: Callable[[], Document]) -> tuple[Plan, More]:
    """The plan with further repeats in the rung, and those; unchanged if all is settled or the limit is reached."""
    rung = next(r for r in plan.rungs if r.name is name)
    if all(e.repeats >= e.at_most for e in rung.experiments):
        return plan, ()
    document = measured()
    found = next((r for r in document.rungs if r.name is name), None)
    wanted = judge.unsettled(found, document) if found else ()
    more = tuple((e, e.repeats) for e in rung.experiments if e.id in wanted and e.repeats < e.at_most)
    open_yet = {e.id for e, _ in more}
    grown = tuple(replace(e, repeats=e.repeats + (e.id in open_yet)) for e in rung.experiments)
    rungs = tuple(replace(r, experiments=grown) if r.name is name else r for r in plan.rungs)
    return replace(plan, rungs=rungs), more


def next_steps(plan: Plan, name: RungName, measured: Callable[[], Document]) -> tuple[Plan, More]:
    """Take each staircase of the rung one step further, starting from the winner of its last step."""
    rung = next(r for r in plan.rungs if r.name is name)
    if not any(stair.steps for stair in rung.stairs):
        return plan, ()
    found = next((r for r in measured().rungs if r.name is name), RungResult(name))
    arms: list[Experiment] = []
    stairs: list[Stair] = []
    for stair in rung.stairs:
        if stair.steps:
            best = judge.winner_so_far(found, plan, plans.level_of(rung, stair))
            more, stair = plans.climbed(stair, best)
            arms += more
        stairs.append(stair)
    after = replace(rung, experiments=(*rung.experiments, *arms), stairs=tuple(stairs))
    rungs = tuple(after if r.name is name else r for r in plan.rungs)
    return replace(plan, rungs=rungs), tuple(plans.order(replace(rung, experiments=tuple(arms))))
