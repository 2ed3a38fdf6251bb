"""Puts what a mean hides into words: slow seconds, long pauses between trials, and a contract that asks for little."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Experiment, Path
from linkladder.phrases.arms import one_way
from linkladder.phrases.judgements import short_list


def dip(
    p: Experiment,
    direction: str,
    repeat: int,
    seconds: int,
    least: float,
    at: float,
    usual: float,
    paths: Sequence[Path],
) -> str:
    what = "one second" if seconds == 1 else f"{seconds} seconds"
    return (
        f"{one_way(p, direction, repeat, paths)}: {what} far below the rest, the least {units.rate(least)} "
        f"at {at:.0f} s where {units.rate(usual)} is usual."
    )


def dips(said: list[str], most: int) -> list[str]:
    """The first few sentences of `dip`, and how many more there are."""
    return short_list(said, most, "trials had such seconds")


def low_bar(asked: float, usual: float) -> str:
    return f"Only {100 * asked:.4g} % of the ceiling was asked for, where {units.share(usual)} of it is usual."


def loose_loss(allowed: float, usual: float) -> str:
    return f"The contract lets {allowed:g} % be lost, where {usual:g} % is usual."


def loose_availability(asked: float, usual: float) -> str:
    return f"Only {asked:g} % of availability is asked for, where {usual:g} % is usual."


def pause(seconds: float) -> str:
    return f"Between two trials of this rung lie {units.duration(seconds)}: the link may not be the same as before."
