"""What senders wrote and receivers had not read when their time was over."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Direction, Experiment, Protocol
from linkladder.tools import Expectation, ToolVersions

BOTH = ToolVersions({"iperf": "2.2.1", "iperf3": "3.21", "netperf": "2.7.0"})
READ, WRITTEN, CAME_IN = 665845760, 738197504, 733056257  # by the receiver, by the sender, by the receiver's card


def two_ends(folder: Path, name: str) -> tuple[tuple[str, str], tuple[tuple[str, str], ...]]:
    server, client = ((folder / f"{name}.{end}.txt").read_text() for end in ("server", "client"))
    return (server, ""), ((client, ""),)


def test_iperf3_s_sender_tells_what_its_receiver_left_unread(captures: Path) -> None:
    exp = Experiment(
        "x", "iperf3", Protocol.TCP, Direction.REVERSE, streams=4, duration=2, warmup=1, write_size=1 << 20
    )
    where = tools.layout(exp, BOTH, BOTH)
    server, clients = two_ends(captures / "freebsd-15.1", "iperf3-p4-reverse-unread")
    outcome = tools.finish(exp, where, server, clients, Expectation("10.77.0.1", "10.77.0.2", 5399))
    assert outcome.ok, outcome.reason
    assert sum(flow.total_bytes for flow in outcome.flows) == READ
    assert tools.written(exp, where, server, clients) == {Direction.REVERSE: WRITTEN}


@pytest.mark.parametrize(
    ("tool", "folder", "name", "direction"),
    [
        ("iperf3", "iperf3-3.21", "bidir-p2", Direction.DUPLEX),
        ("iperf3", "iperf3-3.21", "tcp-p2", Direction.FORWARD),
        ("iperf", "iperf-2.2.1-two-ends", "tcp-p2", Direction.FORWARD),
    ],
)
def test_each_way_s_sender_is_asked(captures: Path, tool: str, folder: str, name: str, direction: Direction) -> None:
    exp = Experiment("x", tool, Protocol.TCP, direction, streams=2, duration=3, warmup=1)
    where = tools.layout(exp, BOTH, BOTH)
    server, clients = two_ends(captures / folder, name)
    flows = tools.finish(exp, where, server, clients, Expectation("", "", 0)).flows
    wrote = tools.written(exp, where, server, clients)
    assert set(wrote) == {flow.direction for flow in flows} and len(wrote) == (
        2 if direction is Direction.DUPLEX else 1
    )
    for way, most in wrote.items():
        read = sum(flow.total_bytes for flow in flows if flow.direction is way)
        assert 0 < read <= most <= read * 1.2, "no more than buffers hold"


def test_nothing_is_said_where_the_sender_contradicts_itself(captures: Path) -> None:
    exp = Experiment("x", "iperf3", Protocol.TCP, Direction.REVERSE, streams=4, duration=2, warmup=1)
    where = tools.layout(exp, BOTH, BOTH)
    (server, _), clients = two_ends(captures / "freebsd-15.1", "iperf3-p4-reverse-unread")
    total = max((line for line in server.splitlines() if '"event":"end"' in line), key=len)
    forged = server.replace(total, total.replace('"bytes":214958080', '"bytes":914958080'))
    assert forged != server
    assert tools.written(exp, where, (forged, ""), clients) == {}


def test_a_tool_that_does_not_tell_leaves_it_open() -> None:
    exp = Experiment("x", "netperf", Protocol.TCP)
    assert tools.written(exp, tools.layout(exp, BOTH, BOTH), ("", ""), (("", ""),)) == {}
