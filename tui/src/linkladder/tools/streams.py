"""What one process said of its connections, second by second and in sum: the same for every tool that has streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Channel = Literal["rx", "tx", "report"]  # what this process received, sent, and was told by its peer at the end


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
    truncated: bool = False  # datagrams were longer than what was read of them


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
    """The rows of one flow one way; `conflict` says what cannot be true of them."""

    rows: list[Row] = field(default_factory=list)
    final: Row | None = None
    conflict: str = ""
    summary: bool = False  # its total comes in an entry of its own: a first second is none
    lateness: float = 0.02  # seconds by which the tool may close a second too late

    def add(self, row: Row) -> None:
        """Rows come in order; one that begins at 0 after others is the total."""
        if not self.rows:
            if row.start > 0.0:
                self.conflict = f"its lines before {row.start:.2f} s are missing"
            self.rows.append(row)
            return
        last = self.rows[-1]
        if row == last:
            return  # the line was repeated
        if row.start == 0.0:
            self.final = row
        elif abs(row.start - last.end) > 0.0151:  # two decimals, rounded at both
            if not self.conflict:
                self.conflict = f"between {last.end:.2f} s and {row.start:.2f} s its lines are missing or out of order"
        else:
            self.rows.append(row)

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


@dataclass
class Stream:
    """What one process said of one connection."""

    connection: Connection
    rx: Series = field(default_factory=Series)
    tx: Series = field(default_factory=Series)
    report: Series = field(default_factory=Series)
    sent: int | None = None  # datagrams
    only: Literal["rx", "tx", ""] = ""  # this connection carries payload one way, and this process does that

    @property
    def seen(self) -> bool:
        return any(s.seen for s in (self.rx, self.tx, self.report))

    @property
    def finished(self) -> bool:
        """Its total was printed, after seconds of it."""
        return any(s.final for s in (self.rx, self.tx))

    def series(self, channel: Channel) -> Series:
        return self.rx if channel == "rx" else self.tx if channel == "tx" else self.report


@dataclass
class Output:
    """All that one process printed."""

    role: Literal["client", "server", ""] = ""
    protocol: Literal["tcp", "udp", ""] = ""
    port: int | None = None
    streams: list[Stream] = field(default_factory=list)
    window: int | None = None
    window_asked: int | None = None
    tos: int | None = None  # with which it says that it marks its packets
    datagram: int | None = None  # payload bytes of those that this process sends
    sum: float = 0.0  # bytes of all flows, where it says so: no figure to use, but a witness
    flows: int | None = None  # how many there are, where its header says so
    mixed: str = ""  # why this is not the output of one process in one run
    foreign: list[str] = field(default_factory=list)  # lines that belong to no known kind
