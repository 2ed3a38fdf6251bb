"""What one process printed about its connections, by second and in total, in one form for every tool with streams."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

Channel = Literal["rx", "tx", "report"]  # received by this process, sent by it, and reported by its peer at the end


@dataclass(frozen=True, slots=True)
class Row:
    """One line of figures of one flow."""

    flow: str
    star: bool
    start: float
    end: float
    bytes: int
    exact: bool  # the bytes were printed to the last digit
    kind: Literal["read", "write", "udp", "plain"]
    retransmits: int | None = None
    rtt_ms: float | None = None
    cwnd: int | None = None
    jitter_ms: float | None = None
    lost: int | None = None
    datagrams: int | None = None
    truncated: bool = False  # the receiver read only a part of each datagram
    rounded: float = 0.0  # share of the bytes that printing may have taken or added
    filled: bool = False  # stands for rows that were left out: their sum is the total minus the other rows


@dataclass(frozen=True, slots=True)
class Connection:
    """A flow's two ends as the tool names them."""

    flow: str
    local: str
    local_port: int
    remote: str
    remote_port: int
    reverse: bool = False


@dataclass
class Series:
    """The rows of one flow in one direction; `conflict` says in what way they contradict each other."""

    rows: list[Row] = field(default_factory=list)
    final: Row | None = None
    conflict: str = ""
    summary: bool = False  # the total is a separate entry, so a single first row is not taken for it
    lateness: float = 0.02  # seconds by which the tool may close a second too late
    apart: float = 0.0151  # seconds that may lie between two rows, as both times are rounded
    left_out: bool = False  # rows just before the next one were not kept

    def add(self, row: Row) -> None:
        """Add the next row; one that begins at 0 after others is the total."""
        gap, self.left_out = self.left_out, False
        if not self.rows:
            if row.start > self.apart:
                self.conflict = f"its lines before {row.start:.2f} s are missing"
            self.rows.append(row)
            return
        last = self.rows[-1]
        if row == last:
            return  # the line was repeated
        if self.final is not None and row != self.final:
            self.conflict = self.conflict or "it has lines after its total"
        elif row.start == 0.0:
            self.final = row
            if row.end < last.end - self.apart and not self.conflict:
                self.conflict = f"its total ends at {row.end:.2f} s, its seconds at {last.end:.2f} s"
        elif gap and row.start > last.end:
            bare = Row(row.flow, row.star, last.end, row.start, 0, row.exact, row.kind, filled=True)
            self.rows += (bare, row)
        elif abs(row.start - last.end) > self.apart:
            if not self.conflict:
                self.conflict = f"between {last.end:.2f} s and {row.start:.2f} s its lines are missing or out of order"
        else:
            self.rows.append(row)

    def fill(self) -> None:
        """Give the rows that were left out what the total has beyond the other rows, in proportion to their time."""
        if not any(row.filled for row in self.rows):
            return
        if self.final is None:
            self.conflict = self.conflict or "lines of its seconds were left out, and its total is missing"
            return
        last = self.rows[-1]
        if self.lateness < self.final.end - last.end <= 1.0:  # iperf does not always print its last partial second
            self.rows.append(replace(last, start=last.end, end=self.final.end, filled=True))
        spans = [row.end - row.start for row in self.rows if row.filled]
        counts = [
            _shares(getattr(self.final, name), [getattr(row, name) for row in self.rows if not row.filled], spans)
            for name in ("bytes", "retransmits", "lost", "datagrams")
        ]
        shares = iter(zip(*counts, strict=True))
        for place, row in enumerate(self.rows):
            if row.filled:
                count, again, lost, datagrams = next(shares)
                made = replace(row, bytes=count or 0, retransmits=again, lost=lost, datagrams=datagrams)
                self.rows[place] = made

    @property
    def total(self) -> Row | None:
        return (
            self.final
            if self.summary
            else self.final or (self.rows[0] if len(self.rows) == 1 and self.rows[0].start == 0.0 else None)
        )

    @property
    def end(self) -> float:
        return self.total.end if self.total else (self.rows[-1].end if self.rows else 0.0)

    @property
    def seen(self) -> bool:
        return bool(self.rows)


def _shares(total: int | None, known: list[int | None], spans: list[float]) -> list[int | None]:
    """Share out what `total` has beyond the known counts, in proportion to the spans; None if there is no total."""
    if total is None:
        return [None] * len(spans)
    rest, whole, given, shares = max(0, total - sum(n or 0 for n in known)), sum(spans), 0, []
    for number in range(len(spans)):
        upto = round(rest * sum(spans[: number + 1]) / whole)
        shares.append(upto - given)
        given = upto
    return [*shares]


@dataclass
class Stream:
    """What one process printed about one connection."""

    connection: Connection
    rx: Series = field(default_factory=Series)
    tx: Series = field(default_factory=Series)
    report: Series = field(default_factory=Series)
    sent: int | None = None  # datagrams sent
    arrived: Row | None = None  # the receiver's total, of what this process sent, if it was told
    only: Literal["rx", "tx", ""] = ""  # set if the connection carries payload one way: what this process does with it

    @property
    def seen(self) -> bool:
        return any(s.seen for s in (self.rx, self.tx, self.report))

    @property
    def finished(self) -> bool:
        """Whether its total was printed after its seconds."""
        return any(s.final for s in (self.rx, self.tx))

    def left_out(self) -> None:
        for series in (self.rx, self.tx, self.report):
            series.left_out = True

    def fill(self) -> None:
        for series in (self.rx, self.tx, self.report):
            series.fill()

    def series(self, channel: Channel) -> Series:
        return self.rx if channel == "rx" else self.tx if channel == "tx" else self.report


@dataclass
class Output:
    """Everything that one process printed."""

    role: Literal["client", "server", ""] = ""
    protocol: Literal["tcp", "udp", ""] = ""
    port: int | None = None
    streams: list[Stream] = field(default_factory=list)
    window: int | None = None
    tos: int | None = None  # the TOS byte with which it says it marks its packets
    datagram: int | None = None  # payload bytes of each datagram that this process sends
    sum: float = 0.0  # bytes of all flows if it prints that; used only to check the flows
    flows: int | None = None  # how many flows there are, if its header says so
    duplex: bool = False  # whether it says that its connections carry payload both ways
    mixed: str = ""  # why this is not the output of one process in one run
    buffer: int | None = None  # bytes that it reads of a datagram
    note: str = ""  # what its form leaves open
    foreign: list[str] = field(default_factory=list)  # lines of no known kind

    def left_out(self) -> None:
        """Note that rows of every stream were left out before the next one."""
        for stream in self.streams:
            stream.left_out()
