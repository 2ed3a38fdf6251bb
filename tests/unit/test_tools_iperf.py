"""Verdicts on captured iperf trials: exact figures where it went well, the right fault and words where not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Direction, End, Experiment, Fault, Protocol, Tool
from linkladder.tools import Expectation, Outcome
from tools_cases import EXPERIMENTS, MODERN, SHORT, TWO_ENDS, trial

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
    assert "nothing arrived in 1 of 4 counted seconds (forward)" in outcome.warnings


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
    assert outcome.window_read_back == {"near": 1600000, "far": 1600000}
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
    from linkladder.tools.iperf_result import window_reason

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


SERVER = """\
Server listening on TCP port 7000 with pid 1
TCP window size: 131072 Byte (default)
[  1] local 10.91.0.2%vmx0 port 7000 connected with 10.91.0.1 port 4000 (peer 2.1.8)
"""
CLIENT = """\
Client connecting to 10.91.0.2, TCP port 7000 with pid 2 (1 flows)
TCP window size: 131072 Byte (default)
[  1] local 10.91.0.1%vmx0 port 4000 connected with 10.91.0.2 port 7000 (sock=3)
"""


def row(start: float, end: float, count: int, tail: str = "1=1:0:0:0:0:0:0:0") -> str:
    rate = round(count * 8 / (end - start))
    return f"[  1] {start:.2f}-{end:.2f} sec  {count} Bytes  {rate} bits/sec  {tail}\n"


def verdict(server: str, client: str = CLIENT, exp: Experiment | None = None, **known: object) -> Outcome:
    exp = exp or Experiment("x", duration=4, warmup=1)
    expect = replace(TWO_ENDS, **known)  # type: ignore[arg-type]
    return tools.finish(exp, tools.layout(exp, MODERN, MODERN), server, "", (client,), ("",), expect)


def test_black_hole() -> None:
    """Connects, one segment, then 0 bit/s."""
    rows = row(0, 1, 1448) + "".join(
        f"[  1] {k}.00-{k + 1}.00 sec  0.000 Bytes  0.000 bits/sec  0=0:0:0:0:0:0:0:0\n" for k in range(1, 9)
    )
    outcome = verdict(SERVER + rows, watchdog=True)
    assert (outcome.fault, outcome.ok) == (Fault.PATH, False)
    assert "nothing arrived" in outcome.reason
    nothing = verdict(SERVER, watchdog=True)
    assert nothing.fault == Fault.PATH and "nothing arrived" in nothing.reason


def test_a_run_that_outlives_its_time_with_empty_seconds() -> None:
    """FreeBSD, large sends lost on the path: -t 4 came back after 30 s, exit status 0, nearly all seconds empty."""
    empty = "".join(f"[  1] {k}.00-{k + 1}.00 sec  0.000 Bytes  0.000 bits/sec  0=0:0\n" for k in range(2, 29))
    rows = row(0, 1, 5000000) + row(1, 2, 131072) + empty + row(29, 30, 1448) + row(0, 30, 5132520)
    outcome = verdict(SERVER + rows.replace("0=0:0\n", "0=0:0:0:0:0:0:0:0\n"))
    assert outcome.fault == Fault.PATH and "stalled" in outcome.reason


def test_missing_last_second_is_restored_from_the_total() -> None:
    """2.0.13 leaves out a last second that is not whole."""
    rows = row(0, 1, 100) + "".join(row(k, k + 1, 1000000) for k in range(1, 4)) + row(0, 4.99, 3990100)
    outcome = verdict(SERVER + rows)
    assert outcome.ok, outcome.reason
    assert outcome.intervals[-1].bytes == 990000
    assert outcome.goodput_bps == pytest.approx(3990000 * 8 / 3.99)


def test_a_missing_second_in_the_middle_is_no_result() -> None:
    rows = row(0, 1, 100) + row(1, 2, 1000000) + row(3, 4, 1000000) + row(4, 5, 1000000) + row(0, 5, 4000100)
    outcome = verdict(SERVER + rows)
    assert outcome.fault == Fault.TOOL and "between 2.00 s and 3.00 s" in outcome.reason


def test_a_total_that_contradicts_the_seconds() -> None:
    rows = "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 30_000_000)
    outcome = verdict(SERVER + rows)
    assert outcome.fault == Fault.TOOL and "add up" in outcome.reason


def test_a_digit_lost_on_the_way_makes_the_line_foreign() -> None:
    good = "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 50_000_000)
    assert verdict(SERVER + good).ok
    bad = verdict(SERVER + good.replace("2.00-3.00 sec  10000000 Bytes", "2.00-3.00 sec  1000000 Bytes"))
    assert not bad.ok and "between 2.00 s and 3.00 s" in bad.reason
    assert bad.goodput_bps == 0.0, "a number that may be wrong is not given"


def test_unknown_words_on_stderr_fail_the_trial_with_its_text() -> None:
    exp = Experiment("x", duration=4, warmup=1)
    good = "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 50_000_000)
    where = tools.layout(exp, MODERN, MODERN)
    outcome = tools.finish(
        exp,
        where,
        SERVER + good,
        "",
        (CLIENT,),
        ("WARNING: something new\n",),
        TWO_ENDS,
    )
    assert outcome.fault == Fault.TOOL and "WARNING: something new" in outcome.reason
    harmless = "Waiting for server threads to complete. Interrupt again to force quit.\n"
    assert tools.finish(exp, where, SERVER + good, harmless, (CLIENT,), ("",), TWO_ENDS).ok


def test_a_client_that_prints_garbage_or_nothing() -> None:
    for text in ("", "segmentation fault (core dumped)\n", "\x00\x01[[[["):
        outcome = verdict("", text)
        assert outcome.fault == Fault.TOOL and not outcome.ok and outcome.reason
    waiting = verdict(
        "",
        "Client connecting to 10.91.0.2, TCP port 7000 with pid 2 (1 flows)\n",
        watchdog=True,
    )
    assert waiting.fault == Fault.PATH and "never made" in waiting.reason


def test_udp_of_which_nothing_arrived() -> None:
    exp = Experiment("x", protocol=Protocol.UDP, duration=4, warmup=1, udp_rate_bps=1e6)
    client = CLIENT.replace("TCP port", "UDP port") + "".join(row(k, k + 1, 125000, "85/0 85 pps") for k in range(5))
    server = "Server listening on UDP port 7000 with pid 1\n"
    outcome = verdict(server, client + row(0, 5, 625000, "425/0 85 pps"), exp)
    assert outcome.fault == Fault.PATH and "nothing of 1 of the 1 UDP streams arrived" in outcome.reason


def test_a_reader_with_too_small_a_buffer_is_found_out() -> None:
    """Without the same -l at the server it reads 1470 bytes of each 8000."""
    exp = Experiment(
        "x",
        protocol=Protocol.UDP,
        duration=4,
        warmup=1,
        udp_rate_bps=64e6,
        write_size=8000,
    )

    def udp(start: int, end: int, datagrams: int, size: int) -> str:
        return row(
            start,
            end,
            datagrams * size,
            f"0.001 ms 0/{datagrams} (0%) 0.1/0.1/0.1/0.1 ms 1000 pps",
        )

    server = SERVER.replace("TCP port", "UDP port")
    for size, ok in ((8000, True), (1470, False)):
        text = server + "".join(udp(k, k + 1, 1000, size) for k in range(5)) + udp(0, 5, 5000, size)
        outcome = verdict(text, CLIENT, exp)
        assert outcome.ok is ok, outcome.reason


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
            replace(
                SHORT,
                protocol=Protocol.UDP,
                streams=2,
                duration=2,
                udp_rate_bps=20e6,
                write_size=1000,
            ),
        ),
        (
            "iperf-2.0.14a-linux",
            "udp-p2",
            replace(
                SHORT,
                protocol=Protocol.UDP,
                streams=2,
                duration=2,
                udp_rate_bps=20e6,
                write_size=1000,
            ),
        ),
    ],
)
def test_old_versions(captures: Path, folder: str, name: str, exp: Experiment) -> None:
    outcome = trial(captures / folder, name, exp, LOOPBACK)
    assert outcome.ok, outcome.reason
    assert len(outcome.flows) == 2
    if exp.protocol == Protocol.UDP:
        assert outcome.goodput_bps == pytest.approx(20e6, rel=0.003)
        assert (outcome.lost, outcome.datagrams) == (0, pytest.approx(5000, abs=4))
    else:
        assert outcome.window_read_back == {"near": 600000, "far": 600000}


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
    outcome = tools.finish(exp, where, "\n".join(lines), "", ("\n".join(lines2),), ("",), expect)
    assert outcome.ok, outcome.reason
    assert list(outcome.by_direction) == ["reverse"]
    assert {f.local_port for f in outcome.flows} == {9401}, "the near end is the server here"


def test_saved_output_of_every_iperf_capture(captures: Path) -> None:
    """Totals of every flow, added up by hand from the captures."""
    totals = {
        "freebsd-15.1/iperf-tcp-p1.txt": [146538556],
        "freebsd-15.1/iperf-tcp-p4.txt": [29753404, 34209852, 34865212, 41680956],
        "freebsd-15.1/iperf-tcp-w800k.txt": [68419644, 73793596],
        "freebsd-15.1/iperf-mtu9000-one-end.txt": [117047356],
        "freebsd-15.1/iperf-udp.txt": [10004820],
        "freebsd-15.1/iperf-csv.txt": [6291516, 9125336],
        "iperf-2.1.8-debian/csv-p2.client.txt": [16590045244, 17083269180],
        "iperf-2.1.8-debian/csv-p2.server.txt": [
            round(15.5 * 2**30),
            round(15.9 * 2**30),
        ],
        "iperf-2.1.8-debian/fullduplex.client.txt": [5021892668, 7712538624],
        "iperf-2.1.8-debian/fullduplex.server.txt": [5021892668, 7712538624],
        "iperf-2.1.8-debian/tcp-p4.client.txt": [
            5586288700,
            5703204924,
            5987500092,
            8735293500,
        ],
        "iperf-2.1.8-debian/tcp-p4.server.txt": [
            5586288700,
            5703204924,
            5987500092,
            8735293500,
        ],
        "iperf-2.1.8-debian/udp-p4.client.txt": [
            12500880,
            12503820,
            12506760,
            12509700,
        ],
        "iperf-2.1.8-debian/udp-p4.server.txt": [
            12500880,
            12503820,
            12506760,
            12509700,
        ],
        "iperf-2.2.1-no-tcpinfo/csv-p2.client.txt": [14298906688, 15714615360],
        "iperf-2.2.1-no-tcpinfo/csv-e-p2.client.txt": [16497901632, 18276286528],
        "iperf-2.2.1-no-tcpinfo/csv-p2.server.txt": [
            round(13.3 * 2**30),
            round(14.6 * 2**30),
        ],
        "iperf-2.2.1-no-tcpinfo/csv-e-p2.server.txt": [
            round(15.4 * 2**30),
            round(17.0 * 2**30),
        ],
        "iperf-2.2.1-no-tcpinfo/fullduplex-p2.client.txt": [
            4170055744,
            4371382272,
            4469030976,
            4601151488,
        ],
        "iperf-2.2.1-no-tcpinfo/fullduplex-p2.server.txt": [
            4170055744,
            4371382272,
            4469030976,
            4601151488,
        ],
        "iperf-2.2.1-no-tcpinfo/tcp-p4.client.txt": [
            4965138496,
            5887623232,
            6619004992,
            7848853568,
        ],
        "iperf-2.2.1-no-tcpinfo/tcp-p4.server.txt": [
            4965138496,
            5887623232,
            6619004992,
            7848853568,
        ],
        "iperf-2.2.1-no-tcpinfo/udp-p4.client.txt": [
            12496470,
            12499410,
            12500880,
            12506760,
        ],
        "iperf-2.2.1-no-tcpinfo/udp-p4.server.txt": [
            12496470,
            12499410,
            12500880,
            12506760,
        ],
        "iperf-2.0.13-linux/plain-udp.server.txt": [round(7.15 * 2**20)],
    }
    for name, expected in totals.items():
        connections = len(expected) // 2 if "fullduplex" in name else len(expected)
        outcome = tools.parse_saved(Tool.IPERF, (captures / name).read_text(), flows=connections)
        assert outcome.ok, f"{name}: {outcome.reason}"
        assert sorted(f.total_bytes for f in outcome.flows) == expected, name
    for name in ("udp-p4.client.txt", "udp-p4.server.txt"):
        saved = tools.parse_saved(Tool.IPERF, (captures / "iperf-2.2.1-no-tcpinfo" / name).read_text())
        assert (saved.lost, saved.datagrams) == (7, 34020)


@pytest.mark.parametrize(
    ("name", "asked", "fault", "words"),
    [
        ("iperf-badbind.txt", {}, Fault.TOOL, "bind failed"),
        ("iperf-badopt.txt", {}, Fault.TOOL, "unrecognized option"),
        ("iperf-lo-p4.txt", {}, Fault.TOOL, "Connection refused"),
        ("iperf-refused.txt", {}, Fault.TOOL, "Connection refused"),
        ("iperf-help.txt", {}, Fault.TOOL, "no flow"),
        ("iperf-csv.txt", {"seconds": 3.0}, Fault.PATH, "stalled"),
        ("iperf-tcp-p4.txt", {"flows": 5}, Fault.TOOL, "4 flows, 5 were asked"),
        ("iperf-tcp-p4.txt", {"seconds": 6.0}, Fault.TOOL, "of 6 s"),
        ("iperf-tcp-p4.txt", {"local": "10.99.0.7"}, Fault.TOOL, "not 10.99.0.7"),
        ("iperf-tcp-w800k.txt", {"window": 8388608}, Fault.TOOL, "socket buffer"),
    ],
)
def test_saved_output_that_is_no_result(
    captures: Path, name: str, asked: dict[str, object], fault: Fault, words: str
) -> None:
    text = (captures / "freebsd-15.1" / name).read_text()
    outcome = tools.parse_saved(Tool.IPERF, text, **asked)  # type: ignore[arg-type]
    assert (outcome.ok, outcome.fault) == (False, fault), outcome.reason
    assert words in outcome.reason


def test_saved_output_with_the_right_expectations(captures: Path) -> None:
    text = (captures / "freebsd-15.1" / "iperf-tcp-w800k.txt").read_text()
    outcome = tools.parse_saved(Tool.IPERF, text, flows=2, seconds=5, local="10.99.0.1", window=800000)
    assert outcome.ok, outcome.reason
    assert outcome.window_read_back == {"local": 800080}
    assert any("sender's figures" in w for w in outcome.warnings)
