"""Saved output of iperf as `linkladder parse` reads it: every capture, and what is no result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Fault, SocketBuffers
from linkladder.tools import Demands


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
        outcome = tools.parse_saved("iperf", (captures / name).read_text(), Demands(flows=connections))
        assert outcome.ok, f"{name}: {outcome.reason}"
        assert sorted(f.total_bytes for f in outcome.flows) == expected, name
    for name in ("udp-p4.client.txt", "udp-p4.server.txt"):
        saved = tools.parse_saved("iperf", (captures / "iperf-2.2.1-no-tcpinfo" / name).read_text())
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
    outcome = tools.parse_saved("iperf", text, Demands(**asked))
    assert (outcome.ok, outcome.fault) == (False, fault), outcome.reason
    assert words in outcome.reason


def test_saved_output_with_the_right_expectations(captures: Path) -> None:
    text = (captures / "freebsd-15.1" / "iperf-tcp-w800k.txt").read_text()
    outcome = tools.parse_saved("iperf", text, Demands(flows=2, seconds=5, local="10.99.0.1", window=800000))
    assert outcome.ok, outcome.reason
    assert outcome.window_read_back == SocketBuffers(near=800080)
    assert any("sender's figures" in w for w in outcome.warnings)


# --- what looks like a result


def joined(*parts: Path) -> str:
    return "".join(part.read_text() for part in parts)


def test_datagrams_of_which_only_a_part_was_read(captures: Path) -> None:
    """8192 bytes were sent in each, 1470 read: the report is of a sixth of what arrived."""
    outcome = tools.parse_saved("iperf", (captures / "iperf-2.1.8-debian" / "udp-short-read.client.txt").read_text())
    assert not outcome.ok and "read less" in outcome.reason
    text = (captures / "iperf-2.2.1-no-tcpinfo" / "udp-p4.server.txt").read_text()
    assert tools.parse_saved("iperf", text).ok
    outcome = tools.parse_saved("iperf", text.replace(" 4252/0/0 ", " 4252/0/17 "))  # 2.2's Read/Timeo/Trunc
    assert not outcome.ok and "read less" in outcome.reason


@pytest.mark.parametrize(
    "name",
    [
        "iperf-2.0.13-linux/plain-tcp.client.txt",
        "iperf-2.0.13-linux/plain-udp.server.txt",
        "iperf-2.0.14a-linux/plain-udp.client.txt",
        "iperf-2.1.8-debian/tcp-p4.client.txt",
    ],
)
def test_without_its_header_nothing_tells_whose_output_it_is(captures: Path, name: str) -> None:
    lines = (captures / name).read_text().splitlines(keepends=True)
    headless = [line for line in lines if not line.startswith(("Client", "Server l", "$"))]
    assert len(headless) < len(lines)
    outcome = tools.parse_saved("iperf", "".join(headless))
    assert not outcome.ok and "header is missing" in outcome.reason


def test_one_of_two_flows_that_died_is_no_result() -> None:
    header = "Server listening on TCP port 5001\n" + "".join(
        f"[  {n}] local 10.0.0.2 port 5001 connected with 10.0.0.1 port {4000 + n}\n" for n in (1, 2)
    )

    def row(flow: int, start: int, end: int, count: int) -> str:
        rate = count * 8 // (end - start)
        return f"[  {flow}] {start}.00-{end}.00 sec  {count} Bytes  {rate} bits/sec  1=1:0:0:0:0:0:0:0\n"

    alive = [row(1, k, k + 1, 10_000_000) for k in range(10)] + [row(1, 0, 10, 100_000_000)]
    silent = [row(2, 0, 1, 10_000_000), *(row(2, k, k + 1, 0) for k in range(1, 10)), row(2, 0, 10, 10_000_000)]
    cut = [row(2, 0, 1, 10_000_000)]
    for dead in (silent, cut):
        outcome = tools.parse_saved("iperf", header + "".join(alive + dead))
        assert not outcome.ok and "flow 2" in outcome.reason
    slower = [row(2, k, k + 1, 1_000_000) for k in range(10)] + [row(2, 0, 10, 10_000_000)]
    assert tools.parse_saved("iperf", header + "".join(alive + slower)).ok


FOLDERS = pytest.mark.parametrize("folder", ["iperf-2.1.8-debian", "iperf-2.2.1-no-tcpinfo"])


@FOLDERS
@pytest.mark.parametrize("name", ["tcp-p4.server.txt", "tcp-p4.client.txt", "udp-p4.server.txt", "udp-p4.client.txt"])
def test_two_runs_in_one_file_are_no_result(captures: Path, folder: str, name: str) -> None:
    one = captures / folder / name
    assert tools.parse_saved("iperf", one.read_text()).ok
    twice = tools.parse_saved("iperf", joined(one, one))
    assert not twice.ok and "more than one run" in twice.reason
    both = tools.parse_saved("iperf", joined(one, captures / folder / "tcp-p4.server.txt"))
    assert not both.ok and "more than one run" in both.reason


def test_two_runs_of_one_server_are_no_result(captures: Path) -> None:
    """One header, and connections that are made when others have ended: a server that went on."""
    lines = (captures / "iperf-2.1.8-debian" / "tcp-p4.server.txt").read_text().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if "connected with" in line)
    more = "".join(lines[first:]).replace("[  ", "[ 1").replace("[ *", "[ *")
    outcome = tools.parse_saved("iperf", "".join(lines) + more)
    assert not outcome.ok and "more than one run" in outcome.reason


@FOLDERS
def test_two_runs_of_rows_without_words_are_no_result(captures: Path, folder: str) -> None:
    text = (captures / folder / "csv-p2.client.txt").read_text()
    assert tools.parse_saved("iperf", text).ok
    rows = [line for line in text.splitlines() if line.startswith("2026")]
    minutes = int(rows[0][10:12])
    later = [f"{r[:10]}{minutes + 1:02}{r[12:]}" for r in rows]  # the next minute, from other ports
    later = [re.sub(r",(\d{5}),", lambda m: f",{int(m[1]) - 7},", r, count=1) for r in later]
    outcome = tools.parse_saved("iperf", text + "\n".join(later) + "\n")
    assert not outcome.ok and "more than one run" in outcome.reason


def test_a_loss_that_contradicts_its_own_percentage_is_no_result(captures: Path) -> None:
    text = (captures / "freebsd-15.1" / "iperf-udp.txt").read_text()
    assert tools.parse_saved("iperf", text).lost == 0
    outcome = tools.parse_saved("iperf", text.replace(" 0/6806 (0%)", " 900/6806 (0%)"))
    assert not outcome.ok
    outcome = tools.parse_saved("iperf", text.replace(" 0/6806 (0%)", " 0/6806 (13%)"))
    assert not outcome.ok
    true = text.replace(" 0/6806 (0%)", " 900/7706 (12%)").replace("Sent 6807 datagrams", "Sent 7707 datagrams")
    assert tools.parse_saved("iperf", true).lost == 900
    server = (captures / "iperf-2.2.1-no-tcpinfo" / "udp-p4.server.txt").read_text()
    assert not tools.parse_saved("iperf", server.replace(" 4/4256 (0.094%)", " 400/4256 (0.094%)")).ok


# --- netperf


@pytest.mark.parametrize(
    ("name", "direction", "rate"),
    [
        ("classic-stream", "forward", 3447.01e6),
        ("classic-stream-cpu", "forward", 5.52e9),
        ("classic-stream-M", "forward", 632.01 * 2**20 * 8),
        ("classic-maerts", "reverse", 3895.25e6),
        ("classic-udp", "forward", 474.74e6),
        ("maerts-banner", "reverse", 5895.22e6),
        ("maerts-2-1", "reverse", 14462.03e6),
    ],
)
def test_netperfs_table_and_which_way_it_went(captures: Path, name: str, direction: str, rate: float) -> None:
    outcome = tools.parse_saved("netperf", (captures / "netperf-2.7.0-linux" / f"{name}.txt").read_text())
    assert outcome.ok, outcome.reason
    assert outcome.by_direction == {direction: pytest.approx(rate)}


def test_netperfs_table_of_datagrams_and_of_transactions(captures: Path) -> None:
    udp = tools.parse_saved("netperf", (captures / "netperf-2.7.0-linux" / "classic-udp.txt").read_text())
    assert (udp.datagrams, udp.lost) == (136144, 136144 - 84947)
    rr = tools.parse_saved("netperf", (captures / "netperf-2.7.0-linux" / "classic-rr.txt").read_text())
    assert rr.transactions and rr.transactions.rate == 15516.56


@pytest.mark.parametrize(
    ("true", "changed"), [("474.74", "574.74"), ("474.74", "464.74"), ("84947", "94947"), ("    1400 ", "    1500 ")]
)
def test_datagrams_that_do_not_make_netperfs_rate_are_no_result(captures: Path, true: str, changed: str) -> None:
    text = (captures / "netperf-2.7.0-linux" / "classic-udp.txt").read_text()
    assert true in text
    outcome = tools.parse_saved("netperf", text.replace(true, changed))
    assert not outcome.ok and "its datagrams make" in outcome.reason


def test_netperf_without_a_word_of_the_way_says_so(captures: Path) -> None:
    outcome = tools.parse_saved("netperf", (captures / "netperf-2.7.0-linux" / "maerts-bare.txt").read_text())
    assert outcome.ok and outcome.by_direction == {} and "which way" in outcome.warnings[0]


def test_netperf_two_runs_and_contradictions_are_no_result(captures: Path) -> None:
    folder = captures / "netperf-2.7.0-linux"
    for other in ("classic-stream", "classic-maerts", "classic-rr", "maerts-banner"):
        assert not tools.parse_saved("netperf", joined(folder / "classic-stream.txt", folder / f"{other}.txt")).ok
    text = (folder / "maerts-2-1.txt").read_text()
    for one, two in (("THROUGHPUT=14462.03", "THROUGHPUT=19462.03"), ("RECVD=7231658381", "RECVD=9231658381")):
        assert one in text and not tools.parse_saved("netperf", text.replace(one, two)).ok
    cut = (folder / "classic-stream.txt").read_text().splitlines()[:-1]
    assert not tools.parse_saved("netperf", "\n".join(cut)).ok
