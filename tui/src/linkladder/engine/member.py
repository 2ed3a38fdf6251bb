"""Takes a member of a bundle down during a trial and brings it up again at the planned times, and records when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from linkladder.engine.leases import Loan
from linkladder.model import Away, Experiment

QUICK = 0.1  # seconds between two samples, short enough to show what a bundle does within a second
SECOND = 0.95  # seconds between two samples that are shown, about


class MemberOutage:
    """The planned outage of one member; `offset` is each end's clock against the near one's."""

    def __init__(self, exp: Experiment, offset: Mapping[int, float]) -> None:
        self._asked, self._offset = exp.member_down, offset
        self._moments: dict[tuple[int, str], list[float]] = {}  # by end and card: down, and up again
        self._shown: dict[int, float] = {}

    @property
    def every(self) -> float:
        """Seconds between samples."""
        return QUICK if self._asked else 1.0

    def shown(self, end: int, t: float) -> bool:
        """Is a sample of that moment one of those that people see, one a second?"""
        if self._asked and t - self._shown.get(end, -1.0) < SECOND:
            return False
        self._shown[end] = t
        return True

    async def keep_time(self, loan: Loan, begun: float, zero: Callable[[], float]) -> None:
        """Switch the member at its times, in seconds of the tool; `begun` is when the trial began, on the near end's
        clock, and `zero` tells when the tool's first second did, which is known better once it reports."""
        for moment, down in zip(self._asked or (), (True, False), strict=False):
            while (left := zero() + moment - time.monotonic()) > 0:
                await asyncio.sleep(min(left, SECOND))
            for end, seen in await loan.turn(down):
                at = round(seen.t - self._offset[end] - begun, 3)
                for name in seen.members:
                    self._moments.setdefault((end, name), []).append(at)

    def at(self, end: int) -> tuple[Away, ...]:
        """Which members were down at that end, and from when to when."""
        mine = ((name, moments) for (where, name), moments in self._moments.items() if where == end)
        return tuple(Away(name, moments[0], moments[1]) for name, moments in mine if len(moments) == 2)
