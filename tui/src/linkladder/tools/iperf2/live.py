"""Turns iperf's lines into seconds to show while it runs."""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment, Interval
from linkladder.tools.contract import Live
from linkladder.tools.iperf2.lines import channel, parse_row
from linkladder.tools.records import Layout
from linkladder.tools.seconds import counted, together
from linkladder.tools.streams import Row

MOST_PENDING = 64  # how many seconds are held back for a flow that has stalled
LATE = 3  # a second is shown without a flow that is this many seconds behind


class Seconds(Live):
    """Turns one process's lines into the sum over the flows that it receives, for each second."""

    def __init__(self, exp: Experiment, where: Layout, end: End) -> None:
        self._exp = exp
        self._role = "server" if where.server is not None and end == where.server else "client"
        self._reverse_flag = where.reverse_flag
        to_server = Direction.FORWARD if where.client == End.NEAR else Direction.REVERSE
        back = Direction.REVERSE if to_server == Direction.FORWARD else Direction.FORWARD
        self._way = to_server if self._role == "server" else back
        self._pending: dict[int, dict[str, Row]] = {}
        self._shown = -1  # the last second that was returned
        self._reached: dict[str, float] = {}
        self._totals: set[tuple[str, bool]] = set()  # flows whose last line was printed
        self._ways = 2 if exp.direction == Direction.DUPLEX else 1

    @property
    def complete(self) -> bool:
        return len(self._totals) >= self._exp.streams * self._ways

    def feed(self, line: str) -> list[Interval]:
        row = parse_row(line.rstrip()) if line.startswith("[") else None
        if row is None:
            return []
        if row.start == 0.0 and row.end > 1.5:  # a first second of -i 1 is not a total
            self._totals.add((row.flow, row.star))
        if channel(row, self._role, self._reverse_flag) != "rx":
            return []
        if row.start == 0.0 and row.flow in self._reached:
            return []  # it is the flow's total
        if abs(row.start - self._reached.get(row.flow, 0.0)) > 0.02:
            return []  # out of order; the verdict will report it
        self._reached[row.flow] = row.end
        second = round(row.start)
        if second <= self._shown:
            return []  # that second was already returned without this flow
        self._pending.setdefault(second, {})[row.flow] = row
        return self._ready()

    def _ready(self) -> list[Interval]:
        """Take out the seconds that all flows have reported or that are `LATE` seconds behind the fastest flow."""
        newest = max(self._pending)
        given = []
        for second in sorted(self._pending):
            parts = self._pending[second]
            if len(parts) < self._exp.streams and second > newest - LATE and len(self._pending) < MOST_PENDING:
                break
            given.append(self._sum(list(self._pending.pop(second).values())))
            self._shown = second
        return given

    def _sum(self, rows: list[Row]) -> Interval:
        intervals = [
            Interval(
                r.start,
                r.end,
                r.bytes,
                self._way,
                counted(self._exp, r.start, r.end),
                lost=r.lost,
                datagrams=r.datagrams,
                jitter_ms=r.jitter_ms,
            )
            for r in rows
        ]
        return together([[i] for i in intervals], self._way)[0]
