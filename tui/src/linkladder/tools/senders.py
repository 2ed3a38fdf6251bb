"""Which end of a trial sends each way, and how many bytes it says it wrote: a busy receiver has not read all of it when
its time is over, but all of it may have come in by its cards.
"""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment
from linkladder.tools import flow_sums
from linkladder.tools.records import Layout
from linkladder.tools.streams import Output


def ways_of(exp: Experiment) -> tuple[Direction, ...]:
    return (Direction.FORWARD, Direction.REVERSE) if exp.direction is Direction.DUPLEX else (exp.direction,)


def to_server(where: Layout, way: Direction) -> bool:
    """Whether the payload of this way goes from the tool's client to its server."""
    return (way is Direction.FORWARD) == (where.client is End.NEAR)


def written(exp: Experiment, where: Layout, server: Output, client: Output) -> dict[Direction, int]:
    """By way; nothing of a way whose sender's figures contradict each other."""
    found = {}
    for way in ways_of(exp):
        sender = client if to_server(where, way) else server
        sent = [stream.tx for stream in sender.streams if stream.only != "rx"]
        if not any(one.conflict or flow_sums.contradiction(one) for one in sent if one.seen):
            found[way] = sum(flow_sums.total_bytes(one) for one in sent if one.seen)
    return found
