"""A path and the two ends that it joins, as a trial knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkladder.model import End, Path
from linkladder.peer import EndPoint


@dataclass(frozen=True)
class Side:
    """One side of a path: which of the trial's ends is there, and by what it takes part."""

    end: int
    point: EndPoint
    name: str  # "near"; "far" where there is one other, else the peer's name
    address: str
    interface: str


@dataclass(frozen=True)
class Route:
    path: Path
    near: Side
    far: Side

    @property
    def local(self) -> bool:
        """Are both sides the same machine?"""
        return self.near.end == self.far.end

    @property
    def sides(self) -> tuple[Side, ...]:
        """Those that are machines of their own."""
        return (self.near,) if self.local else (self.near, self.far)

    def at(self, side: End) -> Side:
        return self.near if side is End.NEAR else self.far


def routes(paths: Sequence[tuple[Path, EndPoint]], near: EndPoint) -> tuple[Route, ...]:
    """`paths` come with the ends at their far sides; every end is counted once, the near one first."""
    points = [near]
    for _, far in paths:
        if all(far is not point for point in points):
            points.append(far)
    made = []
    for path, far in paths:
        index = next(i for i, point in enumerate(points) if point is far)
        name = "far" if len(points) < 3 else far.name
        here = Side(0, near, "near", path.local, path.local_interface)
        made.append(Route(path, here, Side(index, far, name, path.remote, path.remote_interface)))
    return tuple(made)


def ends_of(found: Sequence[Route]) -> tuple[Side, ...]:
    """The trial's ends, the near one first, each by the first of its sides."""
    known: dict[int, Side] = {}
    for side in (side for route in found for side in route.sides):
        known.setdefault(side.end, side)
    return tuple(known[end] for end in sorted(known))
