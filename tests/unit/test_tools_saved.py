"""Saved output of iperf as `linkladder parse` reads it: every capture, and what is no result."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Fault
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
    outcome = tools.parse_saved("iperf", text, Demands(**asked))  # type: ignore[arg-type]
    assert (outcome.ok, outcome.fault) == (False, fault), outcome.reason
    assert words in outcome.reason


def test_saved_output_with_the_right_expectations(captures: Path) -> None:
    text = (captures / "freebsd-15.1" / "iperf-tcp-w800k.txt").read_text()
    outcome = tools.parse_saved("iperf", text, Demands(flows=2, seconds=5, local="10.99.0.1", window=800000))
    assert outcome.ok, outcome.reason
    assert outcome.window_read_back == {"local": 800080}
    assert any("sender's figures" in w for w in outcome.warnings)
