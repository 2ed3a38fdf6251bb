"""Reads netperf's interim results while it runs."""

from __future__ import annotations

from linkladder.model import Experiment, Interval, Protocol
from linkladder.tools.contract import Live
from linkladder.tools.netperf.lines import INTERIM, SCALES, UNITS


class Interims(Live):
    """Turns netperf's lines into intervals; four lines make one interim result, and the last has its end time."""

    def __init__(self, exp: Experiment) -> None:
        self._exp = exp
        self._interim: dict[str, str] = {}
        self._begun: float | None = None
        self._ending = 0.0

    @property
    def span(self) -> tuple[float, float] | None:
        return None if self._begun is None else (self._begun, self._ending)

    def feed(self, line: str) -> list[Interval]:
        line = line.rstrip()
        if units := UNITS.match(line):
            self._interim["units"] = units[2]
            return []
        match = INTERIM.match(line)
        if not match:
            return []
        self._interim[match[1]] = match[3]
        if match[1] != "ENDING":
            return []
        seen, self._interim = self._interim, {}
        scale = SCALES.get(seen.get("units", ""))
        if scale is None or "INTERVAL" not in seen or "INTERIM_RESULT" not in seen:
            return []
        ending, span = float(seen["ENDING"]), float(seen["INTERVAL"])
        if self._begun is None:
            self._begun = ending - span
        self._ending = ending
        start, end = ending - span - self._begun, ending - self._begun
        if not 0 <= start < end < 1e7:
            return []
        amount = float(seen["INTERIM_RESULT"]) * scale * span
        counted = start >= self._exp.warmup - 0.1
        if self._exp.protocol == Protocol.RR:
            each = self._exp.request + self._exp.response
            return [Interval(start, end, round(amount * each), self._exp.direction, counted, datagrams=round(amount))]
        return [Interval(start, end, round(amount), self._exp.direction, counted)]
