"""Describes an experiment before it is started: what it answers, what it changes and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import phrases, tools, units
from linkladder import plan as plans
from linkladder.model import Affinity, Experiment, Path, Plan, Protocol, Rung, Stair

LOADS = {Protocol.RR: "small transactions", Protocol.TCP: "TCP throughput", Protocol.UDP: "paced UDP"}


def question(plan_title: str) -> str:
    """The question at the beginning of a plan's title, such as 'What should I set?'."""
    head, mark, _ = plan_title.partition("?")
    return head + mark


def about(plan: Plan, soonest: float | None = None) -> list[str]:
    """Paragraphs on where and how long it measures, what it changes and undoes, and what it tries.

    `soonest`: the seconds that it takes at best; None if nobody knows more of them than the plan tells.
    """
    if not plan.rungs:
        return ["It has no address to measure over: Enter opens the description of the link."]
    time = units.at_best(plans.soonest(plan) if soonest is None else soonest, plans.longest(plan))
    sentences = [f"Takes {time}, {units.plural(plans.trials(plan), 'trial')}.", *(_where(rung) for rung in plan.rungs)]
    arms = [e for rung in plan.rungs for e in (*rung.experiments, *_to_come(rung))]
    if changed := _changed(arms):
        sentences.append(
            f"Changes {changed}. Each change is on loan for one trial: what was "
            "there is written down first, and comes back whatever happens. What an adapter lacks or has is left out."
        )
    elif count := plans.restarts(plan):
        sentences.append(phrases.restarts(count))
    else:
        sentences.append("Changes nothing on the machines.")
    sentences += _beginnings(plan)
    tried = dict.fromkeys(
        phrases.difference(e, stair.first)
        for rung in plan.rungs
        for stair in rung.stairs
        for step in plans.to_try(stair)
        for e in step
    )
    if tried:
        sentences.append(f"Then tries {', '.join(tried)}; each beside the best so far, and kept only if it won.")
    sentences += [said for rung in plan.rungs for stair in rung.stairs for said in _by_other_tools(stair)]
    if cores := sorted({e.cores for e in arms if e.cores}):
        sentences.append(f"Confines the tools to {', '.join(map(str, cores))} of the cores.")
    if named := dict.fromkeys(phrases.cores(e) for e in arms if e.on_cores):
        sentences.append(f"Confines the tools to {', then to '.join(named)}.")
    placed = {e.affinity for e in arms}
    if placed & {Affinity.BESIDE, Affinity.AWAY}:
        sentences.append("Pins the tools beside the cores that serve their adapter, and away from them.")
    if Affinity.SIBLINGS_IDLE in placed:
        sentences.append("Confines the tools to one thread of each core, so that its hyperthreads stay idle.")
    measured = dict.fromkeys(LOADS[e.protocol] for e in arms if e.protocol in LOADS)
    sentences.append(
        f"Measures {' and '.join(measured)}, in pairs where something is compared; the answer is a sentence."
    )
    return sentences


def _changed(arms: Sequence[Experiment]) -> str:
    """What is changed, and of what: an adapter of the path, or the whole machine for all that it sends meanwhile."""
    lent = [e for e in arms if e.settings]
    of_machine = dict.fromkeys(phrases.settings(e) for e in lent if any(one.of_machine for one in e.settings))
    on_adapters = dict.fromkeys(phrases.settings(e) for e in lent if not any(one.of_machine for one in e.settings))
    said = [f"{'; '.join(on_adapters)}, at both ends' adapters"] * bool(on_adapters)
    said += [f"{'; '.join(of_machine)}, for all new connections of both machines"] * bool(of_machine)
    return ", and ".join(said)


def _where(rung: Rung) -> str:
    """Every path of a rung, as a trial loads all of them."""
    return f"On {rung.name}: {'; '.join(map(_way, rung.paths))}."


def _way(path: Path) -> str:
    here, there = (f" at {name}" if name else "" for name in (path.origin, path.peer))
    return f"{path.local or 'here'}{here} to {path.remote or 'the peer'}{there}"


def _beginnings(plan: Plan) -> list[str]:
    """Sentences on where its staircases begin."""
    firsts = [(rung, stair.first) for rung in plan.rungs for stair in rung.stairs]
    known = dict.fromkeys(phrases.arm(first) for _, first in firsts if not first.strongest)
    written = dict.fromkeys(phrases.arm(e) for rung, e in firsts if e.strongest and not plans.sought(rung))
    sentences = [f"Begins at the best that is known: {'; '.join(known)}."] if known else []
    if written:
        sentences.append(f"Begins at {'; '.join(written)}: {phrases.OVER_SEVERAL_PATHS}.")
    if any(first.strongest and plans.sought(rung) for rung, first in firsts):
        begins = "What is not known begins" if known else "Begins"
        sentences.append(f"{begins} where the generator is strongest, which short looks find first.")
    return sentences


def _by_other_tools(stair: Stair) -> list[str]:
    """Sentences on what the tool that a staircase begins with cannot do in later steps, and which tools can."""
    found: dict[tuple[str, ...], list[str]] = {}
    for e in (e for step in plans.to_try(stair) for e in step):
        if e.tool not in (able := tools.takers(e)):
            found.setdefault(able, []).append(phrases.difference(e, stair.first))
    way = phrases.way(stair.first.direction)
    return [
        f"Only where both ends have {' or '.join(able) or 'a tool for it'}, {way}: {', '.join(tried)}."
        for able, tried in found.items()
    ]


def _to_come(rung: Rung) -> list[Experiment]:
    return [e for stair in rung.stairs for step in plans.to_try(stair) for e in step]
