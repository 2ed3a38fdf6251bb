"""Finds clocks that were set, and trials that are not in the order in which a run measures them.

Needs when trials began, and what each end's clocks were beside the near end's. An end's time of day is used by no
measurement, but orders its records and logs. Its monotonic clock goes on unless it is started anew, or is another
machine's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from linkladder.judge.history import moment
from linkladder.model import Document, Protocol, RungName, RungResult, RunState, TrialResult
from linkladder.phrases import arranged as say
from linkladder.verdicts import Cause, Concern

STEP = 1.0  # seconds; smaller differences drown in the round trip
DRIFT = 1e-3  # seconds a second, at which clocks may go apart; twice as fast as time is slewed
ORDER = tuple(RungName)
FIRST = {Protocol.DF: 0, Protocol.ECHO: 1}  # measured before any load
BESIDE = 2.0  # seconds by which two trials may seem to be in another order
AFTER = 5.0  # seconds after the run's end


def clocks(rung: RungResult, document: Document) -> list[Concern]:
    """Concerns, each of which takes the firmness, about clocks and the order of trials."""
    said = [*_steps(rung, document), *_out_of_order(rung, document), *_of_the_run(document)]
    return [Concern(Cause.CONTRADICTION, text, provisional=True) for text in dict.fromkeys(said)]


def _in_time(trials: Iterable[TrialResult]) -> list[tuple[float, TrialResult]]:
    known = ((moment(t.started), t) for t in trials)
    return sorted(((at, t) for at, t in known if at is not None), key=lambda one: one[0])


def _steps(rung: RungResult, document: Document) -> Iterator[str]:
    """A step of each end's clocks, from trial to trial of the rung, as ends may be moved between rungs.

    A restart for a kernel, or a peer that was lost, explains one of the monotonic clock.
    """
    restarted = any(e.parameters.kernel for r in document.rungs for e in r.experiments)
    restarted = restarted or any(t.interruptions for t in document.trials)
    wall: dict[str, list[tuple[float, float]]] = {}
    steady: dict[str, list[tuple[float, float]]] = {}
    for at, t in _in_time(t for e in rung.experiments for t in e.trials):
        for number, end in enumerate(t.ends):
            if end.wall_offset_s is not None:
                wall.setdefault(end.name, []).append((at, end.wall_offset_s))
            if number and end.clock_offset_ms is not None and end.tcp is not None:
                steady.setdefault(end.name, []).append((at, end.clock_offset_ms / 1000))
    for name, seen in wall.items():
        if step := _step(seen):
            yield say.clock_set(name, step)
    for name, seen in steady.items():
        if not restarted and (step := _step(seen)):
            yield say.clock_of_another(name, step)


def _step(seen: list[tuple[float, float]]) -> float:
    """The first step in seconds; 0 if there is none."""
    for (first, before), (second, after) in itertools.pairwise(seen):
        if abs(after - before) > STEP + DRIFT * (second - first):
            return after - before
    return 0.0


def _out_of_order(rung: RungResult, document: Document) -> Iterator[str]:
    """Pings and probes come before loads, and rungs one after the other; a run that was resumed may differ."""
    if any(t.interruptions for t in document.trials):
        return
    first = [
        (moment(t.started), t, e.parameters) for e in rung.experiments for t in e.trials if not e.parameters.kernel
    ]
    before = [at + t.seconds for at, t, p in first if at is not None and p.protocol in FIRST and t.repeat == 0]
    loads = [at for at, _, p in first if at is not None and p.protocol not in FIRST]
    if before and loads and max(before) > min(loads) + BESIDE:
        yield say.pings_afterwards(rung.name)
    spans = {rung.name: list[float]()} | {
        r.name: [at for e in r.experiments for t in e.trials if (at := moment(t.started))] for r in document.rungs
    }
    for low in ORDER[: ORDER.index(rung.name)]:
        if spans.get(low) and spans[rung.name] and max(spans[low]) > min(spans[rung.name]) + BESIDE:
            yield say.rungs_out_of_order(low, rung.name)


def _of_the_run(document: Document) -> Iterator[str]:
    ended = moment(document.run.ended)
    if document.run.state is RunState.COMPLETE and ended is None and not document.run.ended:
        yield say.without_end()
    lost_at = [i.started for t in document.trials for i in t.interruptions]
    if ended is not None and any((moment(at) or 0.0) > ended + AFTER for at in lost_at):
        yield say.after_the_end()
    if ended is not None and any(at + t.seconds > ended + AFTER for at, t in _in_time(document.trials)):
        yield say.after_the_end()
