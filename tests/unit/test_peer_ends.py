"""The channel to a far agent, held against ends that are slow or say no."""

from __future__ import annotations

import sys

import pytest

from linkladder import wire
from linkladder.errors import EnvironmentFault
from linkladder.peer import ends
from linkladder.trust import peers

SLOW = (
    "import sys, time; sys.stdin.readline(); time.sleep(0.6); "
    'print(\'{"id": 1, "error": "not today"}\', flush=True); sys.stdin.read()'
)


async def test_the_start_of_an_agent_may_take_longer_than_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "ASK_TIMEOUT", 0.1)
    monkeypatch.setattr(ends.wire, "KEEPALIVE", 0.05)
    with pytest.raises(ends.Refused, match="not today"):
        await ends.FarEnd.open("beta", [sys.executable, "-c", SLOW])


async def test_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "HELLO_TIMEOUT", 0.2)
    with pytest.raises(ends.PeerLost, match=r"did not answer within 0\.2 s"):
        await ends.FarEnd.open("beta", [sys.executable, "-c", SLOW])


@pytest.mark.parametrize("order", [("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")])
async def test_what_the_peer_said_wins_over_addresses_that_are_shut(
    monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...]
) -> None:
    said = {"10.0.0.1": "Permission denied (publickey).", "10.0.0.2": "connect to host: Connection refused"}

    def command(_: peers.Peer, address: str) -> list[str]:
        return [sys.executable, "-c", f"import sys; sys.exit({said[address]!r})"]

    peer = peers.Peer("beta", order, "", "")
    monkeypatch.setattr(ends.peers, "find", lambda name: peer)
    monkeypatch.setattr(ends.peers, "ssh_command", command)
    near = wire.HelloReply(wire.PROTOCOL, "", "alpha", "", {}, (), None, 1)
    with pytest.raises(EnvironmentFault, match="does not know this appliance"):
        await ends.connect("beta", near)
