"""Has the pairs of a comparison measured once more that a failed trial voided.

The number of pairs is fixed beforehand, and a voided pair is none: without another in its place a comparison of four
would have too few to answer. A new pair takes its place whatever the others show, so no answer is sought by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkladder import judge, phrases
from linkladder import plan as plans
from linkladder.model import Document, Experiment, Plan, RungName, RungResult

FEW = 1 / 3  # of the pairs: where more are void, it is the setting or the link that breaks them, and more would break


def pairs_again(
    plan: Plan, name: RungName, measured: Callable[[], Document], asked: set[str]
) -> tuple[Plan, tuple[tuple[Experiment, int], ...], str]:
    """The plan with another pair for each that is void, the new trials in order, and why.

    Each comparison is looked at once, and noted in `asked`; pairs of boots are not run again, as they take too long.
    """
    rung = next(r for r in plan.rungs if r.name is name)
    compared = [e for e in rung.experiments if e.baseline and not e.kernel and e.id not in asked]
    if not compared:
        return plan, (), ""
    asked |= {e.id for e in compared}
    document = measured()
    found = judge.proven(next((r for r in document.rungs if r.name is name), RungResult(name)), document)
    good = {e.parameters.id: {t.repeat: t.ok for t in e.trials} for e in found.experiments}
    lacking = {e.id: n for e in compared if (n := _void(good.get(e.id, {}), good.get(e.baseline, {})))}
    if not lacking:
        return plan, (), ""
    groups = {e.baseline: max(lacking.get(o.id, 0) for o in compared if o.baseline == e.baseline) for e in compared}
    before = {e.id: e.repeats for e in rung.experiments}
    more = {**lacking, **groups}
    after = replace(
        rung, experiments=tuple(replace(e, repeats=e.repeats + more.get(e.id, 0)) for e in rung.experiments)
    )
    new = tuple((e, n) for e, n in plans.order(after) if n >= before[e.id])
    rungs = tuple(after if r.name is name else r for r in plan.rungs)
    return replace(plan, rungs=rungs), new, phrases.pairs_once_more(name, sum(lacking.values()))


def _void(b: dict[int, bool], a: dict[int, bool]) -> int:
    """How many pairs of these trials a failed one voided; 0 if that is more than a few of them."""
    both = sorted(a.keys() & b.keys())
    void = sum(not (a[n] and b[n]) for n in both)
    return void if void <= FEW * len(both) else 0
