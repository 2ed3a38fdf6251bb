"""Shows a comparison while it is measured: each arm beside its baseline, and what earlier steps have kept."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from linkladder import phrases
from linkladder.model import Experiment, Protocol, Rung
from linkladder.run.progress import Progress


@dataclass(frozen=True)
class ArmSoFar:
    """One side of a comparison, as far as it is measured."""

    words: str
    figure: float | None  # median of its repeats so far, bits or transactions per second
    counts: bool  # whether the figure is in transactions
    done: int
    asked: int
    runs: bool  # whether it is being measured now
    ratio: float | None = None  # its figure divided by the baseline's


@dataclass(frozen=True)
class Compared:
    """The arms that are compared with each other, the baseline first."""

    arms: tuple[ArmSoFar, ...]
    step: int = 0  # of a staircase; 0 outside one
    steps: int = 0
    kept: tuple[str, ...] = ()  # what the earlier steps of the staircase have kept


def compared(progress: Progress) -> Compared | None:
    """The comparison to which the current trial belongs; None if its setting is not compared with any other."""
    trial, plan = progress.trial, progress.plan
    rung = next((r for r in plan.rungs if r.name == trial.rung), None) if plan and trial else None
    if trial is None or rung is None:
        return None
    now = trial.experiment
    base_id = now.baseline or now.id
    arms = [e for e in rung.experiments if e.id == base_id] + [e for e in rung.experiments if e.baseline == base_id]
    if len(arms) < 2:
        return None
    measured = {e.id: progress.figures.get((rung.name, e.id), []) for e in arms}
    medians = {name: statistics.median(figures) if figures else None for name, figures in measured.items()}
    base = arms[0]
    rows = [_row(e, base, medians, len(measured[e.id]), e.id == now.id) for e in arms]
    to_come = next((len(s.steps) for s in rung.stairs if s.first.direction is now.direction), 0)
    return Compared(tuple(rows), now.step, now.step + to_come if now.step else 0, _kept(rung, now))


def _row(e: Experiment, base: Experiment, medians: dict[str, float | None], done: int, runs: bool) -> ArmSoFar:
    own, its = medians[e.id], medians[base.id]
    words = phrases.difference(e, base) if e is not base else "as it is" if base.step <= 1 else "best so far"
    ratio = own / its if own and its and e is not base else None
    return ArmSoFar(words, own, e.protocol is Protocol.RR, done, e.repeats, runs, ratio)


def _kept(rung: Rung, now: Experiment) -> tuple[str, ...]:
    """What each earlier step of the staircase added to the best so far, in words; steps that added nothing are left
    out.
    """
    bases = {e.step: e for e in rung.experiments if e.step and not e.baseline and e.direction is now.direction}
    steps = range(2, now.step + 1)
    pairs = [(bases[n], bases[n - 1]) for n in steps if n in bases and n - 1 in bases]
    return tuple(phrases.difference(after, before) for after, before in pairs if _apart(after, before))


def _apart(after: Experiment, before: Experiment) -> bool:
    return phrases.difference(after, before) != phrases.difference(before, before)
