"""Verdicts on captured iperf trials: exact figures where it went well, the right fault and words where not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Direction, End, Experiment, Fault, Protocol, SocketBuffers
from linkladder.tools import Expectation
from tools_cases import EXPERIMENTS, MODERN, SHORT, TWO_ENDS, trial

OLD_UDP = replace(SHORT, protocol=Protocol.UDP, streams=2, duration=2, udp_rate_bps=20e6, write_size=1000)

LOOPBACK = Expectation("127.0.0.1", "127.0.0.1")
BOTH = ("iperf-2.1.8-two-ends", "iperf-2.2.1-two-ends")


def test_tcp_counts_the_receivers_bytes_after_the_warm_up(captures: Path) -> None:
    exp = replace(SHORT, streams=4)
    outcome = trial(captures / "iperf-2.1.8-debian", "tcp-p4", exp, LOOPBACK)
    assert outcome.ok, outcome.reason
    counted = 4424996656 + 2780951338 + 2716142859 + 2970684683  # the server's rows from 1 s to 2 s
    assert sum(f.bytes for f in outcome.flows) == counted
    assert outcome.goodput_bps == pytest.approx(counted * 8)
    assert sorted(f.total_bytes for f in outcome.flows) == [
        5586288700,
        5703204924,
        5987500092,
        8735293500,
    ]
    by_port = {f.local_port: f for f in outcome.flows}
    assert by_port[53766].total_bytes == 5703204924, "flows are matched by port: the ids differ between the ends"
    assert [f.retransmits for _, f in sorted(by_port.items())] == [78, 49, 0, 0]
    assert all(f.remote_port == 7001 and f.direction == Direction.FORWARD for f in outcome.flows)
    first, second = outcome.intervals
    assert (first.bytes, first.counted) == (
        4310296844 + 3016815409 + 2922250194 + 2859397937,
        False,
    )
    assert (second.bytes, second.counted, second.retransmits) == (
        counted,
        True,
        78 + 49,
    )


def test_without_tcp_statistics(captures: Path) -> None:
    outcome = trial(
        captures / "iperf-2.2.1-no-tcpinfo",
        "tcp-p4",
        replace(SHORT, streams=4),
        LOOPBACK,
    )
    assert outcome.ok, outcome.reason
    assert sum(f.bytes for f in outcome.flows) == 3075866624 + 2902588168 + 2643791433 + 5397155030
    assert sum(f.total_bytes for f in outcome.flows) == 25320620288, "as iperf's own sum has it here"
    assert {f.retransmits for f in outcome.flows} == {None}


def test_full_duplex_has_two_directions(captures: Path) -> None:
    exp = replace(SHORT, direction=Direction.DUPLEX)
    outcome = trial(captures / "iperf-2.1.8-debian", "fullduplex", exp, LOOPBACK)
    assert outcome.ok, outcome.reason
    assert outcome.by_direction == {
        "forward": pytest.approx(1605766358 * 8),  # what the server read
        "reverse": pytest.approx(3899140350 * 8),  # what the client read
    }
    assert outcome.goodput_bps == pytest.approx(sum(outcome.by_direction.values()))
    two = trial(
        captures / "iperf-2.2.1-no-tcpinfo",
        "fullduplex-p2",
        replace(exp, streams=2),
        LOOPBACK,
    )
    assert two.ok, two.reason
    assert two.by_direction == {
        "forward": pytest.approx((2102787778 + 2220625216) * 8),
        "reverse": pytest.approx((2148332277 + 2256928768) * 8),
    }


def test_udp_counts_loss_in_the_window_only(captures: Path) -> None:
    exp = replace(SHORT, protocol=Protocol.UDP, streams=4, udp_rate_bps=200e6)
    outcome = trial(captures / "iperf-2.1.8-debian", "udp-p4", exp, LOOPBACK)
    assert outcome.ok, outcome.reason
    assert (outcome.lost, outcome.datagrams) == (0, 4251 + 4252 + 4252 + 4252), "the four lost were in second 0"
    assert sum(f.bytes for f in outcome.flows) == 6248970 + 6250440 * 3
    assert outcome.jitter_ms == pytest.approx(0.001)
    assert outcome.offered_bps == pytest.approx(6250440 * 4 * 8)
    late = trial(captures / "iperf-2.2.1-no-tcpinfo", "udp-p4", exp, LOOPBACK)
    assert late.ok, late.reason
    assert (late.lost, late.datagrams) == (0, 4249 + 4251 + 4252 + 4250)


@pytest.mark.parametrize(
    ("folder", "figures"),
    [
        (BOTH[0], {"forward": 388023104 + 424476152 + 293865016 + 440804576}),
        (BOTH[1], {"forward": 419940904 + 618306152 + 312266384 + 639345152}),
    ],
)
def test_two_ends_tcp(captures: Path, folder: str, figures: dict[str, int]) -> None:
    outcome = trial(captures / folder, "tcp-p2")
    assert outcome.ok, outcome.reason
    assert outcome.by_direction == {"forward": pytest.approx(figures["forward"] * 8 / 2)}
    assert {f.local for f in outcome.flows} == {"10.91.0.1"}
    assert {f.remote for f in outcome.flows} == {"10.91.0.2"}


def test_reverse_is_the_clients_reading(captures: Path) -> None:
    outcome = trial(captures / BOTH[1], "reverse-p2")
    assert outcome.ok, outcome.reason
    counted = 306144952 + 310811648 + 316709192 + 285955520
    assert outcome.by_direction == {"reverse": pytest.approx(counted * 8 / 2)}
    assert {f.local for f in outcome.flows} == {"10.91.0.1"}, "local is the near end's, whoever receives"
    assert sorted(f.retransmits or 0 for f in outcome.flows) == [1, 3], "the sender's, of the counted seconds"


@pytest.mark.parametrize("folder", BOTH)
def test_duplex_of_two_ends(captures: Path, folder: str) -> None:
    outcome = trial(captures / folder, "duplex-p2")
    assert outcome.ok, outcome.reason
    assert {f.direction for f in outcome.flows} == {
        Direction.FORWARD,
        Direction.REVERSE,
    }
    assert len(outcome.flows) == 4


@pytest.mark.parametrize("folder", BOTH)
@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("windowbig", Fault.TOOL, "67108864 bytes were asked, 4194304 granted"),
        (
            "badbind",
            Fault.TOOL,
            "binding failed: bind failed: Cannot assign requested address",
        ),
        (
            "badbindserver",
            Fault.TOOL,
            "listener bind failed: Cannot assign requested address",
        ),
        ("badopt", Fault.TOOL, "unrecognized option `--bidir'"),
        ("serverkilled", Fault.TOOL, "ran 2.0 s of the 4 s asked"),
        ("clientkilled", Fault.TOOL, "killed by signal 9"),
        ("clientterm", Fault.TOOL, "ran 2.2 s of the 4 s asked"),
        ("synlost", Fault.PATH, "No route to host"),
    ],
)
def test_failures_of_two_ends(captures: Path, folder: str, name: str, fault: Fault, words: str) -> None:
    outcome = trial(captures / folder, name)
    assert (outcome.ok, outcome.fault) == (False, fault), outcome.reason
    assert words in outcome.reason


@pytest.mark.parametrize("folder", BOTH)
def test_a_dead_link_is_a_stall_of_the_path(captures: Path, folder: str) -> None:
    outcome = trial(captures / folder, "linkdown", expect=replace(TWO_ENDS, watchdog=True))
    assert (outcome.ok, outcome.fault) == (False, Fault.PATH)
    assert "stalled: no byte after 3 s" in outcome.reason


@pytest.mark.parametrize("folder", BOTH)
def test_a_server_that_died_is_named(captures: Path, folder: str) -> None:
    outcome = trial(captures / folder, "serverkilled", expect=replace(TWO_ENDS, server_exit=-9))
    assert outcome.fault == Fault.TOOL
    assert "server ended by itself (killed by signal 9)" in outcome.reason


@pytest.mark.parametrize("folder", BOTH)
def test_a_short_outage_is_a_result_with_a_warning(captures: Path, folder: str) -> None:
    outcome = trial(captures / folder, "flap")
    assert outcome.ok, outcome.reason
    assert "nothing arrived in 1 of 4 counted seconds (near to far)" in outcome.warnings


@pytest.mark.parametrize("folder", BOTH)
def test_udp_that_is_cut_off_counts_what_was_sent_into_the_void(captures: Path, folder: str) -> None:
    good = trial(captures / folder, "udp-p2")
    assert good.ok and good.lost == 0
    outcome = trial(captures / folder, "udpdown")
    assert outcome.lost is not None and outcome.datagrams
    assert outcome.lost / outcome.datagrams > 0.55, "no gap tells the receiver of what never came"


def test_granted_window(captures: Path) -> None:
    outcome = trial(captures / BOTH[0], "window")
    assert outcome.ok, outcome.reason
    assert outcome.window_read_back == SocketBuffers(1600000, 1600000)
    capped = trial(captures / BOTH[0], "window", replace(EXPERIMENTS["window"], window=1600000))
    assert not capped.ok and "1600000 bytes were asked, 800000 granted" in capped.reason, "Linux reads back the double"
    expect = replace(TWO_ENDS, os_near="FreeBSD", os_far="FreeBSD", window_limit_near=700000)
    freebsd = trial(captures / BOTH[0], "window", expect=expect)
    assert not freebsd.ok and "at most 700000" in freebsd.reason


@pytest.mark.parametrize(
    ("os", "asked", "read", "granted"),
    [
        ("Linux", 800000, 1600000, True),
        (
            "Linux",
            8388608,
            8388608,
            False,
        ),  # capped to half, and reads as if it were not
        ("Linux", 800000, 800080, False),
        ("FreeBSD", 800000, 800080, True),
        ("FreeBSD", 67108864, 32768, False),
        ("FreeBSD", 800000, 1600000, False),
        ("FreeBSD", 8388608, 8388608, True),
    ],
)
def test_window_rules_of_the_systems(os: str, asked: int, read: int, granted: bool) -> None:
    from linkladder.tools.socket_buffer import window_reason

    assert (window_reason(asked, read, os) == "") is granted


def test_wrong_local_address(captures: Path) -> None:
    outcome = trial(captures / BOTH[0], "tcp-p2", expect=replace(TWO_ENDS, local="10.91.0.9"))
    assert outcome.fault == Fault.TOOL
    assert "used 10.91.0.1 and not 10.91.0.9" in outcome.reason


def test_number_of_flows(captures: Path) -> None:
    few = trial(captures / BOTH[0], "tcp-p2", replace(EXPERIMENTS["tcp-p2"], streams=3))
    assert few.fault == Fault.TOOL and "2 of 3 flows" in few.reason
    many = trial(captures / BOTH[0], "tcp-p2", replace(EXPERIMENTS["tcp-p2"], streams=1))
    assert many.fault == Fault.TOOL and "another test" in many.reason


def test_watchdog_with_good_figures_is_still_no_result(captures: Path) -> None:
    outcome = trial(captures / BOTH[0], "tcp-p2", expect=replace(TWO_ENDS, watchdog=True))
    assert outcome.fault == Fault.TOOL and "had to be ended" in outcome.reason


@pytest.mark.parametrize(
    ("folder", "name", "exp"),
    [
        (
            "iperf-2.0.13-linux",
            "tcp-p2",
            replace(SHORT, streams=2, duration=2, window=300000),
        ),
        (
            "iperf-2.0.14a-linux",
            "tcp-p2",
            replace(SHORT, streams=2, duration=2, window=300000),
        ),
        (
            "iperf-2.0.13-linux",
            "udp-p2",
            OLD_UDP,
        ),
        (
            "iperf-2.0.14a-linux",
            "udp-p2",
            OLD_UDP,
        ),
    ],
)
def test_old_versions(captures: Path, folder: str, name: str, exp: Experiment) -> None:
    outcome = trial(captures / folder, name, exp, LOOPBACK)
    assert outcome.ok, outcome.reason
    assert len(outcome.flows) == 2
    if exp.protocol == Protocol.UDP:
        assert outcome.goodput_bps == pytest.approx(20e6, rel=0.003)
        assert outcome.lost == 0 and outcome.datagrams == pytest.approx(5000, abs=4)
    else:
        assert outcome.window_read_back == SocketBuffers(600000, 600000)


def test_roles_swapped_the_far_end_sends(captures: Path) -> None:
    """The same text, with the client at the far end."""
    exp = Experiment("x", streams=2, duration=2, warmup=1, direction=Direction.REVERSE, window=800000)
    where = tools.layout(exp, MODERN, MODERN)
    assert where.client == End.FAR
    folder = captures / BOTH[0]
    server, client = ((folder / f"tcp-p2.{end}.txt").read_text() for end in ("server", "client"))
    granted = "TCP window size: 1600000 Byte (WARNING: requested 800000 Byte)"
    lines = [granted if line.startswith("TCP window") else line for line in server.splitlines()]
    lines2 = [granted if line.startswith("TCP window") else line for line in client.splitlines()]
    expect = Expectation("10.91.0.2", "10.91.0.1")
    outcome = tools.finish(exp, where, ("\n".join(lines), ""), (("\n".join(lines2), ""),), expect)
    assert outcome.ok, outcome.reason
    assert list(outcome.by_direction) == ["reverse"]
    assert {f.local_port for f in outcome.flows} == {9401}, "the near end is the server here"
