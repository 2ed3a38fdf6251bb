"""Two ends contact each other on the path before a tool runs, to learn if the port is open and if each end agrees."""

from __future__ import annotations

import contextlib

from linkladder import wire
from linkladder.peer import EndPoint, Refused

MEANING = {
    "refused": "is refused: something on the way rejects it",
    "filtered": "is filtered: nothing comes back, so a firewall or a dead path swallows it",
    "unreachable": "cannot be reached: there is no route",
}


async def knock(
    listens: EndPoint, address: str, knocks: EndPoint, source: str, port: int, udp: bool, key: str
) -> wire.ProbeReply:
    """Knock from `source` at `address`. If it is "open", each end may send test traffic to the other's address."""
    await listens.ask(wire.Listen(address, port, source, key, udp))
    try:
        return await knocks.ask(wire.Probe(source, address, port, key, udp))
    finally:
        with contextlib.suppress(Refused):
            await listens.ask(wire.Unlisten())


def words(seen: wire.ProbeReply, address: str, port: int, udp: bool) -> str:
    return f"{'UDP' if udp else 'TCP'} port {port} of {address} {MEANING[seen.state]} ({seen.detail})"
