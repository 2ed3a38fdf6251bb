"""Tells what a changed setting did, by comparing each figure of the changed arm with the unchanged arm in pairs.

Both arms' trials of the same repeat make a pair; a failed trial voids its pair. A figure that is missing or zero in any
pair is left out. There is one answer for each changed arm and direction; the more answers there are, the stricter the
test of each. Each step of a staircase counts its own answers.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable

from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.pairs import judge_pairs
from linkladder.model import Affinity, Direction, Experiment, ExperimentResult, Protocol, RungResult, TrialResult
from linkladder.model.same_setting import once_more
from linkladder.verdicts import Change, ChangedFigure, Measured

PRIMARY = 2  # figures that count as claims of their own: the rate, and the CPU cores that it needed

Figure = Callable[[TrialResult], float | None]


def changes(rung: RungResult) -> tuple[Change, ...]:
    """Every changed arm of the rung with its answers, in the order of the plan."""
    by_id = {e.parameters.id: e for e in rung.experiments}
    asked = [
        (by_id[e.parameters.baseline], e, way)
        for e in rung.experiments
        if e.parameters.baseline in by_id and e.trials
        for way in ways(e.parameters)
    ]
    claimed = Counter(b.parameters.step for a, b, _ in asked if not once_more(b.parameters, a.parameters))
    return tuple(_change(a, b, way, _claims(b.parameters) * max(1, claimed[b.parameters.step])) for a, b, way in asked)


def _claims(p: Experiment) -> int:
    """How many figures count as claims; if the tool is bound to CPU cores, the scatter counts as well."""
    return PRIMARY + (p.affinity is not Affinity.FREE)


def _change(a: ExperimentResult, b: ExperimentResult, way: Direction, comparisons: int) -> Change:
    pairs, void = _pairs(a, b)
    figures = []
    for measured, figure in _figures(b.parameters, way):
        both = [(x, y) for one, other in pairs if (x := figure(one)) and (y := figure(other)) and x > 0 and y > 0]
        if len(both) != len(pairs) or not both:
            continue
        left, right = [x for x, _ in both], [y for _, y in both]
        found = judge_pairs(left, right, comparisons)
        figures.append(
            ChangedFigure(
                measured,
                found.answer,
                statistics.median(left),
                statistics.median(right),
                found.pairs,
                found.ratio,
                found.low,
                found.high,
                found.confidence,
                found.more_pairs,
                found.outlier,
            )
        )
    return Change(b.parameters.id, a.parameters.id, str(way), len(pairs), void, tuple(figures))


def _pairs(a: ExperimentResult, b: ExperimentResult) -> tuple[list[tuple[TrialResult, TrialResult]], int]:
    """The pairs of good trials of the same repeat, and how many pairs a failed trial voided."""
    left, right = ({t.repeat: t for t in arm.trials} for arm in (a, b))
    both = [(left[n], right[n]) for n in sorted(left.keys() & right.keys())]
    good = [(x, y) for x, y in both if x.ok and y.ok]
    return good, len(both) - len(good)


def _figures(p: Experiment, way: Direction) -> list[tuple[Measured, Figure]]:
    carried: tuple[Measured, Figure]
    if p.protocol is Protocol.RR:
        carried = (Measured.TRANSACTIONS, lambda t: t.transactions.rate if t.transactions else None)
    else:
        carried = (Measured.GOODPUT, lambda t: direction_bps(t, p, way))
    placed = p.affinity is not Affinity.FREE
    return [
        carried,
        *([(Measured.SCATTER, lambda t: _scatter(t, way))] if placed else []),
        (Measured.SENDER_CORES, lambda t: cpu.cores_used if (cpu := t.sender(way).cpu) else None),
        (Measured.RECEIVER_CORES, lambda t: cpu.cores_used if (cpu := t.receiver(way).cpu) else None),
        (Measured.PER_CORE, lambda t: _per_core(t, way, carried[1])),
        (Measured.LOADED_RTT, lambda t: t.rtt_under_load.p50_ms if t.rtt_under_load else None),
    ]


def _scatter(t: TrialResult, way: Direction) -> float | None:
    """The scatter of the counted seconds' rates, as a share of their mean; None if there are too few."""
    seconds = [i.bps for i in t.intervals if i.counted and i.direction is way]
    mean = statistics.fmean(seconds) if len(seconds) > 2 else 0.0
    return statistics.stdev(seconds) / mean if mean else None


def _per_core(t: TrialResult, way: Direction, carried: Figure) -> float | None:
    """The rate divided by the CPU cores that both ends used together."""
    here, there, rate = t.sender(way).cpu, t.receiver(way).cpu, carried(t)
    if here is None or there is None or rate is None or here.cores_used + there.cores_used <= 0:
        return None
    return rate / (here.cores_used + there.cores_used)
