"""Puts directions into words for people, and of more than two ends the pairs of them; files use the model's values."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Direction, End, Experiment, Path

WAYS = {
    Direction.FORWARD: "near to far",
    Direction.REVERSE: "far to near",
    Direction.BOTH: "each way in turn",
    Direction.DUPLEX: "both ways at once",
}
FEW = 6  # most names in a sentence; the others are only counted


def way(direction: str, paths: Sequence[Path] = ()) -> str:
    """A direction in words, such as 'near to far' for 'forward'; any other text as it is.

    `paths`: all that it is said of. With more than two ends it is the pair, or 'all paths' and 'all paths, back'.
    """
    if direction not in list(Direction):
        return direction
    return _pairs(Direction(direction), paths, (), "all paths") if several_ends(paths) else WAYS[Direction(direction)]


def loaded(p: Experiment, paths: Sequence[Path], direction: str = "") -> str:
    """The direction that an experiment loads, or with more than two ends its pairs: 'beta to gamma and delta to near'.

    `direction`: one of those that it measures, if not all.
    """
    if not several_ends(paths):
        return way(direction or p.direction)
    return _pairs(Direction(direction or p.direction), paths, p.paths, "all paths at once")


def _pairs(direction: Direction, paths: Sequence[Path], numbers: Sequence[int], every: str) -> str:
    back = direction is Direction.REVERSE
    if numbers or len(paths) == 1:
        said = pairs(paths, numbers or (0,), Direction.REVERSE if back else Direction.FORWARD)
    else:
        said = f"{every}, back" if back else every
    return f"{said}, {WAYS[direction]}" if direction in (Direction.BOTH, Direction.DUPLEX) else said


def end_name(name: str, p: Experiment, paths: Sequence[Path]) -> str:
    """What an end of a trial is called: by its own name where there are more than two, of which 'far' names none."""
    if name != End.FAR or not several_ends(paths):
        return name
    return next((path.peer for n, path in enumerate(paths) if n in p.paths or not p.paths), name)


def several_ends(paths: Sequence[Path]) -> bool:
    """Whether the paths join more than this appliance and one other: `near` and `far` do not say then who is meant."""
    return any(path.origin for path in paths) or len({path.peer for path in paths}) > 1


def path_name(paths: Sequence[Path], number: int, way: Direction) -> str:
    """A path's name, such as 'beta to gamma', with its number if several paths join the same two ends."""
    if not 0 <= number < len(paths):
        return f"path {number + 1}"
    sender, receiver = paths[number].ends(way)
    alike = [p for p in paths if (p.origin, p.peer) == (paths[number].origin, paths[number].peer)]
    return f"{sender} to {receiver}" + (f" by path {number + 1}" if len(alike) > 1 else "")


def pairs(paths: Sequence[Path], numbers: Sequence[int], way: Direction = Direction.FORWARD) -> str:
    """As 'beta to gamma and delta to near'."""
    return listed([path_name(paths, number, way) for number in numbers])


def listed(names: Sequence[str]) -> str:
    shown = list(names[:FEW]) + ([f"{len(names) - FEW} more"] if len(names) > FEW else [])
    return units.joined(shown) or "none"
