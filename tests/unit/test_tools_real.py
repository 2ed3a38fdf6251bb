"""The real programs on loopback, with our commands and our verdicts: two to three seconds each."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import pairing_ends
from linkladder import host, tools
from linkladder.model import Direction, End, Experiment, Fault, Outcome, Protocol
from linkladder.tools import Expectation, Layout, ToolVersions

HERE = "127.0.0.1"
SYSTEM = "FreeBSD" if sys.platform.startswith("freebsd") else "Linux"
FETCHED = str(Path(__file__).parents[2] / ".work" / "netperf" / "usr" / "bin")  # where build.sh puts netperf
PATHS = os.pathsep.join(filter(None, (os.environ.get("LINKLADDER_TOOLS_PATH"), os.environ.get("PATH"), FETCHED)))
SHORT = Experiment("x", duration=1, warmup=1)


def found(name: str) -> str:
    program = shutil.which(name, path=PATHS)
    if not program:
        return ""
    argv = [program, *tools.named(name).version_argv[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return tools.named(name).version(done.stdout + done.stderr)


IPERF, NETPERF = found("iperf"), found("netperf")
iperf = pytest.mark.skipif(not IPERF, reason="iperf is not installed")
netperf = pytest.mark.skipif(not NETPERF, reason="netperf is not installed (Debian has it in non-free)")
VERSIONS = ToolVersions({"iperf": IPERF, "netperf": NETPERF, "ping": "present"}, SYSTEM)


def start(argv: tuple[str, ...]) -> subprocess.Popen[str]:
    program = shutil.which(argv[0], path=PATHS)
    assert program
    return subprocess.Popen([program, *argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def free_port() -> int:
    """A port with a few free ones behind it, as netperf's sessions want."""
    while True:
        port = pairing_ends.free_port()
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for more in range(port, port + 8):
                held.enter_context(socket.socket()).bind((HERE, more))
            return port


def until_listening(port: int, udp: bool = False) -> None:
    for _ in range(600):
        if host.listening(port, udp):
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")


def until_enough(exp: Experiment, where: Layout, clients: list[subprocess.Popen[str]]) -> list[tuple[str, str]]:
    """What clients print that go on until they are told."""
    tool, live = tools.named(exp.tool), [tools.live_parser(exp, where, where.client) for _ in clients]
    lines: list[list[str]] = [[] for _ in clients]

    def follow(number: int) -> None:
        for line in clients[number].stdout or ():
            lines[number].append(line)
            live[number].feed(line)

    following = [threading.Thread(target=follow, args=(number,)) for number in range(len(clients))]
    for thread in following:
        thread.start()
    while not tool.enough(exp, [one.span for one in live]) and all(c.poll() is None for c in clients):
        time.sleep(0.05)
    assert tool.enough_by
    for client in clients:
        client.send_signal(tool.enough_by)
    for thread in following:
        thread.join(30)
    return [("".join(said), client.communicate(timeout=30)[1]) for said, client in zip(lines, clients, strict=True)]


def measure(exp: Experiment, address: str = HERE, **known: object) -> Outcome:
    """As the engine does it: server, wait, clients, end the server, verdict."""
    where = tools.layout(exp, VERSIONS, VERSIONS)
    port = free_port()
    server = start(tools.server_argv(exp, VERSIONS, address, port)) if where.server else None
    if server:
        until_listening(port, where.protocol_port == "udp")
    clients = []
    for index in range(where.clients):
        clients.append(start(tools.client_argv(exp, VERSIONS, where, address, address, port, index)))
        if not where.together:
            clients[-1].wait(20)
    if tools.named(exp.tool).latest(exp):
        texts = until_enough(exp, where, clients)
    else:
        texts = [c.communicate(timeout=30) for c in clients]
    served = ("", "")
    if server:
        time.sleep(0.2)
        server.send_signal(signal.SIGINT)
        if exp.tool == "netperf":  # it may go on, and has nothing to say
            server.kill()
        served = server.communicate()
    expect = Expectation(
        address,
        address,
        port,
        SYSTEM,
        SYSTEM,
        exit_codes=tuple(c.returncode for c in clients),
        watchdog=False,
    )
    expect = replace(expect, **known)
    return tools.finish(exp, where, served, tuple(texts), expect)


@iperf
@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.REVERSE, Direction.DUPLEX])
def test_tcp_of_four_streams(direction: Direction) -> None:
    # Four flows start one after the other, and of what was asked each may miss a fiftieth: more than a moment.
    outcome = measure(replace(SHORT, duration=5, streams=4, direction=direction))
    assert outcome.ok, outcome.reason
    ways = ["forward", "reverse"] if direction == Direction.DUPLEX else [direction.value]
    assert sorted(outcome.by_direction) == ways
    assert len(outcome.flows) == 4 * len(ways)
    assert all(bps > 1e6 for bps in outcome.by_direction.values())
    assert {(i.start, i.counted) for i in outcome.intervals if i.start < 2} == {
        (0.0, False),
        (1.0, True),
    }


@iperf
@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.REVERSE])
def test_a_window_is_granted_at_both_ends(direction: Direction) -> None:
    outcome = measure(replace(SHORT, window=100000, direction=direction))
    assert outcome.ok, outcome.reason
    granted = 200000 if SYSTEM == "Linux" else 100000
    for size in (outcome.window_read_back.near, outcome.window_read_back.far):
        assert granted <= size <= granted + 70000


@iperf
def test_a_window_beyond_the_limit_is_refused() -> None:
    outcome = measure(replace(SHORT, window=1 << 30))
    assert outcome.fault == Fault.TOOL
    assert "1073741824 bytes were asked" in outcome.reason


@iperf
@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.REVERSE])
def test_udp_keeps_its_total_rate(direction: Direction) -> None:
    exp = replace(
        SHORT,
        protocol=Protocol.UDP,
        streams=2,
        udp_rate_bps=20e6,
        direction=direction,
        write_size=1200,
    )
    outcome = measure(exp)
    assert outcome.ok, outcome.reason
    counted = sum(i.end - i.start for i in outcome.intervals if i.counted)
    assert outcome.lost is not None and outcome.datagrams is not None and counted > 0
    arrived = (outcome.datagrams - outcome.lost) * 8 * 1200 / counted
    assert outcome.goodput_bps == pytest.approx(arrived, rel=0.03)
    # Both flows together, not each: that would be twice or half of it.  A busy machine sends a little late.
    assert 20e6 / 1.4 < outcome.datagrams * 8 * 1200 / counted < 20e6 * 1.4


@iperf
def test_ipv6() -> None:
    try:
        socket.socket(socket.AF_INET6).bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    outcome = measure(replace(SHORT, streams=2), "::1")
    assert outcome.ok, outcome.reason
    assert {f.local for f in outcome.flows} == {"::1"}


@iperf
def test_a_refused_connection_has_exit_status_0_and_is_found_out() -> None:
    where = tools.layout(SHORT, VERSIONS, VERSIONS)
    client = start(tools.client_argv(SHORT, VERSIONS, where, HERE, HERE, free_port()))
    out, err = client.communicate(timeout=20)
    expect = Expectation(HERE, HERE, exit_codes=(client.returncode,))
    outcome = tools.finish(SHORT, where, ("", ""), ((out, err),), expect)
    assert outcome.fault == Fault.TOOL and "refused" in outcome.reason


@iperf
def test_lines_come_while_it_runs() -> None:
    """A pipe must not hold them back, or there is nothing to see until the end."""
    exp = replace(SHORT, duration=5)
    where = tools.layout(exp, VERSIONS, VERSIONS)
    port = free_port()
    server = start(tools.server_argv(exp, VERSIONS, HERE, port))
    until_listening(port)
    client = start(tools.client_argv(exp, VERSIONS, where, HERE, HERE, port))
    live = tools.live_parser(exp, where, End.FAR)
    assert server.stdout
    seen = []
    while not seen:
        seen = live.feed(server.stdout.readline())
    assert client.poll() is None, "the first second was shown before the run was over"
    assert (seen[0].start, seen[0].counted) == (0.0, False)
    client.kill()
    client.communicate(timeout=20)
    server.kill()
    server.communicate(timeout=3)


@netperf
@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.REVERSE])
def test_netperf_streams(direction: Direction) -> None:
    exp = replace(SHORT, tool="netperf", streams=2, window=100000, direction=direction)
    outcome = measure(exp)
    assert outcome.ok, outcome.reason
    assert len(outcome.flows) == 2 and outcome.goodput_bps > 1e6
    assert outcome.window_read_back.near and outcome.window_read_back.far


@netperf
def test_netperf_transactions() -> None:
    exp = replace(SHORT, tool="netperf", protocol=Protocol.RR, sessions=5, duration=2)
    outcome = measure(exp)
    assert outcome.ok, outcome.reason
    seen = outcome.transactions
    assert seen and seen.sessions == 5 and seen.rate > 100
    assert seen.min_us and seen.p50_us and seen.p99_us and seen.max_us
    assert seen.min_us <= seen.p50_us <= seen.p99_us <= seen.max_us


def test_ping_and_path_mtu() -> None:
    if not shutil.which("ping"):
        pytest.skip("ping is not installed")
    outcome = measure(replace(SHORT, tool="ping", protocol=Protocol.ECHO, count=3, interval=0.2))
    assert outcome.ok and outcome.rtt and outcome.rtt.received == 3, outcome.reason
    if SYSTEM == "Linux":  # FreeBSD wants root for it
        outcome = measure(replace(SHORT, tool="ping", protocol=Protocol.DF, sizes=(1500, 9000)))
        assert outcome.ok and outcome.path_mtu and outcome.path_mtu.mtu == 9000, outcome.reason
