"""A trial's connections are read before they close, and half-way too, should the machine come too late for that."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest

from linkladder import wire
from linkladder.engine.account import Watched
from linkladder.engine.connections import watch_connections
from linkladder.engine.route import Side
from linkladder.model import SocketStat
from linkladder.peer import EndPoint, PeerLost

PORT = 5301


def connection(sent: int) -> SocketStat:
    return SocketStat("10.0.0.1", 40000, "10.0.0.2", PORT, "ESTABLISHED", sent_bytes=sent)


class End:
    """Whose system shows these bytes at each look; None if the connection is closed by then, -1 if the end is lost."""

    def __init__(self, *looks: int | None) -> None:
        self.looks = list(looks)

    async def ask(self, request: wire.Request[Any]) -> wire.SocketsReply:
        sent = self.looks.pop(0)
        if sent == -1:
            raise PeerLost("gone")
        return wire.SocketsReply("ss", () if sent is None else (connection(sent),))


@pytest.mark.parametrize(
    ("looks", "sent", "when"),
    [((50, 90), 90, 0.4), ((50, None), 50, 0.2), ((None, 90), 90, 0.4), ((None, None), None, 0.2), ((50, -1), 50, 0.2)],
    ids=["both", "too late", "connected late", "never", "lost"],
)
async def test_the_last_look_counts_unless_it_came_too_late(
    looks: tuple[int | None, ...], sent: int | None, when: float
) -> None:
    end, watched = End(*looks), {0: Watched("near")}
    side = Side(0, cast(EndPoint, end), "near", "10.0.0.1", "eth0")
    begun = time.monotonic()
    await watch_connections({0: side}, watched, (PORT,), begun, begun + 0.4)
    seen = watched[0].sockets
    assert seen and not end.looks
    assert [s.sent_bytes for s in seen.sockets] == ([] if sent is None else [sent])
    assert seen.t >= when  # what was counted is of that moment


async def test_a_trial_without_connections_asks_nobody() -> None:
    end, watched = End(), {0: Watched("near")}
    begun = time.monotonic()
    side = Side(0, cast(EndPoint, end), "near", "10.0.0.1", "eth0")
    await watch_connections({0: side}, watched, (), begun, begun + 0.1)
    assert watched[0].sockets is None
