"""Lets a plan grow: adds what a judgement asks for next to the plan of the run."""

from __future__ import annotations

from dataclasses import replace

from linkladder.model import Experiment, Plan, Rung, RungName
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
        known = {_setting(e): e for e in old.experiments}
        more = [
            replace(known.get(_setting(e), e), repeats=e.repeats)
            for e in rung.experiments
            if _setting(e) not in known or e.repeats > known[_setting(e)].repeats
        ]
        if more:
            found.append(replace(old, experiments=tuple(more)))
    return replace(plan, rungs=tuple(found))


def _setting(e: Experiment) -> Experiment:
    """The experiment without its name and its number of repeats, to tell whether two measure the same."""
    return replace(e, id="", repeats=0, at_most=0, strongest=False)


def extended(plan: Plan, more: Plan) -> Plan:
    """`plan` with everything that `more` adds to it: other rungs and experiments, and further repeats."""
    known = {r.name: r for r in plan.rungs}
    for rung in more.rungs:
        old = known.get(rung.name)
        known[rung.name] = replace(old, experiments=_both(old, rung)) if old else rung
    return replace(plan, rungs=tuple(known[name] for name in RungName if name in known))


def _both(old: Rung, more: Rung) -> tuple[Experiment, ...]:
    found = {e.id: e for e in old.experiments}
    for e in more.experiments:
        known = found.get(e.id, e)
        found[e.id] = replace(known, repeats=max(known.repeats, e.repeats))
    return tuple(found.values())
