"""The ends' times of day: how far they are apart, and whether one was set while the run went on.

Nothing is measured by them; but who reads two ends' logs side by side must know.
"""

from __future__ import annotations

import time

from linkladder import units
from linkladder.model import TrialResult

APART = 1.0  # seconds; less is lost in the round trip and in what clocks drift


class TimesOfDay:
    def __init__(self) -> None:
        self._near = time.time() - time.monotonic()
        self._away: dict[str, float] = {}  # of each other end

    def news(self, result: TrialResult) -> list[str]:
        """What this trial shows of the ends' clocks that is not known yet, a sentence each."""
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
