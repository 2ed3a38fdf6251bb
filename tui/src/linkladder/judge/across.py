"""What goes over the part that the paths are said to share: each direction of it by itself.

Where the ends say at which site they stand, only paths from one site to another count, in whichever trial loads that
direction most: in a mesh all at once some pairs send east and some west, and the ends' own cards hold most of them.
Else all paths count, all at once, by the trial's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkladder.model import Direction, Path
from linkladder.phrases import company as say


@dataclass(frozen=True)
class Load:
    """Paths that one setting measured side by side, one way, and what each of them carried."""

    way: Direction
    rates: dict[int, float]
    busy: str = ""  # which end had no CPU to spare


@dataclass(frozen=True)
class Across:
    """One direction of what is shared: what its paths carried together, and what they carry alone, added up."""

    together: float
    alone: float
    busy: str = ""


def sited(paths: Sequence[Path]) -> bool:
    """Does every path say from which site to which it goes?"""
    return all(path.origin_site and path.peer_site for path in paths)


def across(
    paths: Sequence[Path], loads: Iterable[Load], alone: dict[tuple[int, Direction], float]
) -> dict[str, Across]:
    """By direction: "forward" and "reverse", or "east to west" between sites; the load that brought most."""
    found: dict[str, Across] = {}
    every = not sited(paths)
    for load in loads:
        if every and len(load.rates) < len(paths):
            continue
        groups: dict[str, list[int]] = {}
        for n in load.rates:
            sender, receiver = paths[n].sites(load.way)
            if every or sender != receiver:
                groups.setdefault(str(load.way) if every else say.from_site(sender, receiver), []).append(n)
        for name, numbers in groups.items():
            together = sum(load.rates[n] for n in numbers)
            if name not in found or together > found[name].together:
                found[name] = Across(together, sum(alone.get((n, load.way), 0.0) for n in numbers), load.busy)
    return found
