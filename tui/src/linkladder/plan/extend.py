"""Lets a plan grow: adds what a judgement asks for next to the plan of the run."""

from __future__ import annotations

from dataclasses import replace

from linkladder.model import Experiment, Plan, Rung, RungName
from linkladder.model.same_setting import identity
from linkladder.plan.naming import named_apart
from linkladder.plan.read import read_plan
from linkladder.verdicts import DocumentJudgement


def follow_up_text(judged: DocumentJudgement, rungs: tuple[str, ...] = ()) -> str:
    """The experiments that a judgement asks for, as a plan file; only those of `rungs`, or all if it is empty."""
    tables = []
    for rung in judged.rungs:
        for f in rung.follow_up if not rungs or rung.rung in rungs else ():
            tables.append(f"# {rung.rung}: not settled: {f.question}; {f.tells}\n{f.plan}")
    if not tables:
        return ""
    return 'name = "follow-up"\ntitle = "What the evidence asks for"\n\n' + "\n".join(tables)


def follow_up(plan: Plan, judged: DocumentJudgement, rungs: tuple[str, ...] = (), cores: int = 2) -> Plan:
    """Those experiments on the paths of `plan`, without what `plan` has already; has no rungs if nothing is left."""
    text = follow_up_text(judged, rungs)
    if not text:
        return replace(plan, rungs=())
    found = []
    for rung in read_plan(text, "the follow-up", cores, plan.contract).rungs:
        old = next((r for r in plan.rungs if r.name is rung.name), rung)
        known = {identity(e): e for e in reversed(old.experiments)}
        more = [
            replace(known.get(identity(e), e), repeats=e.repeats)
            for e in rung.experiments
            if identity(e) not in known or e.repeats > known[identity(e)].repeats
        ]
        if more:
            found.append(replace(old, experiments=tuple(more)))
    return replace(plan, rungs=tuple(found))


def extended(plan: Plan, more: Plan) -> Plan:
    """`plan` with everything that `more` adds to it: other rungs and experiments, and further repeats."""
    known = {r.name: r for r in plan.rungs}
    for rung in more.rungs:
        old = known.get(rung.name)
        known[rung.name] = replace(old, experiments=_both(old, rung)) if old else rung
    return replace(plan, rungs=tuple(known[name] for name in RungName if name in known))


def replaced(plan: Plan, before: Plan, after: Plan) -> Plan:
    """`plan` with what `after` has in the place of what `before` had; what it has besides stays."""
    had = {(r.name, e.id) for r in before.rungs for e in r.experiments}
    rungs = {r.name: r for r in plan.rungs}
    for rung in after.rungs:
        known = rungs[rung.name].experiments if rung.name in rungs else ()
        if all((rung.name, e.id) in had for e in known):
            rungs[rung.name] = rung
            continue
        more = {e.id: e for e in rung.experiments}
        there = [more.pop(e.id, None) if (rung.name, e.id) in had else e for e in known]
        rungs[rung.name] = replace(rung, experiments=(*filter(None, there), *more.values()))
    return replace(plan, rungs=tuple(rungs[name] for name in RungName if name in rungs))


def _both(old: Rung, more: Rung) -> tuple[Experiment, ...]:
    return named_apart(
        old.experiments,
        more.experiments,
        lambda known, asked: replace(known, repeats=max(known.repeats, asked.repeats)),
    )
