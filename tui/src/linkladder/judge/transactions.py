"""Answers how many transactions a rung carries and how long they take, where a plan asks for them."""

from __future__ import annotations

import statistics

from linkladder.judge.evidence import BUSY
from linkladder.model import ExperimentResult, Path, Protocol, RungResult
from linkladder.phrases import transactions as say
from linkladder.phrases.ways import end_name


def transactions(rung: RungResult) -> tuple[str, ...]:
    """A sentence for each kind of transaction; arms that are compared with each other have their own answers."""
    compared = {p for e in rung.experiments for p in (e.parameters.id, e.parameters.baseline) if e.parameters.baseline}
    kinds: dict[str, dict[int, list[ExperimentResult]]] = {}
    for e in rung.experiments:
        p = e.parameters
        if p.protocol is Protocol.RR and p.id not in compared and any(t.ok and t.transactions for t in e.trials):
            kinds.setdefault(say.kind(p, rung.name, rung.paths), {}).setdefault(p.sessions, []).append(e)
    return tuple(
        say.carried(kind, [_sessions(count, by[count], rung.paths) for count in sorted(by)])
        for kind, by in kinds.items()
    )


def _sessions(count: int, alike: list[ExperimentResult], paths: tuple[Path, ...]) -> say.Sessions:
    """What the good trials with so many sessions show."""
    good = [(e.parameters, t, x) for e in alike for t in e.trials if t.ok and (x := t.transactions)]
    half = [x.p50_us for _, _, x in good if x.p50_us is not None]
    most = [x.p99_us for _, _, x in good if x.p99_us is not None]
    busy = [end_name(end.name, p, paths) for p, t, _ in good for end in t.ends if end.cpu and end.cpu.busiest >= BUSY]
    return say.Sessions(
        count,
        tuple(x.rate for _, _, x in good),
        statistics.median(half) if half else None,
        statistics.median(most) if most else None,
        tuple(dict.fromkeys(busy)),
    )
