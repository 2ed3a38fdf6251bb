"""Whether a result above the ceiling comes of compression on the way: what incompressible payload carried tells."""

from __future__ import annotations

from linkladder import units
from linkladder.judge.ceilings import measurement_error
from linkladder.judge.evidence import BUSY, direction_bps, ways
from linkladder.model import Direction, RungResult

ENOUGH = 0.9  # of the ceiling: incompressible payload that gets there shows what the link itself carries
UNTRIED = "Compression on the way would do it too: repeat once with incompressible payload before saying so."


def compression(rung: RungResult | None, direction: Direction, best: float) -> str:
    """What is known of it, in a sentence."""
    tried = [
        (t, e.parameters)
        for e in (rung.experiments if rung else ())
        if e.parameters.incompressible and direction in ways(e.parameters)
        for t in e.trials
        if t.ok
    ]
    if not tried:
        return UNTRIED
    trial, p = max(tried, key=lambda x: direction_bps(x[0], x[1], direction))
    bps = direction_bps(trial, p, direction)
    said = f"incompressible payload carried {units.rate(bps)}"
    if bps > best * (1 + measurement_error(trial, p)):
        return f"It is not compression: {said} {direction}, above the ceiling as well."
    if bps < ENOUGH * best and any(end.cpu and end.cpu.busiest >= BUSY for end in trial.ends):
        return f"Whether it is compression cannot be told: {said}, but a core of the generator was saturated."
    return (
        f"Something on the way compresses: {said}, while payload that can be made smaller carried more than the link "
        "can. Judge the link by incompressible payload."
    )
