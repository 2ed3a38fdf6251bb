"""A path and the two ends that it joins, as a trial knows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkladder.model import End, Experiment, Path
from linkladder.peer import EndPoint


@dataclass(frozen=True)
class Side:
    """One side of a path: the end that stands there, and the address and card that it uses."""

    end: int
    point: EndPoint
    name: str  # "near"; "far" where there is one other, else the peer's name
    address: str
    interface: str


@dataclass(frozen=True)
class Route:
    """A path together with the ends at both its sides."""

    path: Path
    near: Side
    far: Side

    @property
    def local(self) -> bool:
        """Whether both sides are the same machine."""
        return self.near.end == self.far.end

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both sides, or one of them if both are the same machine."""
        return (self.near,) if self.local else (self.near, self.far)

    def by_address(self) -> Route:
        """The same route by addresses alone, whatever cards these are on."""
        return replace(self, near=replace(self.near, interface=""), far=replace(self.far, interface=""))

    def at(self, side: End) -> Side:
        return self.near if side is End.NEAR else self.far


def routes(paths: Sequence[tuple[Path, EndPoint, EndPoint]], near: EndPoint) -> tuple[Route, ...]:
    """The routes of `paths`, given with the ends at both sides; each end gets one number, the coordinator's being 0."""
    points = [near]
    for point in (point for _, here, there in paths for point in (here, there)):
        if all(point is not known for known in points):
            points.append(point)

    def side(point: EndPoint, address: str, interface: str) -> Side:
        end = next(i for i, known in enumerate(points) if known is point)
        name = "near" if end == 0 else "far" if len(points) < 3 else point.name
        return Side(end, point, name, address, interface)

    return tuple(
        Route(path, side(here, path.local, path.local_interface), side(there, path.remote, path.remote_interface))
        for path, here, there in paths
    )


def bundled(exp: Experiment, paths: Sequence[Path], ends: Mapping[str, EndPoint], near: EndPoint) -> tuple[Route, ...]:
    """All paths between the pair whose cards the experiment bundles, loaded or not; empty if it has no bundle."""
    if not exp.bundled:
        return ()
    loaded = {(paths[n].origin, paths[n].peer) for n in exp.paths or range(len(paths))}
    mine = [path for path in paths if (path.origin, path.peer) in loaded]
    return routes([(path, ends[path.origin], ends[path.peer]) for path in mine], near)


def ends_of(found: Sequence[Route]) -> dict[int, Side]:
    """The ends that take part, the near one first, each represented by the first of its sides."""
    known: dict[int, Side] = {}
    for side in (side for route in found for side in route.sides):
        known.setdefault(side.end, side)
    return {end: known[end] for end in sorted(known)}
