"""The seconds of several legs, added up as they come: what the eye is shown is the trial's."""

from __future__ import annotations

from linkladder.model import Direction, Interval, sums

LATE = 3  # a second is given out without a leg that is so many seconds behind


class LiveSeconds:
    def __init__(self, legs: int) -> None:
        self._legs = legs
        self._waiting: dict[Direction, dict[int, list[Interval]]] = {}

    def add(self, one: Interval) -> list[Interval]:
        """The seconds that are whole with this one; of a single leg, this one."""
        if self._legs == 1:
            return [one]
        waiting = self._waiting.setdefault(one.direction, {})
        waiting.setdefault(round(one.start), []).append(one)
        newest = max(waiting)
        ready = [s for s, parts in sorted(waiting.items()) if len(parts) >= self._legs or s <= newest - LATE]
        return [sums.of_second(waiting.pop(second)) for second in ready]
