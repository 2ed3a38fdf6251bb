"""Lines as they come, to seconds for the eye: provisional, cheap, and never an exception."""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment, Interval, Protocol, Tool
from linkladder.tools import iperf_lines, iperf_sums, netperf, ping
from linkladder.tools.face import Layout
from linkladder.tools.iperf_lines import Row

MOST_PENDING = 64  # seconds kept while waiting for a flow that has stalled
LATE = 3  # a second is shown without a flow that is so many seconds behind


class LiveParser:
    """One process's lines to sums over the flows it receives, a second at a time."""

    def __init__(self, exp: Experiment, where: Layout, end: End) -> None:
        self._exp = exp
        self._role = "server" if where.server is not None and end == where.server else "client"
        self._reverse_flag = where.reverse_flag
        to_server = Direction.FORWARD if where.client == End.NEAR else Direction.REVERSE
        back = Direction.REVERSE if to_server == Direction.FORWARD else Direction.FORWARD
        self._way = to_server if self._role == "server" else back
        self._pending: dict[int, dict[str, Row]] = {}
        self._shown = -1  # the last second given out
        self._reached: dict[str, float] = {}
        self._interim: dict[str, str] = {}
        self._begun: float | None = None
        self._totals: set[tuple[str, bool]] = set()  # flows whose last line was printed
        self._ways = 2 if exp.direction == Direction.DUPLEX else 1

    @property
    def complete(self) -> bool:
        """Has this process told all that it will of every flow?  Then there is nothing to wait for."""
        return len(self._totals) >= self._exp.streams * self._ways

    def feed(self, line: str) -> list[Interval]:
        line = line.rstrip()
        if self._exp.tool == Tool.IPERF:
            return self._iperf(line) if line.startswith("[") else []
        if self._exp.tool == Tool.NETPERF and self._role == "client" and line.startswith("NETPERF_"):
            return self._netperf(line)
        return []

    def round_trip(self, line: str) -> float | None:
        """The round trip in ms of one line of ping."""
        return ping.reply(line.strip()) if self._exp.tool == Tool.PING else None

    def _iperf(self, line: str) -> list[Interval]:
        row = iperf_lines.parse_row(line)
        if row is None:
            return []
        if row.start == 0.0 and row.end > 1.5:  # one second of -i 1 is no total
            self._totals.add((row.flow, row.star))
        if iperf_lines.channel(row, self._role, self._reverse_flag) != "rx":
            return []
        if row.start == 0.0 and row.flow in self._reached:
            return []  # the total
        if abs(row.start - self._reached.get(row.flow, 0.0)) > 0.02:
            return []  # out of place: the verdict will say so
        self._reached[row.flow] = row.end
        second = round(row.start)
        if second <= self._shown:
            return []  # that second was given out without it
        self._pending.setdefault(second, {})[row.flow] = row
        return self._ready()

    def _ready(self) -> list[Interval]:
        """Seconds that all flows have reported; or that the quickest flow has left well behind."""
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
                iperf_sums.counted(self._exp, r.start, r.end),
                lost=r.lost,
                datagrams=r.datagrams,
                jitter_ms=r.jitter_ms,
            )
            for r in rows
        ]
        return iperf_sums.together([[i] for i in intervals], self._way)[0]

    def _netperf(self, line: str) -> list[Interval]:
        """Four lines make one interim result; the last of them is the clock."""
        if units := netperf.UNITS.match(line):
            self._interim["units"] = units[2]
            return []
        match = netperf.INTERIM.match(line)
        if not match:
            return []
        self._interim[match[1]] = match[3]
        if match[1] != "ENDING":
            return []
        seen, self._interim = self._interim, {}
        scale = netperf.SCALES.get(seen.get("units", ""))
        if scale is None or "INTERVAL" not in seen or "INTERIM_RESULT" not in seen:
            return []
        ending, span = float(seen["ENDING"]), float(seen["INTERVAL"])
        if self._begun is None:
            self._begun = ending - span
        start, end = ending - span - self._begun, ending - self._begun
        if not 0 <= start < end < 1e7:
            return []
        amount = float(seen["INTERIM_RESULT"]) * scale * span
        counted = start >= self._exp.warmup - 0.1
        if self._exp.protocol == Protocol.RR:
            each = self._exp.request + self._exp.response
            return [Interval(start, end, round(amount * each), self._exp.direction, counted, datagrams=round(amount))]
        return [Interval(start, end, round(amount), self._exp.direction, counted)]
