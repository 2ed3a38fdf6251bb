"""Computes the figures of RFC 6349 from what a rung measured.

Transfer time ratio: the time that a trial's bytes took from the first to the last, slow start included, divided by the
time that they take at the ceiling; left out if the flows lack bytes or seconds. Efficiency: the share of segments that
were not sent again. Buffer delay: the rise of the round trip over its baseline. Bandwidth-delay product: the rate that
was bought times the baseline round trip, headers included, as they wait in queues and windows too.
"""

from __future__ import annotations

import statistics

from linkladder.judge.ceilings import ceiling, rate_sold
from linkladder.judge.evidence import Evidence, gather
from linkladder.model import Contract, Direction, Rtt, RungResult, TrialResult
from linkladder.verdicts import ExperimentJudgement, Rfc6349


def rfc6349(
    rung: RungResult, deal: Contract, chosen: dict[str, ExperimentJudgement], bounded: bool
) -> tuple[Rfc6349, ...]:
    """One record for each direction of the best setting."""
    if not bounded:
        return ()
    return tuple(_one(rung, deal, j, Direction(d)) for d, j in chosen.items() if j.spread is not None)


def _one(rung: RungResult, deal: Contract, judged: ExperimentJudgement, direction: Direction) -> Rfc6349:
    result = next(e for e in rung.experiments if e.parameters.id == judged.experiment)
    best = ceiling(deal).bps
    seen: list[Evidence] = [gather(t, result.parameters, deal, direction, rung, True) for t in result.trials if t.ok]
    first = seen[0] if seen else None
    base = _baseline(first.idle) if first else None
    loaded = [ms for t in result.trials if t.ok if (ms := _mean(t, direction)) is not None]
    losses = [e.loss for e in seen if e.loss is not None]
    mean_loaded = sum(loaded) / len(loaded) if loaded else None
    ratio, moved, took = _transfer([t for t in result.trials if t.ok], direction, best) or (None, None, None)
    bdp = deal_bdp(rate_sold(deal), base) if base else None
    streams = max(1, result.parameters.streams)
    return Rfc6349(
        direction=str(direction),
        path_mtu=first.path_mtu.mtu if first and first.path_mtu else None,
        black_hole=bool(first and first.path_mtu and first.path_mtu.black_hole),
        baseline_rtt_ms=base,
        loaded_rtt_ms=mean_loaded,
        bdp_bytes=bdp,
        window_per_stream_bytes=bdp / streams if bdp else None,
        streams=streams,
        transfer_time_ratio=ratio,
        transfer_bytes=moved,
        transfer_seconds=took,
        efficiency_percent=100 * (1 - sum(losses) / len(losses)) if losses else None,
        buffer_delay_percent=100 * (mean_loaded - base) / base if mean_loaded and base else None,
    )


def _transfer(trials: list[TrialResult], direction: Direction, best: float) -> tuple[float, int, float] | None:
    """The median transfer time ratio of the trials, with that trial's bytes and the seconds that they took."""
    found = []
    for t in trials:
        flows = [f for f in t.flows if f.direction is direction]
        moved, took = sum(f.total_bytes for f in flows), max((f.seconds for f in flows), default=0.0)
        if moved > 0 and took > 0:
            found.append((took * best / (8 * moved), moved, took))
    return sorted(found)[len(found) // 2] if found else None


def _mean(trial: TrialResult, direction: Direction) -> float | None:
    """The mean round trip in ms under load, as the RFC asks; a median would hide a queue that comes and goes."""
    under = trial.rtt_under_load
    if under is not None and under.received and under.avg_ms is not None:
        return under.avg_ms
    seen = [i.rtt_ms for i in trial.intervals if i.counted and i.direction is direction and i.rtt_ms is not None]
    return statistics.fmean(seen) if seen else None


def deal_bdp(bps: float, rtt_ms: float) -> float:
    """The bandwidth-delay product: the bytes in flight that fill the path."""
    return bps * rtt_ms / 1000 / 8


def _baseline(idle: Rtt | None) -> float | None:
    """The shortest round trip in ms of the idle path; the median, or else the mean, if the series has no minimum."""
    if idle is None:
        return None
    return next((v for v in (idle.min_ms, idle.p50_ms, idle.avg_ms) if v), None)
