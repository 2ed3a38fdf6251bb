"""Answers how many transactions a rung carries and how long they take, where a plan asks for them."""

from __future__ import annotations

import statistics
from dataclasses import replace

from linkladder.judge.evidence import BUSY
from linkladder.model import Experiment, ExperimentResult, Path, Protocol, RungResult, TrialResult
from linkladder.phrases import transactions as say


def transactions(rung: RungResult) -> tuple[str, ...]:
    """A sentence for each kind of transaction; arms that are compared with each other have their own answers."""
    compared = {p for e in rung.experiments for p in (e.parameters.id, e.parameters.baseline) if e.parameters.baseline}
    groups: dict[Experiment, list[say.Sessions]] = {}
    for e in rung.experiments:
        p = e.parameters
        good = [t for t in e.trials if t.ok and t.transactions]
        if p.protocol is Protocol.RR and good and p.id not in compared and not p.settings:
            groups.setdefault(replace(p, id="", sessions=1, repeats=1), []).append(_sessions(e, good, rung.paths))
    return tuple(say.carried(p, rung.name, rung.paths, by) for p, by in groups.items())


def _sessions(e: ExperimentResult, good: list[TrialResult], paths: tuple[Path, ...]) -> say.Sessions:
    seen = [x for t in good if (x := t.transactions)]
    middle = [x.p50_us for x in seen if x.p50_us is not None]
    most = [x.p99_us for x in seen if x.p99_us is not None]
    busy = [end.name for t in good for end in t.ends if end.cpu and end.cpu.busiest >= BUSY]
    return say.Sessions(
        e.parameters.sessions,
        tuple(x.rate for x in seen),
        statistics.median(middle) if middle else None,
        statistics.median(most) if most else None,
        tuple(say.end_name(end, e.parameters, paths) for end in dict.fromkeys(busy)),
    )
