"""Names the figures by which a changed setting is compared with the unchanged one, and how to read each of a trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkladder.judge.besides_the_rate import share_sent_again
from linkladder.judge.evidence import direction_bps
from linkladder.judge.pairs import BAND
from linkladder.judge.stats import variation
from linkladder.model import Affinity, Direction, Experiment, Protocol, TrialResult
from linkladder.verdicts import Measured

# Most trials send nothing again, so there is no ratio to take. Of every share 0.01 % is added, which never matters:
# zeros count, a few segments more or less hardly do, and a sign test, for which zeros were ties, could not reach the
# certainty that all figures together need with fewer than ten pairs.
LEAST_RESENT = 0.0001
RESENT_BAND = 0.5  # in a share this small less than half more or less does not matter

Read = Callable[[TrialResult], float | None]


@dataclass(frozen=True)
class ArmFigure:
    """One figure of a trial; `band` and `least` are those of its pairs."""

    measured: Measured
    read: Read
    band: float = BAND
    least: float = 0.0


def arm_figures(p: Experiment, way: Direction) -> tuple[ArmFigure, ...]:
    """Every figure to compare; the first one is what the experiment asks for."""
    if p.protocol is Protocol.ECHO:
        return (ArmFigure(Measured.IDLE_RTT, lambda t: t.rtt.p50_ms if t.rtt else None),)
    carried: Read
    if p.protocol is Protocol.RR:
        kind, carried = Measured.TRANSACTIONS, lambda t: t.transactions.rate if t.transactions else None
    else:
        kind, carried = Measured.GOODPUT, lambda t: direction_bps(t, p, way)
    placed = p.affinity is not Affinity.FREE
    resent = ArmFigure(Measured.RESENT, lambda t: share_sent_again(t, way), RESENT_BAND, LEAST_RESENT)
    return (
        ArmFigure(kind, carried),
        *([ArmFigure(Measured.SCATTER, lambda t: _scatter(t, way))] if placed else []),
        ArmFigure(Measured.SENDER_CORES, lambda t: cpu.cores_used if (cpu := t.sender(way).cpu) else None),
        ArmFigure(Measured.RECEIVER_CORES, lambda t: cpu.cores_used if (cpu := t.receiver(way).cpu) else None),
        ArmFigure(Measured.PER_CORE, lambda t: _per_core(t, way, carried)),
        ArmFigure(Measured.LOADED_RTT, lambda t: t.rtt_under_load.p50_ms if t.rtt_under_load else None),
        *([resent] if p.protocol is not Protocol.UDP else []),
    )


def _scatter(t: TrialResult, way: Direction) -> float | None:
    """The scatter of the counted seconds' rates, as a share of their mean; None if there are too few."""
    seconds = [i.bps for i in t.intervals if i.counted and i.direction is way]
    return variation(seconds, least=3)


def _per_core(t: TrialResult, way: Direction, carried: Read) -> float | None:
    """The rate divided by the CPU cores that both ends used together."""
    here, there, rate = t.sender(way).cpu, t.receiver(way).cpu, carried(t)
    if here is None or there is None or rate is None or here.cores_used + there.cores_used <= 0:
        return None
    return rate / (here.cores_used + there.cores_used)
