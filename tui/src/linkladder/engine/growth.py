"""A plan that leaves the number of repeats open grows by one more of each setting whose verdict is not settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkladder import judge
from linkladder.model import Document, Experiment, Plan, RungName


def one_more(
    plan: Plan, name: RungName, measured: Callable[[], Document]
) -> tuple[Plan, tuple[tuple[Experiment, int], ...]]:
    """The plan with the rung's further repeats, and those; unchanged where all is settled, or the bound reached."""
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
