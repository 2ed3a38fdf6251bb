"""Reads iperf3's events while it runs; the older form, one JSON text, shows nothing before its end."""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment, Interval
from linkladder.tools.contract import Live
from linkladder.tools.iperf3.json_output import LATENESS, parse, start_in_short
from linkladder.tools.records import Layout
from linkladder.tools.seconds import counted, together
from linkladder.tools.streams import Output


class Intervals(Live):
    def __init__(self, exp: Experiment, where: Layout, end: End) -> None:
        self._exp = exp
        server = end == where.server
        back = Direction.REVERSE if where.client == End.NEAR else Direction.FORWARD
        to_server = Direction.FORWARD if where.client == End.NEAR else Direction.REVERSE
        self._way = to_server if server else back
        other = to_server if self._way is back else back
        self._receives = exp.direction is not other  # the seconds of one that only sends are not shown
        self._start = ""
        self._reached = 0.0
        self._ended = False

    @property
    def complete(self) -> bool:
        return self._ended

    def feed(self, line: str) -> list[Interval]:
        line = line.rstrip()
        if line == "}" or line.startswith('{"event":"end"'):
            self._ended = True
        elif line.startswith('{"event":"start"'):
            self._start = start_in_short(line)
        elif self._receives and line.startswith('{"event":"interval"') and self._start:
            return self._seconds(parse(f"{self._start}\n{line}").output)
        return []

    def _seconds(self, output: Output) -> list[Interval]:
        parts = []
        for row in (row for stream in output.streams for row in stream.rx.rows):
            if abs(row.start - self._reached) > LATENESS:
                return []  # out of order; the verdict will report it
            good = counted(self._exp, row.start, row.end, LATENESS)
            more = {"lost": row.lost, "datagrams": row.datagrams} if row.lost is not None else {}
            parts.append(Interval(row.start, row.end, row.bytes, self._way, good, jitter_ms=row.jitter_ms, **more))
        if not parts:
            return []
        self._reached = parts[0].end
        return together([[part] for part in parts], self._way)[:1]
