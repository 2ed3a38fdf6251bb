"""What a tool claims is held against what the interfaces counted, whichever tool it is."""

from __future__ import annotations

import pytest

from linkladder import tools
from linkladder.engine import account
from linkladder.model import Direction, End, Experiment, Fault, Flow, NicCounters, Outcome, Path, Protocol

PATH = Path("10.0.0.1", "10.0.0.2", "beta")
GIGABYTE = 1 << 30
STREAMS = [
    Experiment("x", tool.name, protocol, direction, udp_rate_bps=1e9)
    for tool in tools.TOOLS.values()
    for protocol in tool.protocols
    if protocol in (Protocol.TCP, Protocol.UDP)
    for direction in (Direction.FORWARD, Direction.REVERSE)
]
EACH = pytest.mark.parametrize("exp", STREAMS, ids=lambda e: f"{e.tool}-{e.protocol}-{e.direction}")


def accounted(exp: Experiment, sent: int | None, received: int | None) -> Outcome:
    """What becomes of a leg that says it moved a gigabyte where the interfaces counted `sent` and `received`."""
    forward = exp.direction is Direction.FORWARD
    nics: dict[End, NicCounters] = {}
    if sent is not None:
        nics[End.NEAR if forward else End.FAR] = NicCounters("em0", tx_bytes=sent, rx_bytes=sent // 50)
    if received is not None:
        nics[End.FAR if forward else End.NEAR] = NicCounters("em0", tx_bytes=received // 50, rx_bytes=received)
    flow = Flow("1", exp.direction, "10.0.0.1", 4000, "10.0.0.2", 5301, GIGABYTE, 8e8, GIGABYTE, 10.7)
    return account.accounted(Outcome(True, goodput_bps=8e8, flows=(flow,)), exp, PATH, False, nics)


@EACH
def test_interfaces_that_saw_it_bear_it_out(exp: Experiment) -> None:
    whole = round(GIGABYTE * 1.046)
    assert accounted(exp, whole, whole).ok


@EACH
@pytest.mark.parametrize(
    ("sent", "received", "words"),
    [
        (None, None, "could not be read"),
        (GIGABYTE, None, "could not be read"),
        (GIGABYTE // 10, GIGABYTE, "another interface"),
        (GIGABYTE, 0, "another interface"),
        (GIGABYTE, GIGABYTE * 2, "shares the interface"),
    ],
)
def test_interfaces_that_did_not_are_no_result(
    exp: Experiment, sent: int | None, received: int | None, words: str
) -> None:
    judged = accounted(exp, sent, received)
    assert (judged.ok, judged.fault) == (False, Fault.TOOL)
    assert words in judged.reason


def test_pings_and_transactions_claim_no_bytes() -> None:
    for exp in (Experiment("x", "ping", Protocol.ECHO), Experiment("x", "netperf", Protocol.RR)):
        assert account.accounted(Outcome(True), exp, PATH, False, {}).ok
