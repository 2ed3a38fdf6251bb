"""Compares the ends' times of day: how far apart they are, and whether one was set during the run.

No measurement uses them, but people need the difference when they compare the logs of two ends.
"""

from __future__ import annotations

import time

from linkladder import units
from linkladder.model import TrialResult

APART = 1.0  # seconds; smaller differences drown in the round trip and in clock drift


class TimesOfDay:
    def __init__(self) -> None:
        self._near = time.time() - time.monotonic()
        self._away: dict[str, float] = {}  # of each other end

    def news(self, result: TrialResult) -> list[str]:
        """What this trial shows about the ends' clocks that has not been reported yet, one sentence each."""
        now = time.time() - time.monotonic()
        set_by, self._near = now - self._near, now
        said = [f"this end's clock was set {_by(set_by)} while the run went on"] if abs(set_by) >= APART else []
        for end in result.ends:
            away = end.wall_offset_s
            if away is None:
                continue
            before = self._away.get(end.name)
            self._away[end.name] = away
            moved = 0.0 if before is None else away - before + set_by
            if before is None and abs(away) >= APART:
                said.append(f"the clock of the {_end(end.name)} is {units.apart(away)} this end's")
            elif abs(moved) >= APART:
                said.append(f"the clock of the {_end(end.name)} was set {_by(moved)} while the run went on")
        return said


def _end(name: str) -> str:
    return "far end" if name == "far" else f"end {name}"


def _by(seconds: float) -> str:
    return f"{'forward' if seconds > 0 else 'back'} by {units.duration(abs(seconds))}"
