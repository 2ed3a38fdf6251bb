"""How many bytes the senders of a trial say they wrote: a busy receiver has not read all of it when its time is over,
but all of it may have come in by its cards.
"""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment
from linkladder.tools import flow_sums
from linkladder.tools.records import Layout
from linkladder.tools.streams import Output


def written(exp: Experiment, where: Layout, server: Output, client: Output) -> dict[Direction, int]:
    """By way; nothing of a way whose sender's figures contradict each other."""
    ways = Direction.FORWARD, Direction.REVERSE
    found = {}
    for way in ways if exp.direction is Direction.DUPLEX else (exp.direction,):
        to_server = (way is Direction.FORWARD) == (where.client is End.NEAR)
        sent = [stream.tx for stream in (client if to_server else server).streams if stream.only != "rx"]
        if not any(one.conflict or flow_sums.contradiction(one) for one in sent if one.seen):
            found[way] = sum(flow_sums.total_bytes(one) for one in sent if one.seen)
    return found
