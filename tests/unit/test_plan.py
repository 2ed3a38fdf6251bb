from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import host, tools
from linkladder import plan as plans
from linkladder.engine.command_lines import planned
from linkladder.engine.paths import PathUnknown, resolve
from linkladder.model import Contract, Direction, End, Layer, Protocol, RungName
from linkladder.model import Path as RungPath
from linkladder.tools import ToolVersions
from linkladder.wire import HelloReply

MINIMAL = 'name = "p"\n[[experiment]]\nstreams = 2\n'


@pytest.mark.parametrize("name", plans.BUILTIN)
def test_every_plan_that_is_brought_along_is_right(name: str) -> None:
    plan = plans.builtin(name, cores=8)
    assert plan.rungs
    ids = [(r.name, e.id) for r in plan.rungs for e in r.experiments]
    assert len(ids) == len(set(ids))


def test_quick_takes_under_three_minutes_and_every_rung() -> None:
    plan = plans.builtin("quick", cores=8)
    assert [r.name for r in plan.rungs] == list(RungName)
    assert plans.seconds(plan) < 180
    dc = plan.rungs[-1]
    ways = {e.direction for e in dc.experiments if e.protocol == Protocol.TCP}
    assert ways == {Direction.FORWARD, Direction.REVERSE}
    assert all(e.streams == 4 for e in dc.experiments if e.protocol == Protocol.TCP)


def test_circuit_takes_twelve_minutes_where_the_link_is_clear_and_twice_that_at_most() -> None:
    plan = plans.builtin("circuit", cores=8)
    assert plans.seconds(plan) <= 12 * 60
    assert plans.longest(plan) <= 24 * 60
    dc = next(r for r in plan.rungs if r.name == RungName.DC_LINK)
    tcp = [e for e in dc.experiments if e.protocol == Protocol.TCP]
    assert {(e.direction, e.repeats, e.at_most, e.duration) for e in tcp} == {
        (d, 2, 8, 20.0) for d in ("forward", "reverse", "duplex")
    }
    udp = [e for e in dc.experiments if e.protocol == Protocol.UDP]
    assert len(udp) == 8


def test_both_ways_at_once_have_sixteen_streams_at_least() -> None:
    """One or two, whose acknowledgements wait behind the other way's data, leave a good link empty now and then."""
    for cores, one_way, both in ((1, 1, 16), (8, 4, 16), (64, 32, 32)):
        dc = next(r for r in plans.builtin("circuit", cores=cores).rungs if r.name == RungName.DC_LINK)
        tcp = {e.direction: e.streams for e in dc.experiments if e.protocol == Protocol.TCP}
        assert tcp == {Direction.FORWARD: one_way, Direction.REVERSE: one_way, Direction.DUPLEX: both}


def test_ladder_is_the_whole_matrix() -> None:
    plan = plans.builtin("ladder", cores=8)
    dc = next(r for r in plan.rungs if r.name == RungName.DC_LINK)
    cells = {(e.streams, e.window, e.direction) for e in dc.experiments if e.protocol == Protocol.TCP}
    assert cells == {
        (s, w, d)
        for s in (1, 2, 4, 8)
        for w in (None, 800_000, 8 << 20)
        for d in (Direction.FORWARD, Direction.REVERSE)
    }
    assert plans.longest(plan) <= 3600 < plans.seconds(plans.builtin("ladder-long", cores=8))


def test_udp_percent_is_of_what_the_contract_can_carry() -> None:
    text = 'name = "u"\n[[experiment]]\nprotocol = "udp"\nudp_percent = 50\nrungs = "dc-link"\n'
    contract = Contract(port_bps=10e9, rate_bps=1e9, layer=Layer.L2, mtu=1500)
    exp = plans.read_plan(text, contract=contract).rungs[0].experiments[0]
    assert exp.udp_rate_bps == pytest.approx(0.5 * 1e9 * 1472 / 1514, rel=0.01)


@pytest.mark.parametrize(
    ("more", "contract", "size", "share"),
    [
        ("", Contract(rate_bps=1e9, layer=Layer.L2, mtu=1500), None, 1470 / 1512),
        ("", Contract(rate_bps=1e9, layer=Layer.L2, mtu=9000), None, 1470 / 1512),
        ("", Contract(rate_bps=1e9, layer=Layer.L2, mtu=1400), 1372, 1372 / 1414),
        ("", Contract(rate_bps=1e9, layer=Layer.L2, mtu=1400, ip_version=6), 1352, 1352 / 1414),
        ("write_size = 200\n", Contract(rate_bps=1e9, layer=Layer.L2), 200, 200 / 242),
    ],
)
def test_datagrams_fit_the_mtu_and_their_rate_what_is_sold(
    more: str, contract: Contract, size: int | None, share: float
) -> None:
    text = 'name = "u"\n[[experiment]]\nprotocol = "udp"\nudp_percent = 100\nrungs = "dc-link"\n'
    exp = plans.read_plan(text + more, contract=contract).rungs[0].experiments[0]
    assert exp.write_size == size
    assert exp.udp_rate_bps == pytest.approx(1e9 * share)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('name = "p"\n[[experiment]]\nstreamz = 2\n', 3, "streamz: unknown key"),
        ('name = "p"\n[[experiment]]\nstreams = 0\n', 3, "whole number from 1 to 128"),
        ('name = "p"\n[[experiment]]\nstreams = 1\n[[experiment]]\nwindow = "8Q"\n', 5, "expected a size"),
        ('name = "p"\n[contract]\nport = "1G"\nrate = "2G"\n[[experiment]]\n', 4, "at most the port's rate"),
        ('name = "p"\n[contract]\nlayer = "L7"\n[[experiment]]\n', 3, "one of L1, L2, L3"),
        ('name = "p"\n[path.moon]\n[[experiment]]\n', 2, "path.moon: unknown key"),
        ('name = "p"\n[paths.dc-link]\n[[experiment]]\n', 2, "paths: unknown key"),
        ('name = "p"\n[[experiment]]\nsessions = 4\n', 3, "sessions: has no meaning for iperf tcp"),
        ('name = "p"\n[[experiment]]\ntool = "ping"\nwindow = "8M"\n', 4, "window: has no meaning for ping echo"),
        ('name = "p"\n[path.dc-link]\nremote = "-h"\n[[experiment]]\n', 3, "an IP address"),
        (
            'name = "p"\n[path.dc-link]\nlocal = "fd00::1"\nremote = "10.0.0.2"\n[[experiment]]\n',
            4,
            "IP version of fd00::1",
        ),
        (
            'name = "p"\n[path.dc-link]\nlocal = "10.0.0.2"\nremote = "10.0.0.2"\n[[experiment]]\n',
            4,
            "another address than the local one",
        ),
        ('name = "p"\n[[experiment]]\nprotocol = "udp"\n', 2, "udp_rate or udp_percent"),
        ('name = "p"\n[[experiment]]\ntool = "ping"\nprotocol = "tcp"\n', 4, "echo, df"),
        ('name = "p"\n[[experiment]]\nduration = inf\n', 3, "a number from 1"),
        ('name = "../x"\n[[experiment]]\n', 1, "letters, digits"),
        ('name = "p"\n', 0, "at least one"),
        ('name = "p\n', 1, "not TOML"),
    ],
)
def test_errors_name_line_key_and_what_was_expected(text: str, line: int, words: str) -> None:
    with pytest.raises(plans.PlanError) as error:
        plans.read_plan(text, "my.toml")
    assert words in str(error.value)
    assert str(error.value).startswith("my.toml")
    if line:
        assert error.value.line == line


def test_what_was_found_is_told_once() -> None:
    for text, got in (("streams = 0", "128, got 0"), ('udp_rate = "fast"', "950M, got 'fast'")):
        with pytest.raises(plans.PlanError) as error:
            plans.read_plan(f'name = "p"\n[[experiment]]\n{text}\n')
        assert str(error.value).count("got") == 1 and got in str(error.value)


def test_every_command_of_a_plan_is_shown_before_it_runs() -> None:
    text = 'name = "p"\n[[experiment]]\nrungs = "dc-link"\nwindow = ["default", "800k"]\nping_under_load = true\n'
    plan = plans.read_plan(text + 'direction = ["reverse", "duplex"]\n')
    path = RungPath(local="10.0.0.1", remote="10.0.1.1")
    both = dict.fromkeys(End, ToolVersions({"iperf": "2.1.8", "ping": "present"}))
    shown = {e.id: planned(e, [path], [both], [5301]) for e in plan.rungs[0].experiments}
    server, client, *pings = shown["tcp-1s-default-reverse"]
    assert (server.split()[:2], client.split()[-1]) == (["far:", "iperf"], "-R")
    assert [(ping[:10], ping.split()[-1]) for ping in pings] == [("near: ping", "10.0.1.1"), ("far: ping ", "10.0.0.1")]
    server, client, *_ = shown["tcp-1s-800k-reverse"]  # the roles swap, as iperf's -w is local
    assert server.startswith("near: iperf -s") and client.startswith("far: iperf -c 10.0.0.1")
    (reason,) = shown["tcp-1s-800k-duplex"]
    assert reason.startswith("not available: iperf sets a socket buffer only")


def test_the_path_is_probed_before_it_is_loaded() -> None:
    text = """name = "x"
[[experiment]]
rungs = ["dc-link"]
[[experiment]]
rungs = ["dc-link"]
tool = "ping"
protocol = "echo"
[[experiment]]
rungs = ["dc-link"]
tool = "ping"
protocol = "df"
direction = "both"
"""
    order = [e.protocol for e, _ in plans.order(plans.read_plan(text).rungs[0])]
    assert order == ["df", "df", "echo", "tcp"]


DAY = 86_400


@pytest.mark.parametrize("tool", ["iperf", "iperf3", "netperf"])
def test_a_trial_that_would_print_more_than_is_kept_becomes_several(tool: str) -> None:
    asked = f'name = "p"\n[[experiment]]\ntool = "{tool}"\nrungs = "dc-link"\nstreams = 16\nduration = {7 * DAY}\n'
    (one,) = plans.read_plan(asked).rungs[0].experiments
    assert one.duration * one.repeats == pytest.approx(7 * DAY)
    printed = tools.named(tool).printed(one) * tools.expected_seconds(one)
    assert one.repeats > 1 and printed <= tools.OUTPUT_LIMIT, "all of each is kept"
    (hour,) = plans.read_plan(asked.replace(str(7 * DAY), "3600").replace("16", "1")).rungs[0].experiments
    assert (hour.duration, hour.repeats) == (3600, 1)


def test_repeats_until_settled_are_divided_with_their_bound() -> None:
    asked = f'name = "p"\n[[experiment]]\nrungs = "dc-link"\nstreams = 8\nduration = {DAY}\nrepeats = 3\nat_most = 5\n'
    (one,) = plans.read_plan(asked).rungs[0].experiments
    parts = round(DAY / one.duration)
    assert parts > 1 and (one.repeats, one.at_most) == (3 * parts, 5 * parts)


def test_the_strongest_setting_may_be_any_tool_with_a_stream_for_each_core() -> None:
    asked = 'name = "p"\n[[experiment]]\nrungs = "dc-link"\nstreams = "auto"\nduration = 3600\n'
    (one,) = plans.read_plan(asked, cores=64).rungs[0].experiments
    strongest = replace(one, tool="iperf3", streams=64)
    assert one.duration * one.repeats == pytest.approx(3600)
    assert tools.named("iperf3").printed(strongest) * tools.expected_seconds(strongest) <= tools.OUTPUT_LIMIT


@pytest.mark.parametrize(
    "arms",
    [
        'settings = {kind = "tso", value = "off"}\nbaseline = true\n',
        'settings = [{kind = "lagg", value = "roundrobin"}, {kind = "member", value = 2, from = 5, until = 9}]\n',
    ],
    ids=["pair", "member"],
)
def test_what_has_pairs_or_a_moment_is_not_divided_but_refused_before_anything_runs(arms: str) -> None:
    asked = f'name = "p"\n[[experiment]]\nrungs = "dc-link"\nstreams = 8\nduration = {DAY}\n{arms}'
    with pytest.raises(plans.PlanError, match="more would be printed than is kept") as error:
        plans.read_plan(asked)
    assert error.value.line == 5


def test_repeats_are_interleaved() -> None:
    text = 'name = "p"\n[[experiment]]\nrungs = "dc-link"\nstreams = [1, 2]\nrepeats = 2\n'
    rung = plans.read_plan(text).rungs[0]
    assert [(e.streams, n) for e, n in plans.order(rung)] == [(1, 0), (2, 0), (1, 1), (2, 1)]


def test_the_link_description_survives_and_fills_in(tmp_path: Path) -> None:
    contract = Contract(port_bps=10e9, rate_bps=1e9, circuit='a "quoted" name', expected_rtt_ms=2.5)
    paths = {RungName.DC_LINK: (RungPath(local="10.0.0.1", remote="10.0.1.1", peer="beta", local_interface="vmx1"),)}
    plans.save_link(tmp_path, plans.Link(contract, paths, "circuit"))
    link = plans.load_link(tmp_path)
    assert link == plans.Link(contract, paths, "circuit")
    plan = plans.with_link(plans.read_plan(MINIMAL, contract=link.contract), link)
    assert plan.contract == contract
    assert plan.rungs[-1].paths == paths[RungName.DC_LINK]
    assert plan.rungs[0].paths == (RungPath(local="127.0.0.1", remote="127.0.0.1"),)


def test_a_plan_may_name_the_interface_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = MINIMAL + '[path.dc-link]\ninterface = "vmx1"\n'
    link = plans.Link(paths={RungName.DC_LINK: (RungPath(local="10.0.0.1", remote="10.0.1.1", peer="beta"),)})
    rung = plans.with_link(plans.read_plan(text), link).rungs[-1]
    assert rung.paths == (RungPath("10.0.0.1", "10.0.1.1", "beta", "vmx1"),), "the rest is the link description's"
    assert plans.read_plan(text.replace("vmx1", "br-lan")).rungs[-1].path.local_interface == "br-lan"
    owned = {"vmx1": ("fe80::1", "192.0.2.9", "10.9.9.9")}
    monkeypatch.setattr(host, "addresses_of", lambda name: owned.get(name, ()))
    monkeypatch.setattr(host, "same_subnet", lambda mine, theirs: mine == "10.9.9.9")
    near = far = HelloReply(1, "", "x", "", {}, (), None, 1)
    path = RungPath(remote="10.9.9.1", local_interface="vmx1")
    assert resolve(path, near, far).local == "10.9.9.9"
    with pytest.raises(PathUnknown, match="vmx7 has no IPv4 address here"):
        resolve(replace(path, local_interface="vmx7"), near, far)


@pytest.mark.parametrize("name", ["quick", "circuit", "ladder", "mesh", "cards", "soak"])
def test_a_plan_that_judges_the_link_sends_an_even_stream_both_ways(name: str) -> None:
    """Where TCP's queue makes it send again, only datagrams paced within the contract bound what the path loses."""
    contract = Contract(rate_bps=100e6)
    link = plans.builtin(name, cores=8, contract=contract).rungs[-1]
    assert link.name is RungName.DC_LINK
    within = [e for e in link.experiments if e.protocol is Protocol.UDP and (e.udp_rate_bps or 0) <= 50e6]
    assert {e.direction for e in within} == {Direction.FORWARD, Direction.REVERSE}
    for way in (Direction.FORWARD, Direction.REVERSE):
        sent = sum((e.udp_rate_bps or 0) * e.duration * e.repeats / 8 / 1470 for e in within if e.direction is way)
        assert sent > 2995, "so many without a loss show a tenth of a percent"
