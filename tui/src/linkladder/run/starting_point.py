"""Begins a staircase at the best setting that an earlier run measured on its rung."""

from __future__ import annotations

from dataclasses import replace

from linkladder import phrases
from linkladder import plan as plans
from linkladder.model import Experiment, Generator, Plan, Rung
from linkladder.store import Store, earlier

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

    What no earlier run tells stays open: the run then looks for the generator's strongest setting itself.
    """
    rungs, said = [], []
    for rung in plan.rungs:
        moved = rung
        for stair in rung.stairs:
            if stair.first.strongest and (best := _best(rung, stair.first, store)):
                moved = plans.begun_at(moved, stair, Generator.of_load(best.experiment))
                said.append(phrases.begins_at(rung.name, best.experiment, best.bps, best.run))
        rungs.append(moved)
    return replace(plan, rungs=tuple(rungs)), tuple(said)


def _best(rung: Rung, first: Experiment, store: Store) -> earlier.Carried | None:
    """Of the latest run that chose among settings there, over as many paths to the same peers and that way; None if
    none did.
    """
    for found in earlier.carried(store, rung.name):
        alike = [one for one in found if _same_ends(one.rung, rung) and _alike(one.experiment, first)]
        if len({Generator.of_load(one.experiment) for one in alike}) > 1 or any(e.experiment.strongest for e in alike):
            return max(alike, key=lambda one: one.bps)
    return None


def _same_ends(one: Rung, other: Rung) -> bool:
    return (one.peers, len(one.paths)) == (other.peers, len(other.paths))


def _alike(e: Experiment, first: Experiment) -> bool:
    return all(getattr(e, key) == getattr(first, key) for key in _ALIKE)
