"""Two runs beside their throughput: loss, round trips idle and loaded, transactions, and the cores that it took.

Needs several figures of each run: its repeats, or of one series of idle pings the medians of its parts.  As of
throughput there are three answers, at 95 % for all of these figures together; a change within the band of its kind does
not matter to anybody, whatever the statistics say.  What an end that was kept from its CPU lost, held up or left undone
in the worse run is no difference of the link's, in the measure that this explains; of round trips, however long.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from linkladder import phrases
from linkladder.judge.evidence import ways
from linkladder.judge.stats import difference
from linkladder.judge.withheld import most_explained
from linkladder.model import Direction, Document, Experiment, ExperimentResult, Protocol, TrialResult
from linkladder.model.same_setting import Identity, identity
from linkladder.verdicts import Answer, ComparedFigure, Measured

# What does not matter: this share of the first figure, or so much of its unit where that is more.
BANDS = {
    Measured.LOSS: (0.0, 0.02),  # percent of the datagrams
    Measured.IDLE_RTT: (0.05, 0.02),  # ms
    Measured.LOADED_RTT: (0.05, 0.1),
    Measured.TRANSACTIONS: (0.02, 0.0),
    Measured.SENDER_CORES: (0.05, 0.02),
    Measured.RECEIVER_CORES: (0.05, 0.02),
}
PARTS = 5  # of one series of pings
LEAST = 4  # pings in a part

_Key = tuple[str, Identity, str, Measured]


@dataclass(frozen=True)
class _Figures:
    """What one run has of a figure, in words and trial by trial."""

    words: str
    values: tuple[float, ...]
    lacked: float  # of what any trial did, an end may have lacked at most for CPU that was withheld from it


def compared_figures(a: Document, b: Document) -> tuple[ComparedFigure, ...]:
    """What both runs measured, in the order of the first."""
    left, right = _of(a), _of(b)
    both = [key for key in left if key in right]
    confidence = 1 - 0.05 / max(1, len(both))
    return tuple(_compared(key, left[key], right[key], confidence) for key in both)


def _of(document: Document) -> dict[_Key, _Figures]:
    found: dict[_Key, _Figures] = {}
    for rung in document.rungs:
        words = phrases.arms_apart([e.parameters for e in rung.experiments])
        for e in rung.experiments:
            good = [t for t in e.trials if t.ok]
            for way in ways(e.parameters):
                lacked = max((most_explained(t, way)[0] for t in good), default=0.0)
                for measured, values in _figures(e, good, way).items():
                    if values:
                        key = str(rung.name), identity(e.parameters), str(way), measured
                        found[key] = _Figures(words[e.parameters.id], tuple(values), lacked)
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
    """A median for each series; a single one is taken in parts, since one figure has no noise to compare with."""
    series = [t.rtt.samples_ms for t in good if t.rtt and t.rtt.samples_ms]
    if len(series) == 1 and len(series[0]) >= PARTS * LEAST:
        size = len(series[0]) // PARTS
        series = [series[0][n * size : (n + 1) * size] for n in range(PARTS)]
    return [statistics.median(one) for one in series]


def _compared(key: _Key, left: _Figures, right: _Figures, confidence: float) -> ComparedFigure:
    rung, _, way, measured = key
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
    return ComparedFigure(rung, left.words, way, measured, answer, before, before + change, noise, kept)


def _by_withheld(measured: Measured, left: _Figures, right: _Figures, change: float) -> bool:
    """Whether an end that stood still explains the change, of what does not tell of the ends themselves."""
    more, less = (right, left) if change > 0 else (left, right)
    if measured is Measured.LOSS:
        return 100 * more.lacked >= abs(change)
    if measured is Measured.TRANSACTIONS:
        return less.lacked > 0 and statistics.fmean(less.values) >= (1 - less.lacked) * statistics.fmean(more.values)
    return measured in (Measured.IDLE_RTT, Measured.LOADED_RTT) and more.lacked > 0
