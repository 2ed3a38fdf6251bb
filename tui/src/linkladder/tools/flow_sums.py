"""Turns the rows of one flow into a Flow and adds flows up; the tools' own SUM lines are never used."""

from __future__ import annotations

import math
from dataclasses import replace

from linkladder.model import Direction, Experiment, Flow, Interval
from linkladder.tools.seconds import EDGE, counted, known_sum, losses_of
from linkladder.tools.streams import Connection, Row, Series


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


def contradiction(series: Series, block: int | None = None) -> str:
    """How the seconds of a flow contradict its total, because they add up to more or to much less; '' if they agree.

    The last block of `block` bytes may be in the total only, as it is still on its way when the last second is printed.
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
    if added < total.bytes * 0.94 - max(slack, block or 0):  # a full buffer empties in 10 ms
        return f"its seconds add up to {added} bytes, its own total is {total.bytes}"
    return ""


def total_bytes(series: Series) -> int:
    return series.total.bytes if series.total else sum(r.bytes for r in series.rows)


def flow(exp: Experiment, way: Direction, at: Connection, rx: Series, tx: Series | None, receiver_near: bool) -> Flow:
    """The flow with the receiver's bytes, and the sender's retransmits, cwnd and round trip of the same seconds."""
    if not rx.conflict:
        rx.conflict = contradiction(rx, exp.write_size)
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


def missing(rx: Series, sent: int | None) -> int:
    """How many datagrams were sent after the last one that arrived; the receiver cannot see that they are lost."""
    known = rx.final.datagrams if rx.final else known_sum(r.datagrams for r in rx.rows)
    if sent is None or known is None:
        return 0
    unseen = sent - known
    return unseen if unseen > max(12, math.ceil(sent * 0.001)) else 0  # iperf sends its last datagram up to 10 times
