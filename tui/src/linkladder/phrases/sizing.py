"""Says in words how many cores a rate needs."""

from __future__ import annotations

from collections.abc import Mapping

from linkladder import units
from linkladder.model import Direction, Experiment
from linkladder.phrases.arms import settings, streams
from linkladder.phrases.stairs import which_way
from linkladder.verdicts import Spread


def needed(load: Experiment, direction: str, enough: int | None, by_cores: Mapping[int, Spread], wanted: float) -> str:
    """`enough`: the fewest cores whose interval lies above the wanted rate; None if no number reaches it."""
    table = ", ".join(f"{cores}: {units.rate(s.median)} ({_how_sure(s)})" for cores, s in by_cores.items())
    answer = (
        f"{units.plural(enough, 'core')} at each end carr{'ies' if enough == 1 else 'y'}"
        if enough
        else f"{max(by_cores)} at each end do not surely carry"
    )
    said = f"{streams(load.streams)}{_otherwise(load, direction)}"
    return f"Cores, {said}: {answer} the {units.rate(wanted)} that are needed. By cores: {table}."


def _how_sure(s: Spread) -> str:
    return f"{units.rate(s.low)} to {units.rate(s.high)}" if s.count > 1 else "one repeat"


def worse_with_streams(cores: int, less: float, many: Experiment, few: int, direction: str) -> str:
    return (
        f"{units.plural(cores, 'core')} carr{'ies' if cores == 1 else 'y'} {units.rate(less)} less with "
        f"{streams(many.streams)} than with {few}{_otherwise(many, direction)}."
    )


def _otherwise(load: Experiment, direction: str) -> str:
    """What sets a load apart besides its streams: what was on loan, and which way it went."""
    lent = f", {settings(load)}" if load.settings else ""
    return f"{lent}, {which_way(direction, load.direction is Direction.DUPLEX)}"
