"""Turns the rows of one flow into a Flow and adds flows up; the tools' own SUM lines are never used."""

from __future__ import annotations

import math
from dataclasses import replace

from linkladder.model import Direction, Experiment, Flow, Interval
from linkladder.tools.seconds import EDGE, counted, known_sum, losses_of
from linkladder.tools.streams import Connection, Row, Series, Stream

# What the seconds must add up to of the total, in parts: a full buffer empties in the 10 ms after the last second, of
# which no line is printed.  On a busy machine it holds more, which is believed where the sender tells the same total.
UNCONFIRMED, CONFIRMED = 0.94, 0.85


def complete(series: Series) -> list[Row]:
    """The rows, with the last partial second restored from the total if iperf left it out, as 2.0.13 does."""
    total = series.total
    rows = series.rows
    if total is None or total is rows[0] or not rows:
        return list(rows)
    last = rows[-1]
    gap = total.end - last.end
    if not EDGE < gap <= 1.0 + EDGE:
        return list(rows)
    rest = total.bytes - sum(r.bytes for r in rows)
    if rest < 0:
        return list(rows)
    lost = datagrams = None
    if total.lost is not None and total.datagrams is not None and all(r.datagrams is not None for r in rows):
        datagrams = max(0, total.datagrams - sum(r.datagrams or 0 for r in rows))
        lost = min(datagrams, max(0, total.lost - sum(r.lost or 0 for r in rows)))
    tail = replace(last, start=last.end, end=total.end, bytes=rest, retransmits=None, lost=lost, datagrams=datagrams)
    return [*rows, tail]


def contradiction(series: Series, block: int | None = None, least: float = UNCONFIRMED) -> str:
    """How the seconds of a flow contradict its total, because they add up to more or to much less; '' if they agree.

    The last block of `block` bytes may be in the total only, as it is still on its way when the last second is printed;
    otherwise the seconds must make at least the share `least` of it.
    """
    total, rows = series.total, series.rows
    if total is None or not rows or total is rows[0]:
        return ""
    seconds = complete(series)
    if total.end - seconds[-1].end > EDGE:
        return f"its lines after {seconds[-1].end:.2f} s are missing"
    added = sum(r.bytes for r in seconds)
    slack = total.bytes * (0.001 if total.exact else 0.01) + 4 * 131072 + 1
    if added > total.bytes + slack:
        return f"its seconds add up to {added} bytes, its own total is {total.bytes}"
    if added < total.bytes * least - max(slack, block or 0):
        return f"its seconds add up to {added} bytes, its own total is {total.bytes}"
    counts = [r.datagrams for r in seconds]
    count = known_sum(counts)
    if None in counts or count is None or total.datagrams is None:
        return ""
    # A busy receiver finds some datagrams in its socket after its last second, which count in the total only.
    if -12 - 0.01 * count <= total.datagrams - count <= 12 + 0.02 * count:
        return ""
    return f"its seconds add up to {count} datagrams, its own total is {total.datagrams}"


def _same_total(rx: Series, tx: Series) -> bool:
    """Whether the sender, whose own seconds bear it out, tells the same total."""
    if rx.total is None or tx.total is None or not tx.rows or tx.total is tx.rows[0]:
        return False
    return rx.total.bytes == tx.total.bytes and not tx.conflict and not contradiction(tx)


def total_bytes(series: Series) -> int:
    return series.total.bytes if series.total else sum(r.bytes for r in series.rows)


def flow(exp: Experiment, way: Direction, at: Connection, rx: Series, tx: Series | None, receiver_near: bool) -> Flow:
    """The flow with the receiver's bytes, and the sender's retransmits, cwnd and round trip of the same seconds."""
    if not rx.conflict:
        rx.conflict = contradiction(rx, exp.write_size, CONFIRMED if tx and _same_total(rx, tx) else UNCONFIRMED)
    sender = {round(r.start): r for r in tx.rows} if tx else {}
    intervals = []
    rows = complete(rx)
    only_total = len(rows) == 1 and rows[0].end - rows[0].start > 1.5  # run without -i, so no warm-up can be cut off
    for row in rows:
        known = sender.get(round(row.start))
        use = known if known and abs(known.start - row.start) <= rx.lateness else None
        intervals.append(
            Interval(
                row.start,
                row.end,
                row.bytes,
                way,
                counted(exp, row.start, row.end, rx.lateness) or (only_total and exp.warmup == 0),
                use.retransmits if use else None,
                use.rtt_ms if use else None,
                use.cwnd if use else None,
                row.lost,
                row.datagrams,
                row.jitter_ms,
            )
        )
    good = [i for i in intervals if i.counted]
    span = good[-1].end - good[0].start if good else 0.0
    number = sum(i.bytes for i in good)
    lost, datagrams, jitter = losses_of(good)
    near = (at.local, at.local_port) if receiver_near else (at.remote, at.remote_port)
    far = (at.remote, at.remote_port) if receiver_near else (at.local, at.local_port)
    return Flow(
        at.flow,
        way,
        *near,
        *far,
        number,
        number * 8 / span if span > 0 else 0.0,
        total_bytes(rx),
        rx.end,
        known_sum(i.retransmits for i in good),
        lost,
        datagrams,
        jitter,
        tuple(intervals),
    )


def offered(exp: Experiment, tx: Series) -> float | None:
    """The rate in bits per second at which one sender sent in the counted window."""
    rows = [r for r in complete(tx) if counted(exp, r.start, r.end, tx.lateness)]
    if not rows:
        return None
    return sum(r.bytes for r in rows) * 8 / (rows[-1].end - rows[0].start)


def sent(stream: Stream, size: int | None) -> int | None:
    """How many datagrams of `size` bytes a sender says it sent, or else its bytes make; None if these contradict it."""
    if stream.tx.conflict and stream.tx.summary:  # one report tells both
        return None
    total = stream.tx.total
    if not size or total is None or total.end <= 1.5:  # a single second, the others of which are missing
        return stream.sent
    made = total.bytes // size
    return made if stream.sent is None else stream.sent if abs(stream.sent - made) <= 12 + 0.01 * made else None


def ends_silent(rx: Series, asked: float) -> bool:
    """Whether nothing arrived at the end of the time, so that the receiver cannot tell what was lost there."""
    return max((row.end for row in rx.rows if row.bytes), default=0.0) < asked - 0.5


def of_size(rx: Series, size: int) -> str:
    """How the bytes of a flow contradict the datagrams of that size that arrived; '' if they do not."""
    number = sum(r.bytes for r in rx.rows)
    received = sum((r.datagrams or 0) - (r.lost or 0) for r in rx.rows)
    if received <= 0 or not number or abs(number - received * size) <= 0.02 * received * size + 12 * size:
        return ""
    if number < received * size:
        return f"the receiver read less than the {size} bytes of each datagram"
    return f"{number} bytes arrived, and {received} datagrams of {size} bytes are said to have arrived"


def missing(rx: Series, sent: int | None) -> int:
    """How many datagrams were sent after the last one that arrived; the receiver cannot see that they are lost."""
    known = rx.final.datagrams if rx.final else known_sum(r.datagrams for r in rx.rows)
    if sent is None or known is None:
        return 0
    unseen = sent - known
    return unseen if unseen > max(12, math.ceil(sent * 0.001)) else 0  # iperf sends its last datagram up to 10 times
