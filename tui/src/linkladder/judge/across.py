"""Sums up what the paths carry over the link that they share, each direction by itself.

If the ends state their sites, only paths between two sites count, in whichever trial loads that direction most: when
a whole mesh is loaded at once, some pairs send east and some west, and the ends' own cards limit most of them.
Otherwise all paths count, loaded all at once, by the trial's direction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from linkladder.model import Direction, Path
from linkladder.phrases import company as say


@dataclass(frozen=True)
class Load:
    """Paths that one setting measured side by side in one direction, and the rate of each in bit/s."""

    way: Direction
    rates: dict[int, float]
    busy: str = ""  # says which end had no CPU to spare; '' if none


@dataclass(frozen=True)
class Across:
    """One direction of the shared link: the rate of its paths together, and the sum of their rates alone."""

    together: float
    alone: float
    busy: str = ""


def sited(paths: Sequence[Path]) -> bool:
    """Whether every path states the sites of both its ends."""
    return all(path.origin_site and path.peer_site for path in paths)


def across(
    paths: Sequence[Path], loads: Iterable[Load], alone: dict[tuple[int, Direction], float]
) -> dict[str, Across]:
    """The load that carried most, by direction: "forward" and "reverse", or such as "east to west" between sites."""
    found: dict[str, Across] = {}
    for load in loads:
        for name, numbers in groups(paths, load.rates, load.way).items():
            together = sum(load.rates[n] for n in numbers)
            if name not in found or together > found[name].together:
                each = sum(alone.get((n, load.way), 0.0) for n in numbers)
                found[name] = Across(together, each, load.busy)
    return found


def groups(paths: Sequence[Path], loaded: Collection[int], way: Direction) -> dict[str, list[int]]:
    """Which of the paths loaded at once make a sum, by direction as in `across`; none if too few were loaded."""
    every = not sited(paths)
    found: dict[str, list[int]] = {}
    if every and len(loaded) < len(paths):
        return found
    for n in sorted(loaded):
        sender, receiver = paths[n].sites(way)
        if every or sender != receiver:
            found.setdefault(str(way) if every else say.from_site(sender, receiver), []).append(n)
    return found
