"""iperf3's trials: captured of three versions, as one text and as a stream of events; made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from iperf3_cases import (
    ASKED,
    BOTH,
    EACH,
    GOOD,
    HAVE,
    TCP,
    UDP,
    VERSIONS,
    D,
    R,
    read,
    summed,
    trial,
    verdict,
)
from linkladder import tools
from linkladder.model import Direction, End, Experiment, Fault, Outcome, Protocol, SocketBuffers
from linkladder.tools import Demands, ToolVersions, Unavailable


@EACH
@pytest.mark.parametrize("name", GOOD)
def test_what_arrived_in_the_counted_second(version: str, name: str) -> None:
    exp, outcome = ASKED[name], trial(version, name)
    assert outcome.ok, outcome.reason
    ways = ["forward", "reverse"] if exp.direction is D else [exp.direction.value]
    assert sorted(outcome.by_direction) == ways
    assert len(outcome.flows) == exp.streams * len(ways)
    for way in ways:
        receiver = "server.txt" if way == "forward" else "client.txt"
        assert sorted(f.bytes for f in outcome.flows if f.direction == way) == summed(version, name, receiver, False)
    assert outcome.warnings == ()


@EACH
def test_a_window_is_read_back_at_both_ends(version: str) -> None:
    assert trial(version, "window").window_read_back == SocketBuffers(600000, 600000)
    big = trial(version, "windowbig")
    assert (big.ok, big.fault) == (False, Fault.TOOL)
    assert "socket buffer was not granted" in big.reason
    asked_more = verdict(
        replace(TCP, window=400000), read(version, "window", "server.txt"), read(version, "window", "client.txt")
    )
    assert asked_more.fault == Fault.TOOL and "400000 bytes were asked, 300000 granted" in asked_more.reason


@EACH
def test_datagrams_lost_and_offered(version: str) -> None:
    outcome = trial(version, "udp-p2")
    assert outcome.lost == 0 and outcome.datagrams == pytest.approx(2 * 20e6 / 8 / 1400, rel=0.02)
    assert outcome.offered_bps == pytest.approx(40e6, rel=0.02)
    assert outcome.goodput_bps == pytest.approx(40e6, rel=0.02)


@EACH
def test_the_senders_retransmits_and_round_trip_go_with_the_receivers_seconds(version: str) -> None:
    for name in ("tcp-p2", "reverse-p2"):
        counted = [i for i in trial(version, name).intervals if i.counted]
        assert all(i.rtt_ms and i.cwnd and i.retransmits is not None for i in counted), name


@EACH
def test_ports_of_the_clients_choice(version: str) -> None:
    outcome = trial(version, "cport")
    assert [f.local_port for f in outcome.flows] == [40001, 40002, 40003]
    exp = replace(ASKED["cport"], client_port=50001)
    other = verdict(exp, read(version, "cport", "server.txt"), read(version, "cport", "client.txt"))
    assert other.fault == Fault.TOOL and "not those from 50001" in other.reason


@BOTH
@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("badbind", Fault.TOOL, "binding failed"),
        ("badbindserver", Fault.TOOL, "binding failed"),
        ("badopt", Fault.TOOL, "an option is unknown"),
        ("synlost", Fault.PATH, "did not answer in time"),
        ("serverkilled", Fault.TOOL, "control socket has closed unexpectedly"),
        ("clientkilled", Fault.TOOL, "closed the connection"),
        ("clientterm", Fault.TOOL, "the client has terminated"),
        ("linkdown", Fault.PATH, "the transfer stalled: no byte after 2 s of 3 s"),
        ("linkdown-reverse", Fault.PATH, "the transfer stalled: no byte after 2 s of 3 s"),
    ],
)
def test_caused_failures(version: str, name: str, fault: Fault, words: str) -> None:
    outcome = trial(version, name, watchdog=name.startswith("linkdown"))
    assert (outcome.ok, outcome.fault) == (False, fault), outcome.reason
    assert words in outcome.reason


@BOTH
def test_datagrams_that_stop_are_the_paths_fault(version: str) -> None:
    outcome = trial(version, "udpdown", watchdog=version == "3.21")  # 3.12 gave up by itself
    assert outcome.fault == Fault.PATH, outcome.reason


@BOTH
def test_a_path_that_comes_back_is_measured_with_its_gap(version: str) -> None:
    outcome = trial(version, "flap")
    assert outcome.ok, outcome.reason
    counted = [i.bytes for i in outcome.intervals if i.counted]
    assert min(counted) < 0.7 * max(counted)


def test_commands_of_both_forms() -> None:
    exp = replace(UDP, direction=R, client_port=40000, dscp=46, warmup=3, duration=10)
    where = tools.layout(exp, HAVE, HAVE)
    old = ToolVersions({"iperf3": "3.12"})
    assert " ".join(tools.server_argv(exp, old, "10.0.0.2", 5301)) == "iperf3 -s -4 -B 10.0.0.2 -p 5301 -i 1 -J"
    argv = " ".join(tools.client_argv(exp, HAVE, where, "fd00::1", "fd00::2", 5301))
    assert argv == (
        "iperf3 -c fd00::2 -6 -B fd00::1 -p 5301 -i 1 --json-stream -t 13 -P 2"
        " -u -l 1400 -b 20000000 -S 184 --cport 40000 -R"
    )
    assert (where.server, where.client, where.reverse_flag) == (End.FAR, End.NEAR, True)
    duplex = replace(TCP, direction=D, window=300000)
    argv = " ".join(tools.client_argv(duplex, old, tools.layout(duplex, old, old), "10.0.0.1", "10.0.0.2", 5301))
    assert argv.endswith("-J -t 2 -P 1 -w 300000 --bidir")


@pytest.mark.parametrize(
    ("exp", "near", "words"),
    [
        (TCP, {}, "not installed at the near end"),
        (TCP, {"iperf3": "3.9"}, "too old"),
        (replace(TCP, protocol=Protocol.RR), {"iperf3": "3.12"}, "tcp and udp"),
        (replace(UDP, udp_rate_bps=None), {"iperf3": "3.12"}, "needs a rate"),
    ],
)
def test_what_cannot_be_done_says_why(exp: Experiment, near: dict[str, str], words: str) -> None:
    with pytest.raises(Unavailable, match=words):
        tools.layout(exp, ToolVersions(near), HAVE)


def test_versions() -> None:
    tool = tools.named("iperf3")
    assert tool.version("iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.1") == "3.12"
    assert tool.version("iperf 3.17.1 (cJSON 1.7.15)\n") == "3.17.1"
    assert tool.version("iperf 3.21+ (cJSON 1.7.15)\n") == "3.21"
    assert tool.version("iperf version 2.1.8 (12 August 2022) pthreads\n") == ""


# --- what is told otherwise than it was asked


def edited(change: Callable[[dict[str, Any]], None], kind: str, end: str = "server", name: str = "tcp-p2") -> Outcome:
    """The verdict on 3.21's events of one kind changed at one end."""
    texts = {e: read("3.21", name, f"{e}.txt") for e in ("server", "client")}
    lines = []
    for line in texts[end].splitlines():
        event = json.loads(line)
        if event["event"] == kind and event["data"]:
            change(event["data"])
        lines.append(json.dumps(event))
    texts[end] = "\n".join(lines)
    return verdict(ASKED[name], texts["server"], texts["client"], exit_codes=(0,))


def test_figures_that_contradict_each_other_are_no_result() -> None:
    def more(data: dict[str, Any]) -> None:
        data["streams"][0]["bytes"] *= 2

    outcome = edited(more, "interval")
    assert outcome.fault == Fault.TOOL and "figures contradict" in outcome.reason

    def both(data: dict[str, Any]) -> None:
        data["streams"][0]["bytes"] *= 2
        data["streams"][0]["bits_per_second"] *= 2

    outcome = edited(both, "interval")
    assert outcome.fault == Fault.TOOL and "its own total" in outcome.reason

    def percent(data: dict[str, Any]) -> None:
        for stream in data["streams"]:
            stream["udp"]["lost_percent"] = 7.5

    outcome = edited(percent, "end", name="udp-p2")
    assert outcome.fault == Fault.TOOL and "percentage" in outcome.reason


def closed_late(late: float, asked: Experiment, **known: Any) -> Outcome:
    """The verdict on a trial whose last second the server closed so much too late."""

    def later(data: dict[str, Any], least: float) -> None:
        streams = data["streams"]
        for told in (one for stream in streams for one in (stream, *stream.values()) if isinstance(one, dict)):
            for key in ("start", "end"):
                if told.get(key, 0) > least:
                    told[key] += late
            span = told.get("end", 0) - told.get("start", 0)
            if span > 0:
                told["bits_per_second"] = told["bytes"] * 8 / span

    server, client = (read("3.21", "tcp-p2", f"{end}.txt") for end in ("server", "client"))
    lines = []
    for line in server.splitlines():
        event = json.loads(line)
        if event["event"] in ("interval", "end") and event["data"]:
            later(event["data"], 1.9)
        lines.append(json.dumps(event))
    return verdict(asked, "\n".join(lines), client, exit_codes=(0,), **known)


@pytest.mark.parametrize("late", [0.0, 0.2, 0.4, 0.9])
def test_a_last_second_that_was_closed_too_late_is_left_out_and_said(late: float) -> None:
    """Seen on busy machines: its end came 0.4 s after the planned one, and nobody knows when its bytes stopped."""
    outcome = closed_late(late, replace(ASKED["tcp-p2"], warmup=0, duration=2))
    assert outcome.ok, outcome.reason
    counted = [i for i in outcome.intervals if i.counted]
    if late <= 0.25:
        assert len(counted) == 2 and outcome.warnings == ()
    else:
        assert len(counted) == 1 and outcome.goodput_bps == pytest.approx(320.7e6, rel=0.001)
        assert f"closed the last second {late:.1f} s late: it is left out" in outcome.warnings[0]


def test_a_trial_whose_only_second_was_closed_too_late_says_so() -> None:
    """Seen where emulated machines stood still for a second and a half: both ends' lines went far past the end."""
    outcome = closed_late(0.5, ASKED["tcp-p2"])
    assert outcome.fault == Fault.TOOL
    assert outcome.reason.endswith("warm-up: the only line there was closed 0.5 s late (near to far)")
    known = {"still": ((0.9, 1.4), (1.0, 3.3)), "still_at": ("near", "far")}
    named = closed_late(0.5, ASKED["tcp-p2"], **known)
    assert named.reason.endswith("closed 0.5 s late, as far stood still itself for 2.3 s meanwhile (near to far)")


@pytest.mark.parametrize(("apart", "ok"), [(0.031, True), (0.12, False)])
def test_a_moment_in_which_nothing_moved_has_no_line(apart: float, ok: bool) -> None:
    """Seen where a machine stood still: after a second of 2.18 s the next one had 0.03 s and no bytes."""

    def later(data: dict[str, Any]) -> None:
        if round(data["sum"]["start"]) == 1:
            for told in (data["sum"], *data["streams"]):
                told["start"] += apart
                told["bits_per_second"] = told["bytes"] * 8 / (told["end"] - told["start"])

    outcome = edited(later, "interval")
    assert outcome.ok is ok and (ok or "lines are missing" in outcome.reason), outcome.reason


@pytest.mark.parametrize(("late", "ok"), [(0.015, True), (0.03, False), (-0.015, False)])
def test_datagrams_that_came_as_the_last_second_was_closed_are_in_the_total_alone(late: float, ok: bool) -> None:
    """Seen on a busy machine: 6742 in the seconds, 6801 in all."""

    def total(data: dict[str, Any]) -> None:
        for stream in data["streams"]:
            told = stream["udp"]
            told["packets"] = round(told["packets"] * (1 + late))
            told["lost_percent"] = 100 * told["lost_packets"] / told["packets"]

    outcome = edited(total, "end", name="udp-p2")
    assert outcome.ok is ok and (ok or "its own total is" in outcome.reason)


def test_an_end_that_has_not_learnt_what_was_sent_states_no_share() -> None:
    """Seen on a busy machine: 345 lost of 6802 and 0 %. What counts is the loss of the counted seconds."""

    def total(data: dict[str, Any]) -> None:
        for stream in data["streams"]:
            stream["udp"] |= {"lost_packets": 30, "lost_percent": 0}

    outcome = edited(total, "end", name="udp-p2")
    assert outcome.ok, outcome.reason
    assert outcome.lost == 0


@pytest.mark.parametrize(
    ("key", "value"), [("protocol", "UDP"), ("num_streams", 4), ("omit", 3), ("reverse", 1), ("tos", 184)]
)
def test_another_test_than_the_one_asked_is_no_result(key: str, value: Any) -> None:
    def change(data: dict[str, Any]) -> None:
        data["test_start"][key] = value

    outcome = edited(change, "start", "client")
    assert outcome.fault == Fault.TOOL and f"{key} is {value}" in outcome.reason


def test_a_wrong_address_a_missing_flow_and_a_second_test_are_no_result() -> None:
    def address(data: dict[str, Any]) -> None:
        for one in data["connected"]:
            one["local_host"] = "10.91.0.9"

    outcome = edited(address, "start", "client")
    assert outcome.fault == Fault.TOOL and "10.91.0.9" in outcome.reason

    def flow(data: dict[str, Any]) -> None:
        del data["connected"][1]

    assert edited(flow, "start").fault == Fault.TOOL
    server, client = (read("3.21", "tcp-p2", f"{end}.txt") for end in ("server", "client"))
    twice = verdict(ASKED["tcp-p2"], server + read("3.21", "window", "server.txt"), client, exit_codes=(0,))
    assert twice.fault == Fault.TOOL, "another test ran into this one"


def test_a_run_that_is_too_short_is_no_result() -> None:
    server, client = (read("3.21", "tcp-p2", f"{end}.txt") for end in ("server", "client"))
    outcome = verdict(replace(ASKED["tcp-p2"], duration=9), server, client, exit_codes=(0,))
    assert outcome.fault == Fault.TOOL and "of the 10 s asked" in outcome.reason


def test_a_server_that_ended_by_itself_and_a_watchdog_are_no_result() -> None:
    assert "ended by itself" in trial("3.21", "tcp-p2", server_exit=1).reason
    assert "had to be ended" in trial("3.21", "tcp-p2", watchdog=True).reason


# --- saved output, live lines


@EACH
def test_saved_output_of_either_end(version: str) -> None:
    for end in ("server", "client"):
        outcome = tools.parse_saved("iperf3", read(version, "tcp-p2", f"{end}.txt"), Demands(flows=2, seconds=2))
        assert outcome.ok, outcome.reason
        assert 300e6 < outcome.goodput_bps < 420e6
    both = [tools.parse_saved("iperf3", read(version, "tcp-p2", f"{end}.txt")) for end in ("client", "server")]
    assert both[0].goodput_bps == both[1].goodput_bps, "its receiver told the client what arrived"
    assert not both[0].warnings
    sender = tools.parse_saved("iperf3", read(version, "reverse-p2", "server.txt"))
    assert any("sender's figures" in w for w in sender.warnings)
    asked = Demands(flows=1, seconds=2, local="10.91.0.2", window=300000)
    assert tools.parse_saved("iperf3", read(version, "window", "server.txt"), asked).ok
    assert not tools.parse_saved("iperf3", read(version, "window", "server.txt"), Demands(window=100000)).ok
    assert not tools.parse_saved("iperf3", read(version, "tcp-p2", "server.txt"), Demands(flows=3)).ok


def test_two_runs_in_one_file_are_no_result() -> None:
    for version in VERSIONS:
        text = read(version, "tcp-p2", "server.txt") + read(version, "window", "server.txt")
        outcome = tools.parse_saved("iperf3", text)
        assert not outcome.ok and "2 runs" in outcome.reason


@pytest.mark.parametrize("version", ["3.17.1", "3.21"])
def test_seconds_come_while_it_runs_once_for_each_direction(version: str) -> None:
    exp = ASKED["bidir-p2"]
    where = tools.layout(exp, HAVE, HAVE)
    for end, name in ((End.NEAR, "client"), (End.FAR, "server")):
        live = tools.live_parser(exp, where, end)
        shown = [i for line in read(version, "bidir-p2", f"{name}.txt").splitlines() for i in live.feed(line)]
        assert live.complete
        assert {i.direction for i in shown} == {R if end is End.NEAR else Direction.FORWARD}
        assert [round(i.start) for i in shown[:2]] == [0, 1]
        assert [i.counted for i in shown[:2]] == [False, True]
        assert shown[1].bytes == sum(summed(version, "bidir-p2", f"{name}.txt", False))


def test_one_text_at_the_end_tells_when_it_is_whole() -> None:
    live = tools.live_parser(TCP, tools.layout(TCP, HAVE, HAVE), End.FAR)
    lines = read("3.12", "tcp-p2", "server.txt").splitlines()
    whole = lines.index("}")
    assert [i for line in lines[:whole] for i in live.feed(line)] == [] and not live.complete
    live.feed(lines[whole])
    assert live.complete
