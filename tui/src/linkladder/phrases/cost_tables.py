"""Puts the tables of what a change costs in cores into words."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Experiment, Path, Setting
from linkladder.phrases.arms import arm, one_way, setting, settings
from linkladder.phrases.stairs import WORDS
from linkladder.verdicts import ChangedFigure, Measured


def caption(base: Experiment, direction: str, paths: Sequence[Path], pairs: int) -> str:
    load = arm(base, paths=paths) if base.direction == direction else one_way(base, direction, paths=paths)
    return f"Cores used and what they carried: {load}; means of {units.plural(pairs, 'pair')}"


def heads(kind: Measured) -> tuple[str, ...]:
    carries = "Transactions a second" if kind is Measured.TRANSACTIONS else "Mb/s"
    return "As set", "Cores near", "Cores far", "Cores together", carries, "Against as it is"


def as_it_is(base: Experiment, switched: Sequence[Setting]) -> str:
    """As 'as it is (TSO off, LRO on)', with what was so on every card before anything was changed."""
    known = ", ".join([*([settings(base)] if base.settings else []), *map(setting, switched)])
    return "as it is" + (f" ({known})" if known else "")


def cores(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def carried(kind: Measured, value: float | None) -> str:
    """Whole megabits or transactions a second, with commas between the thousands."""
    if value is None:
        return "-"
    return f"{value if kind is Measured.TRANSACTIONS else value / 1e6:,.0f}"


def against(f: ChangedFigure) -> str:
    """The gain or loss in percent where it is sure."""
    return WORDS.get(f.answer, f"{100 * ((f.ratio or 1) - 1):+.1f} %")
