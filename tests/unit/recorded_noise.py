"""Experiments drawn from recorded trials: blocks of neighbours in time, with drift, outliers and planted changes.

The trials (tests/captures/noise) were all measured with one and the same setting, so whatever differs is noise. A trial
is drawn whole, such that its figures belong together, and four neighbours at a time, such that bursts stay bursts.
"""

from __future__ import annotations

import csv
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import trials
from linkladder import plan as plans
from linkladder.judge.student import quantile
from linkladder.model import (
    CpuUse,
    End,
    EndRecord,
    Experiment,
    ExperimentResult,
    Leg,
    Outcome,
    Protocol,
    Role,
    Rtt,
    Rung,
    RungName,
    RungResult,
    Setting,
    SettingKind,
    TcpCounters,
    TrialResult,
)

RECORDED = Path(__file__).parent.parent / "captures/noise"
PATHS = ("plain", "shaped", "lossy")
BLOCK = 4  # neighbouring trials drawn at a time
OFF = (Setting(SettingKind.TSO, "off"),)


@dataclass(frozen=True)
class Disturbance:
    """What happens to the machine or the path while an experiment is measured, besides the noise."""

    drift: float = 0.0  # of everything, from the first trial to the last
    stumbling: float = 0.0  # share of the trials that lose three tenths of their rate
    burst: int = 0  # trials, one after the other, that lose six tenths of it at some moment

    def shares(self, dice: random.Random, count: int) -> list[float]:
        """What is left of each trial's rate."""
        left = [1 + self.drift * n / max(1, count - 1) for n in range(count)]
        left = [0.7 * one if dice.random() < self.stumbling else one for one in left]
        hit = dice.randrange(count)
        return [0.4 * one if hit <= n < hit + self.burst else one for n, one in enumerate(left)]


@dataclass(frozen=True)
class Row:
    """One recorded trial."""

    bps: float
    sender_cores: float
    receiver_cores: float
    segments: float
    retransmits: float
    idle_ms: float
    loaded_ms: float

    def slowed(self, share: float) -> Row:
        """With this share of its rate, and with round trips that are longer by as much."""
        if share == 1:
            return self
        return Row(
            self.bps * share,
            self.sender_cores * share,
            self.receiver_cores * share,
            self.segments,
            self.retransmits,
            self.idle_ms / share,
            self.loaded_ms / share,
        )


Planted = Callable[[Row], Row]


@cache
def recorded(path: str, seconds: float = 2) -> tuple[Row, ...]:
    """All trials of one path and length in the order of time."""
    found = []
    for file in RECORDED.glob("*.csv"):
        with file.open() as lines:
            rows = csv.DictReader(lines)
            found += [r for r in rows if r.pop("path") == path and float(r.pop("seconds")) == seconds]
    return tuple(Row(**{name: float(value) for name, value in row.items()}) for row in found)


def drawn(dice: random.Random, path: str, count: int, disturbed: Disturbance) -> list[Row]:
    """So many trials one after the other."""
    series, rows = recorded(path), list[Row]()
    while len(rows) < count:
        first = dice.randrange(len(series) - BLOCK + 1)
        rows += series[first : first + BLOCK]
    return [row.slowed(share) for row, share in zip(rows, disturbed.shares(dice, count), strict=False)]


def trial(row: Row, repeat: int, p: Experiment) -> TrialResult:
    if p.protocol is Protocol.ECHO:
        return trials.trial(f"{p.id}-{repeat}", repeat, rtt=Rtt(10, 10, p50_ms=row.idle_ms))
    carried = Outcome(True, goodput_bps=row.bps, by_direction={"forward": row.bps})
    loaded = Leg(Outcome(True, rtt=Rtt(10, 10, p50_ms=row.loaded_ms)), Role.PING)
    near, far = (CpuUse(50 * used, 100 * used, used) for used in (row.sender_cores, row.receiver_cores))
    sent = TcpCounters(int(row.segments), int(row.retransmits))
    ends = (EndRecord(End.NEAR, cpu=near, tcp=sent), EndRecord(End.FAR, cpu=far))
    return TrialResult(f"{p.id}-{repeat}", repeat, (Leg(carried), loaded), ends)


def arms(count: int, pairs: int, control: bool = False, step: int = 0, load: Protocol = Protocol.TCP) -> Rung:
    """One setting and so many changed ones beside it; `control`: the unchanged one once more."""
    base = Experiment(f"{load}-{step}-a", "iperf", load, repeats=pairs, step=step, begins=True)
    tried = [replace(base, id=f"{load}-{step}-{n}", settings=OFF, label=str(n), baseline=base.id) for n in range(count)]
    again = [replace(base, id=f"{base.id}-again", label="again", baseline=base.id)] if control else []
    made = [base, *(replace(e, begins=False) for e in (*tried, *again))]
    return Rung(RungName.SAME_VLAN, experiments=tuple(made))


def apart(count: int, pairs: int) -> Rung:
    """So many changed settings, each beside an unchanged one of its own."""
    made = []
    for n in range(count):
        base, tried = arms(1, pairs).experiments
        base = replace(base, id=f"{base.id}-{n}")
        made += [base, replace(tried, id=f"{tried.id}-{n}", baseline=base.id)]
    return Rung(RungName.SAME_VLAN, experiments=tuple(made))


def measured(
    dice: random.Random,
    path: str,
    asked: Sequence[Rung],
    disturbed: Disturbance,
    planted: Planted = lambda row: row,
) -> RungResult:
    """These arms measured on that path in the order of a plan; `planted` is what each changed arm does to a trial."""
    found: list[ExperimentResult] = []
    for rung in asked:
        order = list(plans.order(rung))
        seen: dict[str, list[TrialResult]] = {e.id: [] for e in rung.experiments}
        for (exp, repeat), row in zip(order, drawn(dice, path, len(order), disturbed), strict=True):
            seen[exp.id].append(trial(planted(row) if exp.settings else row, repeat, exp))
        found += [ExperimentResult(e, tuple(seen[e.id])) for e in rung.experiments]
    return RungResult(RungName.SAME_VLAN, experiments=tuple(found))


def computed_power(effect: float, deviation: float, pairs: int, error: float, band: float) -> float:
    """How often a true change is told at this error, if logarithms of B/A are normal with this deviation."""
    true, wide = math.log1p(effect), deviation / math.sqrt(pairs)
    normal, freedom, steps = statistics.NormalDist(), pairs - 1, 400
    told = 0.0
    for n in range(steps):  # over the deviations that so many pairs may show (Wilson and Hilferty's approximation)
        z = normal.inv_cdf((n + 0.5) / steps)
        seen = max(0.0, 1 - 2 / (9 * freedom) + z * math.sqrt(2 / (9 * freedom))) ** 1.5
        least = max(quantile(1 - error, freedom) * seen * wide, math.log1p(band))
        told += normal.cdf((true - least) / wide) + normal.cdf((-true - least) / wide)
    return told / steps
