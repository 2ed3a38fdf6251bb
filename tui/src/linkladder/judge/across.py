"""What goes over the part that the paths are said to share: each direction of it by itself.

Where the ends say at which site they stand, only paths from one site to another count, and of a trial in which half of
the pairs send east and half send west each direction has a sum of its own.  Else all paths count, by the trial's way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkladder.model import Direction, Path
from linkladder.phrases import company as say
from linkladder.verdicts import Cell


@dataclass(frozen=True)
class Across:
    """One direction of what is shared, in the trial that loads it most: all at once, and each path alone, added up."""

    together: float
    alone: float


def across(paths: Sequence[Path], cells: Sequence[Cell]) -> dict[str, Across]:
    """By direction: "forward" and "reverse", or "east to west" between sites."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if (name := _direction(paths[cell.path], Direction(cell.direction))) is not None:
            groups.setdefault((name, cell.direction), []).append(cell)
    found: dict[str, Across] = {}
    for (name, _), group in groups.items():
        carried = [cell.together_bps for cell in group if cell.together_bps is not None]
        alone = sum(cell.alone_bps or 0.0 for cell in group)
        if carried and (name not in found or sum(carried) > found[name].together):
            found[name] = Across(sum(carried), alone)
    return found


def _direction(path: Path, way: Direction) -> str | None:
    """None where the path stays within its site."""
    sender, receiver = path.sites(way)
    if not sender or not receiver:
        return str(way)
    return None if sender == receiver else say.from_site(sender, receiver)
