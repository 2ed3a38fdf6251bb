"""What a tool claims is held against what the interfaces counted, whichever tool it is."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from linkladder import tools
from linkladder.engine import account
from linkladder.engine.account import Watched
from linkladder.engine.leg import RunningLeg
from linkladder.engine.route import Route, Side
from linkladder.engine.tool_process import Process
from linkladder.model import (
    CoreLoad,
    Direction,
    End,
    Experiment,
    Fault,
    Flow,
    HostSample,
    NicCounters,
    Outcome,
    Path,
    Protocol,
    TcpCounters,
)
from linkladder.wire import CountersReply

GIGABYTE = 1 << 30
STREAMS = [
    Experiment("x", tool.name, protocol, direction, udp_rate_bps=1e9)
    for tool in tools.TOOLS.values()
    for protocol in tool.protocols
    if protocol in (Protocol.TCP, Protocol.UDP)
    for direction in (Direction.FORWARD, Direction.REVERSE)
]
EACH = pytest.mark.parametrize("exp", STREAMS, ids=lambda e: f"{e.tool}-{e.protocol}-{e.direction}")


def route(near: str = "10.0.0.1", far: str = "10.0.0.2") -> Route:
    nobody: Any = None
    return Route(Path(near, far, "beta"), Side(0, nobody, "near", near, ""), Side(1, nobody, "far", far, ""))


def leg(exp: Experiment) -> Outcome:
    """One that says it moved a gigabyte."""
    return Outcome(True, goodput_bps=8e8, flows=(Flow("1", exp.direction, "", 0, "", 0, 1, 8e8, GIGABYTE, 10.7),))


def ends(exp: Experiment, counted: dict[str, tuple[int | None, int | None]], shared: str = "") -> list[Watched]:
    """By the near address of each path, what the sender's card sent and the receiver's received."""
    watched = [Watched("near"), Watched("far")]
    sender, receiver = watched if exp.direction is Direction.FORWARD else reversed(watched)
    for number, (near, (sent, received)) in enumerate(counted.items()):
        far = near.removesuffix(".1") + ".2"
        name = shared or f"em{number}"
        for end, total, sends in ((sender, sent, True), (receiver, received, False)):
            most, least = (total or 0), (total or 0) // 50
            nic = NicCounters(name, tx_bytes=most if sends else least, rx_bytes=least if sends else most)
            for seen in (NicCounters(name), nic):
                address = near if end is watched[0] else far
                end.count(address, CountersReply(name, None if total is None else seen, TcpCounters(), None, 1))
    return watched


def accounted(exp: Experiment, sent: int | None, received: int | None) -> Outcome:
    """What becomes of a leg that says it moved a gigabyte where the interfaces counted `sent` and `received`."""
    return account.accounted([leg(exp)], [route()], ends(exp, {"10.0.0.1": (sent, received)}), exp)[0]


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
        assert account.accounted([Outcome(True)], [route()], [Watched("near"), Watched("far")], exp)[0].ok


@EACH
def test_each_leg_is_held_against_its_own_card(exp: Experiment) -> None:
    """Of two legs, one went over the other's card: neither is believed."""
    whole, both = round(GIGABYTE * 1.046), round(GIGABYTE * 2.092)
    routes = [route(), route("10.1.0.1", "10.1.0.2")]
    good = ends(exp, {"10.0.0.1": (whole, whole), "10.1.0.1": (whole, whole)})
    assert [one.ok for one in account.accounted([leg(exp), leg(exp)], routes, good, exp)] == [True, True]
    astray = ends(exp, {"10.0.0.1": (both, both), "10.1.0.1": (0, 0)})
    found = account.accounted([leg(exp), leg(exp)], routes, astray, exp)
    assert [one.ok for one in found][1] is False and "another interface" in found[1].reason


@EACH
def test_legs_over_one_card_are_held_against_it_together(exp: Experiment) -> None:
    both = round(GIGABYTE * 2.092)
    routes = [route(), route("10.1.0.1", "10.1.0.2")]
    seen = ends(exp, {"10.0.0.1": (both, both), "10.1.0.1": (both, both)}, shared="em0")
    assert [one.ok for one in account.accounted([leg(exp), leg(exp)], routes, seen, exp)] == [True, True]


def test_what_was_sent_twice_for_nothing_arrives_twice_and_is_no_other_traffic() -> None:
    """A bundle that takes packets in turns: a fifth was overtaken, sent again, and came all the same."""
    exp = next(e for e in STREAMS if e.protocol is Protocol.TCP and e.direction is Direction.FORWARD)
    twice = round(GIGABYTE * 1.25)
    assert "other traffic" in accounted(exp, twice, twice).reason
    watched = ends(exp, {"10.0.0.1": (twice, twice)})
    (sent,) = watched[0].after.values()
    again = replace(sent, tcp=replace(sent.tcp, retransmits=round(0.2 * GIGABYTE / 1514)))
    (before,) = watched[0].before.values()
    watched[0].before = {"10.0.0.1": replace(before, tcp=replace(before.tcp, retransmits=0))}
    watched[0].after = {"10.0.0.1": again}
    assert account.accounted([leg(exp)], [route()], dict(enumerate(watched)), exp)[0].ok


@pytest.mark.parametrize(
    ("wrote", "came_in", "good"),
    [
        (738197504, 733056257, True),
        (600000000, 733056257, False),
        (738197504, 833056257, False),
        (700000000, 790000000, False),
    ],
)
def test_what_a_busy_receiver_left_unread_is_no_other_traffic(wrote: int, came_in: int, good: bool) -> None:
    """As between two emulated machines: four flows of zero copy, 72 MB of which were not read at the end."""
    exp = next(e for e in STREAMS if e.tool == "iperf3" and (e.protocol, e.direction) == ("tcp", "reverse"))
    read = replace(leg(exp), flows=(replace(leg(exp).flows[0], total_bytes=665845760),))
    seen = ends(exp, {"10.0.0.1": (came_in, came_in)})
    asked: list[int] = []

    def written() -> dict[Direction, int]:
        asked.append(wrote)
        return {exp.direction: wrote}

    judged = account.accounted([read], [route()], seen, exp, [written])[0]
    assert judged.ok is good and ("other traffic" in judged.reason) is not good and asked
    quiet = ends(exp, {"10.0.0.1": (690000000, 690000000)})
    assert account.accounted([read], [route()], quiet, exp, [written])[0].ok and len(asked) == 1, "not read for nothing"


@pytest.mark.parametrize("since", [0.0, 3.0])
def test_processors_are_counted_from_when_sessions_ask_and_not_while_they_wait(since: float) -> None:
    """Fifty sessions took an emulated machine longer to start than they then had: its load was told as the trial's."""
    exp = Experiment("x", "netperf", Protocol.RR, duration=2, warmup=1, sessions=50)
    waits = tools.named(exp.tool).waits(exp)
    watched = Watched("near")
    asked = since + waits + exp.warmup
    for second in range(1, 12):
        busy = 50.0 if asked < second <= asked + exp.duration else 0.0
        watched.samples.append(HostSample(float(second), (CoreLoad(busy, 0.0, 0.0, 100 - busy),), GIGABYTE))
    for _ in range(2):
        watched.count("10.0.0.1", CountersReply("em0", NicCounters("em0"), TcpCounters(), None, GIGABYTE))
    running = RunningLeg(exp, route(), 0, 5301, "key", {})
    running.layout = tools.Layout(End.FAR, End.NEAR, clients=2)
    running.clients = [
        Process(route().near, "client", n, (), begun, tools.Live()) for n, begun in enumerate((0, since))
    ]
    running.processes = running.clients
    cpu = watched.record(exp, 0.0, 0.0, running.zero).cpu
    assert waits and cpu and cpu.percent == 50.0
    told = time.monotonic()
    running.clients[1].zero = told
    assert running.zero == told, "what the tool reports is known better"
    running.last_client_began = told + waits + 1  # the last of them began to ask
    assert running.zero == told + 1, "and that the last has come"


def test_the_datagrams_that_found_a_full_socket_are_the_trials_own() -> None:
    for before, after, told in ((100, 130, 30), (None, 130, None), (100, None, None)):
        watched = Watched("far")
        for count in (before, after):
            seen = CountersReply("em0", NicCounters("em0"), TcpCounters(), None, GIGABYTE, udp_dropped=count)
            watched.count("10.0.0.2", seen)
        assert watched.record(STREAMS[0], 0.0, 0.0).udp_dropped == told


def test_the_seconds_of_a_bundle_of_routes_count_what_its_members_carried() -> None:
    members = (NicCounters("m0", tx_bytes=600), NicCounters("m1", tx_bytes=400))
    summed, own = NicCounters("b0", tx_bytes=1000), NicCounters("b0", tx_bytes=7)
    for nic, told in ((summed, 3000), (replace(summed, tx_bytes=1001), 7)):  # what counts by itself stays
        watched = Watched("near")
        watched.count("10.0.0.1", CountersReply("b0", nic, TcpCounters(), None, GIGABYTE, members))
        later = (own, replace(members[0], tx_bytes=1600), replace(members[1], tx_bytes=1400))
        seen = watched.look(HostSample(1.0, (), 0, later))
        assert [one.tx_bytes for one in seen.nics] == [told, 1600, 1400]
        assert list(watched.samples) == [seen]
