"""Takes from the counters of ends that several paths share what is one path's, so that its losses are not diluted.

An end counts for all its cards and sockets. Of paced UDP each path is sent as much, and what is missing is laid to the
paths by what each of them lost. Where other paths begin or end at only one of the two ends, as in a mesh, the packets
that their cards counted cannot be compared.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.evidence import of_path
from linkladder.model import Direction, EndRecord, NicCounters, Role, TrialResult


def of_path_alone(t: TrialResult, number: int, way: Direction) -> TrialResult:
    """The trial with only the legs of that path, its ends, and what these counted of it."""
    part = of_path(t, number)
    loads = [g for g in t.legs if g.role is Role.LOAD]
    mine = next((g for g in loads if g.path == number), None)
    if mine is None or len(part.ends) < 2 or len(part.loads) != 1:
        return part
    forward = way is not Direction.REVERSE
    sender, receiver = (mine.near, mine.far) if forward else (mine.far, mine.near)
    there = [g for g in loads if (g.near if forward else g.far) == sender]
    here = [g for g in loads if (g.far if forward else g.near) == receiver]
    if len(there) == len(here) == 1:
        return part
    lost = sum(g.outcome.lost or 0 for g in here)
    share = (mine.outcome.lost or 0) / lost if lost else 1 / len(here)
    out, in_ = t.ends[sender].carried, t.ends[receiver].carried
    tx, rx, tx_bytes, rx_bytes = 0, 0, 0, 0
    if there == here:
        tx, tx_bytes = out.tx_packets // len(here), out.tx_bytes // len(here)
        if in_.rx_packets:
            rx = max(1, tx - round(share * (out.tx_packets - in_.rx_packets)))
            rx_bytes = max(1, tx_bytes - round(share * (out.tx_bytes - in_.rx_bytes)))
    sent = NicCounters("", tx_bytes=tx_bytes, tx_packets=tx, tx_drops=out.tx_drops // len(there))
    heard = NicCounters(
        "",
        rx_bytes=rx_bytes,
        rx_packets=rx,
        rx_drops=round(share * in_.rx_drops),
        rx_errors=round(share * in_.rx_errors),
        crc_errors=None if in_.crc_errors is None else round(share * in_.crc_errors),
    )
    ends = list(part.ends)
    load = next(g for g in part.legs if g.role is Role.LOAD)
    first, last = (load.near, load.far) if forward else (load.far, load.near)
    ends[first] = _counting(ends[first], sent)
    dropped = ends[last].udp_dropped
    ends[last] = replace(_counting(ends[last], heard), udp_dropped=None if dropped is None else round(share * dropped))
    return replace(part, ends=tuple(ends))


def _counting(end: EndRecord, counted: NicCounters) -> EndRecord:
    """The end with this counted; of its cards is left whether they lost their link."""
    return replace(end, nics=(*(NicCounters(c.name, carrier_lost=c.carrier_lost) for c in end.nics), counted))
