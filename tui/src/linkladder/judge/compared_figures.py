"""Compares two runs in more than throughput: loss, round trips idle and loaded, transactions, and CPU cores used.

Needs several figures of each run: those of its repeats, or the medians of the parts of a single series of idle pings.
As for throughput there are three answers, at 95 % for all these figures together. A change within the band of its kind
does not matter, whatever the statistics say. If CPU was withheld from an end in the worse run, a change that this can
explain is no difference of the link; it can explain any rise of a round trip.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from linkladder import phrases
from linkladder.judge.evidence import ways
from linkladder.judge.stats import difference
from linkladder.judge.withheld import most_explained
from linkladder.model import Direction, Document, Experiment, ExperimentResult, Protocol, TrialResult
from linkladder.model.same_setting import Identity, between
from linkladder.verdicts import Answer, ComparedFigure, Measured

# Changes that do not matter: this share of the first run's figure, or this amount in its unit if that is more.
BANDS = {
    Measured.LOSS: (0.0, 0.02),  # percent of the datagrams
    Measured.IDLE_RTT: (0.05, 0.02),  # ms
    Measured.LOADED_RTT: (0.05, 0.1),
    Measured.TRANSACTIONS: (0.02, 0.0),
    Measured.SENDER_CORES: (0.05, 0.02),
    Measured.RECEIVER_CORES: (0.05, 0.02),
}
PARTS = 5  # parts into which a single series of pings is split
LEAST = 4  # pings that a part must have

_Key = tuple[str, Identity, Measured]


@dataclass(frozen=True)
class _Figures:
    """One figure of a run: the setting in words, and a value for each trial."""

    words: str
    way: str
    values: tuple[float, ...]
    pair: str  # the ends that it loads, in words, where there are more than two
    lacked: float  # largest share of a trial's rate that an end may have lacked because CPU was withheld from it


def compared_figures(a: Document, b: Document) -> tuple[ComparedFigure, ...]:
    """Each figure that both runs measured, compared, in the order of the first run."""
    left, right = _of(a), _of(b)
    both = [key for key in left if key in right]
    confidence = 1 - 0.05 / max(1, len(both))
    return tuple(_compared(key, left[key], right[key], confidence) for key in both)


def _of(document: Document) -> dict[_Key, _Figures]:
    found: dict[_Key, _Figures] = {}
    for rung in document.rungs:
        words = phrases.arms_apart([e.parameters for e in rung.experiments], rung.paths)
        for e in rung.experiments:
            good = [t for t in e.trials if t.ok]
            for way in ways(e.parameters):
                lacked = max((most_explained(t, way)[0] for t in good), default=0.0)
                for measured, values in _figures(e, good, way).items():
                    if values:
                        key = str(rung.name), between(e.parameters, rung.paths, way), measured
                        pair = phrases.loaded(e.parameters, rung.paths, way) if phrases.several_ends(rung.paths) else ""
                        found[key] = _Figures(words[e.parameters.id], str(way), tuple(values), pair, lacked)
    return found


def _figures(e: ExperimentResult, good: list[TrialResult], way: Direction) -> dict[Measured, list[float]]:
    p: Experiment = e.parameters
    if p.protocol is Protocol.ECHO:
        return {Measured.IDLE_RTT: _idle(good)}
    if p.protocol is Protocol.RR:
        return {Measured.TRANSACTIONS: [t.transactions.rate for t in good if t.transactions]}
    if p.protocol not in (Protocol.TCP, Protocol.UDP):
        return {}
    sender = [cpu.cores_used for t in good if (cpu := t.sender(way).cpu)]
    receiver = [cpu.cores_used for t in good if (cpu := t.receiver(way).cpu)]
    cores = {Measured.SENDER_CORES: sender, Measured.RECEIVER_CORES: receiver}
    if p.protocol is Protocol.UDP:
        return {
            Measured.LOSS: [100 * t.lost / t.datagrams for t in good if t.datagrams and t.lost is not None],
            **cores,
        }
    loaded = [r.p50_ms for t in good if (r := t.rtt_under_load) and r.p50_ms is not None]
    return {Measured.LOADED_RTT: loaded, **cores}


def _idle(good: list[TrialResult]) -> list[float]:
    """The median in ms of each series of pings; a single series is split, since one figure alone shows no noise."""
    series = [t.rtt.samples_ms for t in good if t.rtt and t.rtt.samples_ms]
    if len(series) == 1 and len(series[0]) >= PARTS * LEAST:
        size = len(series[0]) // PARTS
        series = [series[0][n * size : (n + 1) * size] for n in range(PARTS)]
    return [statistics.median(one) for one in series]


def _compared(key: _Key, left: _Figures, right: _Figures, confidence: float) -> ComparedFigure:
    rung, _, measured = key
    change, noise = difference(left.values, right.values, confidence)
    before = statistics.fmean(left.values)
    share, least = BANDS[measured]
    band = max(share * before, least)
    answer = Answer.UNDECIDED
    if noise is not None and abs(change) > max(noise, band):
        answer = Answer.DIFFERS
    elif noise is not None and abs(change) + noise <= band:
        answer = Answer.SAME
    kept = answer is Answer.DIFFERS and _by_withheld(measured, left, right, change)
    answer = Answer.UNDECIDED if kept else answer
    repeats = len(left.values), len(right.values)
    figures = before, before + change, noise, kept, repeats
    return ComparedFigure(rung, left.words, left.way, measured, answer, *figures, left.pair)


def _by_withheld(measured: Measured, left: _Figures, right: _Figures, change: float) -> bool:
    """Whether CPU withheld from an end explains the change; it never does for the cores that an end used."""
    more, less = (right, left) if change > 0 else (left, right)
    if measured is Measured.LOSS:
        return 100 * more.lacked >= abs(change)
    if measured is Measured.TRANSACTIONS:
        return less.lacked > 0 and statistics.fmean(less.values) >= (1 - less.lacked) * statistics.fmean(more.values)
    return measured in (Measured.IDLE_RTT, Measured.LOADED_RTT) and more.lacked > 0
