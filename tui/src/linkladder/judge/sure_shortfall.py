"""Tells whether several paths' shortfall is sure: no end of theirs was busy, and no interval contains the bar.

Needs the ends' CPU, and two repeats or the seconds of a single one; without these nothing is excused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from linkladder.judge.evidence import WARM, counted, of_path
from linkladder.judge.stats import half_width_of_neighbours, spread
from linkladder.judge.udp import saturated
from linkladder.model import Direction, Experiment, Leg, Role, TrialResult


def held_back(trial: TrialResult, leg: Leg, asked: Experiment) -> str:
    """A sentence on the end of the leg's path that was at its limit; '' if neither was."""
    return saturated([of_path(trial, leg.path)], asked, close=WARM)


def at_most(trials: Sequence[TrialResult], paths: Collection[int], way: Direction) -> float:
    """The upper bound in bit/s of what these paths carry together, by the repeats or by a single one's seconds."""
    parts = [replace(t, legs=tuple(g for g in t.legs if g.role is Role.LOAD and g.path in paths)) for t in trials]
    good = [t for t in parts if t.ok]
    if not good:
        return 0.0
    if len(good) > 1:
        return spread([t.goodput_bps for t in good]).high
    seconds = counted(good[0].intervals, way)
    half = half_width_of_neighbours(seconds) if len(seconds) > 2 else None
    return good[0].goodput_bps + (half or 0.0)
