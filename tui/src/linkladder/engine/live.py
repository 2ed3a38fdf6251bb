"""Adds up the seconds of several legs as they arrive, to show the rates of the trial and of each path.

If a tool prints nothing before its end, what the receiving cards count is shown instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkladder.engine.route import Route
from linkladder.events import IntervalSeen, PathRate
from linkladder.model import Direction, End, Experiment, HostSample, Interval, Protocol, sums

RECEIVER = {Direction.FORWARD: End.FAR, Direction.REVERSE: End.NEAR}

LATE = 3  # a second is shown without a leg that lags by so many seconds
UNTOLD = 2.0  # seconds into a trial within which its tool may still report the first one

_Parts = list[tuple[int, Interval]]  # of paths, by number


class LiveSeconds:
    def __init__(self, legs: int) -> None:
        self._legs = legs
        self._waiting: dict[Direction, dict[int, _Parts]] = {}

    def add(self, path: int, one: Interval) -> list[IntervalSeen]:
        """Add one leg's second; returns the seconds that every leg has reported by now."""
        if self._legs == 1:
            return [IntervalSeen(one)]
        waiting = self._waiting.setdefault(one.direction, {})
        waiting.setdefault(round(one.start), []).append((path, one))
        newest = max(waiting)
        ready = [s for s, parts in sorted(waiting.items()) if len(parts) >= self._legs or s <= newest - LATE]
        return [_whole(waiting.pop(second)) for second in ready]


class CardSeconds:
    """Live rates from the receiving card's counters, for a trial over one path whose tool prints nothing meanwhile."""

    def __init__(self, exp: Experiment, routes: Sequence[Route]) -> None:
        ways = [way for way in RECEIVER if exp.direction in (way, Direction.DUPLEX)]
        loaded = len(routes) == 1 and exp.protocol in (Protocol.TCP, Protocol.UDP)
        self._sides = {way: routes[0].at(RECEIVER[way]) for way in ways} if loaded else {}
        self._warmup = exp.warmup
        self._before: dict[int, HostSample] = {}

    def take(self, end: int, now: HostSample, card: Callable[[str], str]) -> list[Interval]:
        """The bytes that the end's cards received since its previous sample; `card` names the card of an address."""
        before = self._before.get(end)
        self._before[end] = now
        if before is None or now.t < UNTOLD:
            return []
        found = []
        for way, side in self._sides.items():
            name = card(side.address) if side.end == end else ""
            counts = [c.rx_bytes for one in (before, now) for c in one.nics if c.name == name]
            if len(counts) == 2 and counts[0] <= counts[1]:
                found.append(Interval(before.t, now.t, counts[1] - counts[0], way, before.t >= self._warmup))
        return found


def _whole(parts: _Parts) -> IntervalSeen:
    rates: dict[int, float] = {}
    for path, one in parts:
        rates[path] = rates.get(path, 0.0) + one.bps
    each = tuple(PathRate(path, bps) for path, bps in sorted(rates.items()))
    return IntervalSeen(sums.of_second([one for _, one in parts]), each)
