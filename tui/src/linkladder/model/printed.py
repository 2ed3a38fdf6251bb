"""What is read from the output of tools: seconds, flows, round trips, transactions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkladder.model.words import Direction, End


@dataclass(frozen=True)
class SocketBuffers:
    """Bytes of a stream's socket buffers at the two sides of its path, as they were granted; 0 where nobody says."""

    near: int = 0
    far: int = 0

    def granted(self, end: End, size: int) -> SocketBuffers:
        """The same with the buffer of that side set."""
        return replace(self, near=size) if end is End.NEAR else replace(self, far=size)


@dataclass(frozen=True, slots=True)  # of a soak there are hundreds of thousands
class Interval:
    """Bytes in a span of a trial's clock; of one flow as parsed, of all flows of a direction in a TrialResult."""

    start: float
    end: float
    bytes: int
    direction: Direction = Direction.FORWARD
    counted: bool = True  # False during the warm-up and the tail
    retransmits: int | None = None
    rtt_ms: float | None = None
    cwnd: int | None = None
    lost: int | None = None  # UDP, at the receiver
    datagrams: int | None = None
    jitter_ms: float | None = None

    @property
    def bps(self) -> float:
        return self.bytes * 8 / (self.end - self.start) if self.end > self.start else 0.0


@dataclass(frozen=True)
class Flow:
    """One stream in one direction, as its receiver saw it (the sender, where nothing else is known)."""

    id: str
    direction: Direction
    local: str
    local_port: int
    remote: str
    remote_port: int
    bytes: int  # in the counted window
    bps: float  # in the counted window
    total_bytes: int  # from first to last byte
    seconds: float  # from first to last byte
    retransmits: int | None = None
    lost: int | None = None
    datagrams: int | None = None
    jitter_ms: float | None = None
    intervals: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class Rtt:
    """Round trips of one series of pings."""

    sent: int
    received: int
    min_ms: float | None = None
    avg_ms: float | None = None
    max_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    stddev_ms: float | None = None
    samples_ms: tuple[float, ...] = ()


@dataclass(frozen=True)
class PathMtu:
    """DF probes one way: `passed` and `failed` are MTUs; black_hole says that big packets vanish without a word."""

    passed: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    mtu: int | None = None  # the largest that passed
    black_hole: bool = False
    reported_mtu: int | None = None  # what a router or the own stack said it would take


@dataclass(frozen=True)
class Transactions:
    """netperf request/response, summed over the sessions."""

    rate: float
    sessions: int
    mean_us: float | None = None
    p50_us: float | None = None
    p90_us: float | None = None
    p99_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    request: int = 0
    response: int = 0
