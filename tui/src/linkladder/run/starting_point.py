"""Begins a staircase at the best setting that an earlier run measured on its rung."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from linkladder import phrases
from linkladder import plan as plans
from linkladder.model import Experiment, Generator, HostFacts, Plan, Rung, Stair
from linkladder.store import Store, earlier
from linkladder.tools import ToolVersions

# What a staircase and an earlier setting must have in common; the others of a load are where it may begin.
_ALIKE = (
    "protocol",
    "direction",
    "dscp",
    "settings",
    "cores",
    "on_cores",
    "affinity",
    "client_port",
    "incompressible",
    "company",
)


def begun_at_best(plan: Plan, store: Store) -> tuple[Plan, tuple[str, ...]]:
    """The plan with its open staircases begun at what is known to be best, and a sentence on each of them.

    What no earlier run tells stays open, and so does what would begin with a tool that cannot do what another of these
    ends can in a later step: the run then looks for the generator's strongest setting itself.
    """
    rungs, said, hosts = [], [], store.hosts()
    for rung in plan.rungs:
        moved = rung
        for stair in rung.stairs:
            best = _best(rung, stair, store, hosts) if stair.first.strongest else None
            if best:
                moved = plans.begun_at(moved, stair, Generator.of_load(best.experiment))
                said.append(phrases.begins_at(rung.name, best.experiment, best.bps, best.run))
        rungs.append(moved)
    return replace(plan, rungs=tuple(rungs)), tuple(said)


def _best(rung: Rung, stair: Stair, store: Store, hosts: Mapping[str, HostFacts]) -> earlier.Carried | None:
    """Of the latest run that chose among settings there, over as many paths to the same peers and that way, the best
    with which the staircase comes as far as with any; None if there is none.
    """
    for found in earlier.carried(store, rung.name):
        alike = [one for one in found if _same_ends(one.rung, rung) and _alike(one.experiment, stair.first)]
        if len({Generator.of_load(one.experiment) for one in alike}) > 1 or any(e.experiment.strongest for e in alike):
            ranked = sorted(alike, key=lambda one: -one.bps)
            ways = [Generator.of_load(one.experiment) for one in ranked]
            names = [(path.origin or "near", path.peer) for path in rung.paths]
            if not all(name in hosts for pair in names for name in pair):
                return ranked[0]
            from linkladder.engine.strongest import beginning  # imported late, as most runs climb no staircase

            ends = [(_versions(hosts[here]), _versions(hosts[there])) for here, there in names]
            begins = beginning(rung, stair, ways, ends)
            return ranked[ways.index(begins)] if begins in ways else None
    return None


def _versions(facts: HostFacts) -> ToolVersions:
    return ToolVersions(facts.tools, facts.os)


def _same_ends(one: Rung, other: Rung) -> bool:
    return (one.peers, len(one.paths)) == (other.peers, len(other.paths))


def _alike(e: Experiment, first: Experiment) -> bool:
    return all(getattr(e, key) == getattr(first, key) for key in _ALIKE)
