"""What the eye sees while a trial runs, and what it costs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest

from linkladder import tools
from linkladder.model import Direction, End, Experiment, Interval, Protocol
from linkladder.tools import Expectation
from tools_cases import EXPERIMENTS, MODERN, SHORT

Found = TypeVar("Found")


def seen(exp: Experiment, end: End, text: str) -> list[Interval]:
    live = tools.live_parser(exp, tools.layout(exp, MODERN, MODERN), end)
    return [interval for line in text.splitlines() for interval in live.feed(line)]


def test_each_direction_comes_once_from_its_receiver(captures: Path) -> None:
    folder = captures / "iperf-2.1.8-two-ends"
    server, client = ((folder / f"duplex-p2.{end}.txt").read_text() for end in ("server", "client"))
    exp = EXPERIMENTS["duplex-p2"]
    near, far = seen(exp, End.NEAR, client), seen(exp, End.FAR, server)
    assert [(i.direction, i.start, i.counted) for i in near] == [
        (Direction.REVERSE, 0, False),
        (Direction.REVERSE, 1, True),
        (Direction.REVERSE, 2, True),
    ]
    assert [i.bytes for i in near] == [154927104 + 353894400, 170000384 + 271232736, 203268608 + 210063648]
    assert [i.direction for i in far] == [Direction.FORWARD] * 3
    forward = EXPERIMENTS["tcp-p2"]
    text = (folder / "tcp-p2.client.txt").read_text()
    assert seen(forward, End.NEAR, text) == [], "a sender's figures are not what arrived"


def test_live_agrees_with_the_verdict(captures: Path) -> None:
    for folder in ("iperf-2.1.8-debian", "iperf-2.2.1-no-tcpinfo"):
        text = (captures / folder / "tcp-p4.server.txt").read_text()
        shown = seen(replace(SHORT, streams=4), End.FAR, text)
        assert [i.bytes for i in shown if i.counted] == [
            {
                "iperf-2.1.8-debian": 4424996656 + 2780951338 + 2716142859 + 2970684683,
                "iperf-2.2.1-no-tcpinfo": 3075866624 + 2902588168 + 2643791433 + 5397155030,
            }[folder]
        ]


def test_udp_loss_is_shown(captures: Path) -> None:
    text = (captures / "iperf-2.2.1-no-tcpinfo" / "udp-p4.server.txt").read_text()
    exp = replace(SHORT, protocol=Protocol.UDP, streams=4, udp_rate_bps=200e6)
    first, second = seen(exp, End.FAR, text)
    assert (first.lost, first.datagrams) == (7, 4256 + 4252 + 4254 + 4255)
    assert (second.lost, second.counted) == (0, True)


@pytest.mark.parametrize("version", ["2.1.8", "2.2.1"])
@pytest.mark.parametrize("name", ["tcp-p2", "reverse-p2", "duplex-p2", "udp-p2"])
def test_the_last_line_that_counts_is_known(captures: Path, version: str, name: str) -> None:
    """So that nobody waits for a server which has told everything."""
    exp = EXPERIMENTS[name]
    where = tools.layout(exp, MODERN, MODERN)
    assert where.server
    live = tools.live_parser(exp, where, where.server)
    lines = (captures / f"iperf-{version}-two-ends" / f"{name}.server.txt").read_text().splitlines()
    last = max(n for n, line in enumerate(lines) if line.startswith("[  1") or line[:4] in ("[ *1", "[  2", "[ *2"))
    for number, line in enumerate(lines):
        assert live.complete == (number > last)
        live.feed(line)
    assert live.complete


def test_a_flow_that_stalls_does_not_hold_the_others_back() -> None:
    exp = Experiment("x", streams=2, duration=10, warmup=1)
    row = "[  {}] {:.2f}-{:.2f} sec  1000000 Bytes  8000000 bits/sec  1=1:0:0:0:0:0:0:0"
    live = tools.live_parser(exp, tools.layout(exp, MODERN, MODERN), End.FAR)
    live.feed(row.format(1, 0, 1))
    assert [i.bytes for i in live.feed(row.format(2, 0, 1))] == [2000000]
    shown = [i for k in range(1, 8) for i in live.feed(row.format(1, k, k + 1))]
    assert [i.start for i in shown] == [1, 2, 3, 4]
    assert {i.bytes for i in shown} == {1000000}


def test_netperf_interim_results() -> None:
    exp = Experiment("x", "netperf", duration=5, warmup=2)
    where = tools.layout(exp, MODERN, MODERN)
    live = tools.live_parser(exp, where, where.client)
    lines = []
    for n, rate in enumerate((10.0, 20.0, 30.0)):
        lines += [f"NETPERF_INTERIM_RESULT[{n}]={rate}", f"NETPERF_UNITS[{n}]=10^6bits/s"]
        lines += [f"NETPERF_INTERVAL[{n}]=1.000", f"NETPERF_ENDING[{n}]={1795236515 + n}.001"]
    shown = [i for line in lines for i in live.feed(line)]
    assert [i.bytes for i in shown] == [1250000, 2500000, 3750000]
    assert [i.counted for i in shown] == [False, False, True]
    assert live.feed("NETPERF_ENDING[9]=nan") == []


def long_trial(seconds: int = 60, flows: int = 8) -> tuple[str, str]:
    server = ["Server listening on TCP port 7000 with pid 1", "TCP window size: 131072 Byte (default)"]
    client = ["Client connecting to 10.0.0.2, TCP port 7000 with pid 2", "TCP window size: 131072 Byte (default)"]
    for flow in range(1, flows + 1):
        server.append(
            f"[ {flow:>2}] local 10.0.0.2%eth0 port 7000 connected with 10.0.0.1 port {4000 + flow} (peer 2.1.8)"
        )
        client.append(f"[ {flow:>2}] local 10.0.0.1%eth0 port {4000 + flow} connected with 10.0.0.2 port 7000 (sock=3)")
    for second in range(seconds):
        span = f"{second}.0000-{second + 1}.0000 sec  123456789 Bytes  987654312 bits/sec"
        for flow in range(1, flows + 1):
            server.append(f"[ {flow:>2}] {span}  5208=36:3:1:93:2:1:3:5069")
            client.append(f"[ {flow:>2}] {span}  5304/0        370     2587K/159(30) us  4372364")
        server.append(f"[SUM] {span}  5208=36:3:1:93:2:1:3:5069")
    for flow in range(1, flows + 1):
        total = f"0.0000-{seconds}.0000 sec  {123456789 * seconds} Bytes  987654312 bits/sec"
        server.append(f"[ {flow:>2}] {total}  5208=36:3:1:93:2:1:3:5069")
        client.append(f"[ {flow:>2}] {total}  5304/0        370     2587K/159(30) us  4372364")
    return "\n".join(server) + "\n", "\n".join(client) + "\n"


def steps(work: Callable[[], Found]) -> tuple[int, Found]:
    """How many instructions of Python a piece of work takes: the same on every machine, however busy."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = work()
    finally:
        sys.settrace(before)
    return count, found


def spent_on(seconds: int) -> tuple[int, int]:
    """Steps to read a trial of 8 flows as it goes on, and to judge it."""
    server, client = long_trial(seconds)
    exp = Experiment("x", streams=8, duration=seconds - 3, warmup=3)
    where = tools.layout(exp, MODERN, MODERN)
    live = tools.live_parser(exp, where, End.FAR)
    read, shown = steps(lambda: [i for line in server.splitlines() for i in live.feed(line)])
    output, expected = ((server, ""), ((client, ""),)), Expectation("10.0.0.1", "10.0.0.2")
    judged, outcome = steps(lambda: tools.finish(exp, where, *output, expected))
    assert outcome.ok, outcome.reason
    assert outcome.goodput_bps == pytest.approx(8 * 987654312)
    assert len(shown) == seconds
    return read, judged


def test_each_second_of_a_long_trial_costs_no_more_than_one_of_a_short_trial() -> None:
    """A trial is at most the work of twenty of a twentieth, or a soak would read its own past over and over."""
    short, long = spent_on(15), spent_on(300)
    assert all(long[n] < 20 * short[n] for n in (0, 1)), (short, long)
