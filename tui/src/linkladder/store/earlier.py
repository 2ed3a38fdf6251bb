"""What earlier runs carried in each setting, so that a staircase can begin at the best of them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from linkladder import formats
from linkladder.model import Experiment, Plan, Rung, RungName, RunState
from linkladder.store.database import Store
from linkladder.store.faults import explained

RUNS = 20  # the latest that are looked at


@dataclass(frozen=True)
class Carried:
    """A TCP setting of an earlier run, and the median of what it carried in its better direction."""

    run: str
    rung: Rung
    experiment: Experiment
    bps: float


def carried(store: Store, name: RungName) -> Iterator[tuple[Carried, ...]]:
    """The settings of each complete run that measured the rung, the latest run first."""
    runs = "SELECT id, plan, schema FROM runs WHERE state = ? ORDER BY rowid DESC LIMIT ?"
    trials = "SELECT experiment, goodput FROM trials WHERE run = ? AND rung = ? AND ok AND weight"
    for run, plan, schema in store.select(runs, RunState.COMPLETE, RUNS):
        rates: dict[str, list[float]] = {}
        for experiment, goodput in store.select(trials, run, name):
            rates.setdefault(str(experiment), []).append(float(goodput))
        if rates:
            with explained(store.folder):
                asked = formats.record(Plan, json.loads(plan), schema)
            rung = next(r for r in asked.rungs if r.name is name)
            found = (e for e in rung.experiments if e.id in rates)
            yield tuple(Carried(run, rung, e, statistics.median(rates[e.id])) for e in found)
