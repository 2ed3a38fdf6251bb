"""Legs of one trial: what they come to together, over the seconds that they share, and as they run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import trials
from linkladder import phrases, tools
from linkladder import plan as plans
from linkladder.engine.command_lines import planned
from linkladder.engine.live import CardSeconds, LiveSeconds
from linkladder.engine.ports import ports, ports_for
from linkladder.engine.route import Route, Side, ends_of, routes
from linkladder.events import IntervalSeen
from linkladder.model import (
    Command,
    Direction,
    End,
    EndRecord,
    Experiment,
    Fault,
    Flow,
    HostSample,
    Interval,
    Leg,
    NicCounters,
    Outcome,
    PathMtu,
    Protocol,
    Role,
    Rtt,
    RungName,
    Setting,
    SettingKind,
    Transactions,
    TrialResult,
    sums,
)
from linkladder.model import Path as RungPath
from linkladder.model.several_legs import counted_together, share
from linkladder.peer import EndPoint
from linkladder.tools import ToolVersions
from linkladder.wire import PORTS

F, R = Direction.FORWARD, Direction.REVERSE
TCP = Experiment("tcp", warmup=1, duration=4)


def outcome(per_second: list[int], warmup: int = 1, way: Direction = F) -> Outcome:
    """A leg that moved so many bytes in each of its own seconds."""
    seconds = tuple(Interval(float(n), n + 1.0, b, way, n >= warmup) for n, b in enumerate(per_second))
    counted = [i for i in seconds if i.counted]
    bps = sum(i.bytes for i in counted) * 8 / len(counted)
    flow = Flow("1", way, "", 0, "", 0, sum(i.bytes for i in counted), bps, sum(per_second), 5.0, intervals=seconds)
    return Outcome(True, goodput_bps=bps, by_direction={way.value: bps}, flows=(flow,), intervals=seconds)


def trial(*legs: Leg) -> TrialResult:
    return TrialResult("t", 0, legs, (EndRecord("near"), EndRecord("far")))


def test_a_trial_of_two_legs_is_their_sum() -> None:
    both = trial(Leg(outcome([10, 20, 20, 20, 20])), Leg(outcome([5, 10, 10, 10, 10]), path=1))
    assert both.ok and both.by_direction == {"forward": 240.0} and both.goodput_bps == 240
    assert [(i.start, i.bytes, i.counted) for i in both.intervals] == [
        (0, 15, False), (1, 30, True), (2, 30, True), (3, 30, True), (4, 30, True),
    ]  # fmt: skip
    there_and_back = trial(Leg(outcome([1, 2])), Leg(outcome([3, 4], way=R), path=1))
    assert there_and_back.by_direction == {"forward": 16.0, "reverse": 32.0}
    assert [(i.direction, i.start) for i in there_and_back.intervals] == [(F, 0), (F, 1), (R, 0), (R, 1)]


def test_a_trial_stands_or_falls_with_every_leg_and_the_broken_measurement_speaks() -> None:
    good = Leg(outcome([1, 1, 1]))
    dead = Leg(Outcome(False, Fault.PATH, "it stalled"), path=1)
    broken = Leg(Outcome(False, Fault.TOOL, "refused"), path=2)
    assert (trial(good, dead).ok, trial(good, dead).fault, trial(good, dead).reason) == (False, "path", "it stalled")
    assert (trial(good, dead, broken).fault, trial(good, dead, broken).reason) == ("tool", "refused")
    assert trial().ok is False
    ping = Leg(Outcome(False, Fault.TOOL, "no ping was answered"), Role.PING)
    assert trial(good, ping).ok and trial(good, ping).fault is None


def test_of_round_trips_and_path_mtus_the_worst_path_speaks() -> None:
    quick, slow, dead = Rtt(5, 5, p50_ms=0.2), Rtt(5, 5, p50_ms=3.0), Rtt(5, 0)
    legs = [Leg(Outcome(True, rtt=one), path=n) for n, one in enumerate((quick, slow))]
    assert trial(*legs).rtt == slow and trial(*legs).rtt_under_load is None
    assert trial(*legs, Leg(Outcome(True, rtt=dead), path=2)).rtt == dead
    pings = [replace(leg, role=Role.PING) for leg in legs]
    assert trial(Leg(outcome([1, 1])), *pings).rtt_under_load == slow and trial(*pings).rtt is None
    small = trial(*(Leg(Outcome(True, path_mtu=PathMtu(mtu=mtu))) for mtu in (9000, 1500)))
    assert small.path_mtu == PathMtu(mtu=1500)


def test_transactions_and_losses_add_up() -> None:
    one = Transactions(100.0, 2, mean_us=10, p99_us=30, min_us=5, max_us=40, request=700, response=700)
    two = Transactions(300.0, 2, mean_us=20, p99_us=90, min_us=4, max_us=95, request=700, response=700)
    both = trial(Leg(Outcome(True, transactions=one, lost=1)), Leg(Outcome(True, transactions=two, lost=2)))
    seen = both.transactions
    assert seen and (seen.rate, seen.sessions, seen.mean_us, seen.p99_us, seen.min_us) == (400, 4, 17.5, 90, 4)
    assert both.lost == 3 and both.datagrams is None


def test_the_ends_of_a_direction() -> None:
    both = trials.trial("t", 0, nics={"near": NicCounters("a", tx_bytes=1), "far": NicCounters("b", rx_bytes=2)})
    assert (both.sender(F).name, both.receiver(F).name, both.sender(R).name) == ("near", "far", "far")
    cards = EndRecord("far", nics=(NicCounters("a", rx_drops=1, crc_errors=2), NicCounters("b", rx_drops=2)))
    assert (cards.carried.rx_drops, cards.carried.crc_errors, cards.carried.name) == (3, 2, "a, b")
    local = TrialResult("t", 0, (Leg(outcome([1, 1]), far=0),), (EndRecord("near"),))
    assert local.receiver(F) == EndRecord("far"), "of the machine that is both sides the near record speaks"


def test_commands_are_given_back_to_their_legs() -> None:
    def command(text: str) -> Command:
        return Command("near", "client", (text,))

    before = trial(
        Leg(Outcome(True), commands=(command("a"), command("b"))), Leg(Outcome(True), commands=(command("c"),))
    )
    again = before.with_commands(tuple(command(text.upper()) for text in "abc"))
    assert [[c.argv[0] for c in leg.commands] for leg in again.legs] == [["A", "B"], ["C"]]


def test_legs_that_began_together_are_counted_as_they_are() -> None:
    legs = [(10.0, outcome([1, 2, 2, 2, 2])), (10.05, outcome([1, 2, 2, 2, 2]))]
    assert counted_together(legs, TCP) == tuple(leg for _, leg in legs)


def test_legs_that_did_not_are_counted_over_the_seconds_that_they_share() -> None:
    """The second began 2 s late: the first's seconds 3 and 4 are the second's 1 and 2."""
    early, late = outcome([9, 50, 50, 10, 20]), outcome([9, 1, 2, 70, 70])
    first, second = counted_together([(10.0, early), (12.0, late)], TCP)
    assert [i.counted for i in first.intervals] == [False, False, False, True, True]
    assert [i.counted for i in second.intervals] == [False, True, True, False, False]
    assert (first.goodput_bps, second.goodput_bps) == (30 * 8 / 2, 3 * 8 / 2)
    assert (first.flows[0].bytes, first.flows[0].bps, first.flows[0].total_bytes) == (30, 120, 139)
    both = trial(Leg(first, began=0.0), Leg(second, path=1, began=2.0))
    counted = [i for i in both.intervals if i.counted]
    assert [(i.start, i.bytes) for i in counted] == [(3.0, 11), (4.0, 22)]
    assert both.goodput_bps == sum(i.bytes for i in counted) * 8 / len(counted)


def test_legs_that_share_no_second_are_no_measurement() -> None:
    for one in counted_together([(10.0, outcome([1] * 5)), (19.0, outcome([1] * 5))], TCP):
        assert (one.ok, one.fault, one.goodput_bps) == (False, Fault.TOOL, 0) and "in common" in one.reason


def test_shown_is_the_second_that_every_leg_has_told() -> None:
    live = LiveSeconds(2)
    assert live.add(0, Interval(0, 1, 5)) == [] and live.add(0, Interval(1, 2, 5)) == []
    (both,) = live.add(2, Interval(0.02, 1.02, 7))
    assert (both.interval.start, both.interval.bytes) == (0, 12)
    assert [(one.path, round(one.bps)) for one in both.paths] == [(0, 40), (2, 56)]
    assert live.add(0, Interval(2, 3, 5)) == [] and live.add(0, Interval(3, 4, 5)) == []
    (alone,) = live.add(0, Interval(4, 5, 5))
    assert (alone.interval.start, alone.interval.bytes) == (1, 5), "a leg that is silent for long"
    assert [one.path for one in alone.paths] == [0]
    assert LiveSeconds(1).add(0, Interval(0, 1, 5)) == [IntervalSeen(Interval(0, 1, 5))]


def of_card(t: float, received: int, name: str = "vmx1") -> HostSample:
    return HostSample(t, (), 0, (NicCounters("vmx0", rx_bytes=9), NicCounters(name, rx_bytes=received)))


def test_of_a_tool_that_tells_nothing_the_receiving_card_is_shown() -> None:
    path = RungPath("10.0.0.1", "10.0.0.2")
    near, far = (Side(n, cast(EndPoint, None), word, at, "") for n, (word, at) in enumerate(
        (("near", path.local), ("far", path.remote))))  # fmt: skip
    card = {"10.0.0.1": "vmx1", "10.0.0.2": "vmx1"}.__getitem__
    cards = CardSeconds(Experiment("x", warmup=2.5), [Route(path, near, far)])
    assert cards.take(1, of_card(0.1, 1_000), card) == [] == cards.take(1, of_card(1.1, 2_000), card), "it may yet tell"
    assert cards.take(0, of_card(2.0, 50), card) == [] == cards.take(0, of_card(3.0, 60), card), "this end sends"
    assert cards.take(1, of_card(2.1, 5_000), card) == [Interval(1.1, 2.1, 3_000, counted=False)]
    assert cards.take(1, of_card(3.1, 4_000), card) == [], "counters that were set back"
    assert cards.take(1, of_card(4.1, 4_500, "vmx2"), card) == [], "another card"
    both = CardSeconds(Experiment("x", direction=Direction.DUPLEX, warmup=1), [Route(path, near, far)])
    for end, way in ((0, Direction.REVERSE), (1, Direction.FORWARD)):
        both.take(end, of_card(2.0, 0), card)
        assert both.take(end, of_card(3.0, 7), card) == [Interval(2.0, 3.0, 7, way)]
    several = CardSeconds(Experiment("x"), [Route(path, near, far)] * 2)
    several.take(1, of_card(2.0, 0), card)
    assert several.take(1, of_card(3.0, 7), card) == [], "which path's, nobody could tell"


def test_a_paced_rate_is_that_of_all_paths() -> None:
    assert share(Experiment("u", protocol=Protocol.UDP, udp_rate_bps=9e8), 3).udp_rate_bps == 3e8
    assert share(TCP, 3) == TCP


def test_every_leg_has_its_own_ports_and_those_of_its_data_connections() -> None:
    rr = Experiment("rr", "netperf", Protocol.RR, sessions=3)
    assert ports_for(iter(PORTS), TCP, 1) == (5301,) and ports_for(iter(PORTS), TCP, 3) == (5301, 5302, 5303)
    assert ports_for(iter(PORTS), rr, 3) == (5301, 5305, 5309)
    for _ in range(200):
        used = [{port, *tools.named(rr.tool).data_ports(rr, port)} for port in ports_for(ports(), rr, 4)]
        assert len(set().union(*used)) == 4 * 4
    full = replace(rr, sessions=32)  # 33 ports each: three legs take all but one
    for _ in range(20):
        used = [{port, *tools.named(full.tool).data_ports(full, port)} for port in ports_for(ports(), full, 3)]
        assert len(set().union(*used)) == sum(map(len, used)) == 99


def test_every_end_is_one_however_many_paths_lead_to_it() -> None:
    class Point:
        def __init__(self, name: str) -> None:
            self.name = name

    near, beta, gamma = (Point(name) for name in ("alpha", "beta", "gamma"))
    paths = [RungPath(f"10.0.{n}.1", f"10.0.{n}.2") for n in range(3)]
    two: Any = routes([(paths[0], near, beta), (paths[1], near, beta)], near)
    assert [(side.end, side.name) for side in ends_of(two).values()] == [(0, "near"), (1, "far")]
    three: Any = routes([(paths[0], near, beta), (paths[1], near, gamma), (paths[2], near, beta)], near)
    assert [(side.end, side.name) for side in ends_of(three).values()] == [(0, "near"), (1, "beta"), (2, "gamma")]
    assert [route.far.end for route in three] == [1, 2, 1]
    local: Any = routes([(paths[0], near, near)], near)
    assert local[0].local and len(ends_of(local)) == 1


TWO = """name = "two"
[[path.dc-link]]
local = "10.0.0.1"
remote = "10.0.0.2"
[[path.dc-link]]
local = "10.1.0.1"
remote = "10.1.0.2"
peer = "gamma"
[[experiment]]
rungs = "dc-link"
"""


def test_a_plan_names_several_paths_of_a_rung(tmp_path: Path) -> None:
    plan = plans.read_plan(TWO)
    paths = (RungPath("10.0.0.1", "10.0.0.2"), RungPath("10.1.0.1", "10.1.0.2", "gamma"))
    (rung,) = plan.rungs
    assert rung.paths == paths and rung.path == paths[0] and rung.peers == ("gamma",)
    link = plans.Link(paths={RungName.DC_LINK: paths})
    plans.save_link(tmp_path, link)
    assert plans.load_link(tmp_path) == link
    bare = plans.read_plan(TWO[: TWO.index("[[path")] + TWO[TWO.index("[[exp") :])
    assert plans.with_link(bare, link).rungs[0].paths == paths
    assert plans.with_link(plan, plans.Link(), "beta").rungs[0].peers == ("beta",)
    both = dict.fromkeys(End, ToolVersions({"iperf": "2.1.8", "ping": "present"}))
    lines = planned(rung.experiments[0], rung.paths, [both, both], [5301, 5302])
    assert [line.split()[0] for line in lines] == ["far:", "near:"] * 2 and "10.1.0.2" in lines[3]


def test_a_trial_that_failed_on_some_of_its_paths_says_on_how_many() -> None:
    lost = Outcome(False, Fault.PEER, "the channel to delta closed")
    good, bad = Leg(outcome([1, 1, 1])), Leg(lost, path=1)
    line = phrases.outcome(TCP, trial(good, bad, replace(bad, path=2)))
    assert line == "failed on 2 of 3 paths (peer): the channel to delta closed"
    assert phrases.outcome(TCP, trial(bad)) == "failed (peer): the channel to delta closed"


def test_each_command_of_several_pairs_names_the_end_that_runs_it() -> None:
    pairs = (RungPath("127.0.0.1", "10.0.0.2", "beta"), RungPath("10.0.0.2", "10.0.0.3", "gamma", "", "x0", "beta"))
    (rung,) = plans.read_plan(TWO).rungs
    exp = replace(rung.experiments[0], settings=(Setting(SettingKind.TSO, "off"),))
    both = dict.fromkeys(End, ToolVersions({"iperf": "2.1.8", "ping": "present"}))
    lines = planned(exp, pairs, [both, both], [5301, 5302])
    commands = [line for line in lines if "iperf" in line]
    assert [line.split()[0] for line in commands] == ["beta:", "near:", "gamma:", "beta:"]
    changes = [line for line in lines if ": set " in line]
    assert sorted(line.split()[0] for line in changes) == ["beta:", "gamma:", "near:"], (
        "an adapter of two paths is set once"
    )
    assert all("what it was" in line for line in changes if not line.startswith("near:")), "only they know"
    (alone,) = {line.split()[0] for line in planned(exp, pairs[1:], [both], [5301]) if "iperf -s" in line}
    assert alone == "gamma:", "near is who coordinates"


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (('remote = "10.1.0.2"', 'remote = "there"'), 7, "path.dc-link.remote: expected an IP address"),
        (('peer = "gamma"', 'pear = "gamma"'), 8, "path.dc-link.pear: unknown key"),
        (("[[path.dc-link]]\nlocal", "[path.dc-link]\nlocal"), 0, "not TOML"),
    ],
)
def test_what_is_wrong_with_one_of_them_is_named_with_its_line(change: tuple[str, str], line: int, words: str) -> None:
    with pytest.raises(plans.PlanError, match=words) as wrong:
        plans.read_plan(TWO.replace(*change, 1))
    assert wrong.value.line == line or not line


def test_last_parts_of_a_second_that_are_unlike_long_make_no_peak() -> None:
    """Two loads of 100 Mb/s, of which one ended 0.12 s into its last second and the other 0.6 s."""
    parts = [Interval(9.0, 9.0 + span, int(100e6 / 8 * span), Direction.FORWARD, True) for span in (0.12, 0.6)]
    one = sums.of_second(parts)
    assert one.bytes * 8 / (one.end - one.start) == pytest.approx(200e6, rel=1e-4)
    whole = [replace(part, end=10.0) for part in parts]
    assert sums.of_second(whole).end == 10.0
    assert sums.of_second([replace(part, bytes=0) for part in parts]).end == parts[0].end
