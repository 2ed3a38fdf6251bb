"""The seconds of several legs, added up as they come: what the eye is shown is the trial's, and each path's."""

from __future__ import annotations

from linkladder.events import IntervalSeen, PathRate
from linkladder.model import Direction, Interval, sums

LATE = 3  # a second is given out without a leg that is so many seconds behind

_Parts = list[tuple[int, Interval]]  # of paths, by number


class LiveSeconds:
    def __init__(self, legs: int) -> None:
        self._legs = legs
        self._waiting: dict[Direction, dict[int, _Parts]] = {}

    def add(self, path: int, one: Interval) -> list[IntervalSeen]:
        """Take one leg's second in; returns the seconds that every leg has told of by now."""
        if self._legs == 1:
            return [IntervalSeen(one)]
        waiting = self._waiting.setdefault(one.direction, {})
        waiting.setdefault(round(one.start), []).append((path, one))
        newest = max(waiting)
        ready = [s for s, parts in sorted(waiting.items()) if len(parts) >= self._legs or s <= newest - LATE]
        return [_whole(waiting.pop(second)) for second in ready]


def _whole(parts: _Parts) -> IntervalSeen:
    rates: dict[int, float] = {}
    for path, one in parts:
        rates[path] = rates.get(path, 0.0) + one.bps
    each = tuple(PathRate(path, bps) for path, bps in sorted(rates.items()))
    return IntervalSeen(sums.of_second([one for _, one in parts]), each)
