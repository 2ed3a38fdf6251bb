"""Tells whether compression on the path explains a rate above the ceiling, by trials with incompressible payload."""

from __future__ import annotations

from linkladder.judge.ceilings import measurement_error
from linkladder.judge.evidence import BUSY, direction_bps, ways
from linkladder.model import Direction, RungResult
from linkladder.phrases import compression as say

ENOUGH = 0.9  # share of the ceiling; incompressible payload that reaches it shows what the link itself carries


def compression(rung: RungResult | None, direction: Direction, best: float) -> str:
    """A sentence on what is known about compression; `best`: the ceiling in bit/s."""
    tried = [
        (t, e.parameters)
        for e in (rung.experiments if rung else ())
        if e.parameters.incompressible and direction in ways(e.parameters)
        for t in e.trials
        if t.ok
    ]
    if not tried:
        return say.UNTRIED
    trial, p = max(tried, key=lambda x: direction_bps(x[0], x[1], direction))
    bps = direction_bps(trial, p, direction)
    if bps > best * (1 + measurement_error(trial, p)):
        return say.none(bps, direction)
    if bps < ENOUGH * best and any(end.cpu and end.cpu.busiest >= BUSY for end in trial.ends):
        return say.unknown(bps)
    return say.found(bps)
