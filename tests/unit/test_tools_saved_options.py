"""Saved output of runs with options that linkladder itself does not use, or that were broken off."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Outcome

CAPTURES = Path(__file__).parents[1] / "captures"


def parsed(tool: str, name: str) -> Outcome:
    return tools.parse_saved(tool, (CAPTURES / name).read_text())


@pytest.mark.parametrize(
    ("tool", "name", "said"),
    [
        ("iperf", "iperf-2.1.8-options/two-clients.server.txt", "more than one run"),
        ("iperf", "iperf-2.1.8-options/udp-reverse.server.txt", "nobody knows what arrived"),
        ("iperf", "iperf-2.1.8-options/udp-duplex.client.txt", "nobody knows what arrived"),
        ("iperf", "iperf-2.1.8-options/udp-linkdown.server.txt", "the transfer stalled"),
        ("iperf", "iperf-2.1.8-options/udp-clientkilled.server.txt", "waited until 3.34 s"),
        ("iperf", "iperf-2.1.8-options/gigabits.server.txt", "too coarsely"),
        ("iperf", "iperf-2.1.8-options/csv-dualtest.client.txt", "both ways"),
        ("iperf", "iperf-2.1.8-options/csv-tradeoff.client.txt", "both ways"),
        ("iperf", "iperf-2.1.8-options/csv-duplex.client.txt", "both ways"),
        ("iperf", "iperf-2.1.8-options/csv-udp.client.txt", "sender's rows"),
        ("iperf", "iperf-2.1.8-options/csv-no-time.server.txt", "no time of day"),
        ("iperf", "iperf-2.2.1-options/bounceback.client.txt", "bounce-back"),
        ("iperf3", "iperf3-3.12-udp/loss-reverse.server.txt", "nobody knows what arrived"),
        ("iperf3", "iperf3-3.12-udp/interrupted.client.txt", "nobody knows what arrived"),
        ("iperf3", "iperf3-3.12-udp/tcp-interrupted.server.txt", "did not run to its end"),
        ("netperf", "netperf-2.7.0-linux/gigabits.txt", "too coarsely"),
        ("ping", "ping-linux/quiet.txt", "counts 5 answers"),
    ],
)
def test_what_cannot_be_known_is_no_result(tool: str, name: str, said: str) -> None:
    outcome = parsed(tool, name)
    assert not outcome.ok and said in outcome.reason, outcome


@pytest.mark.parametrize(
    ("tool", "name", "way", "bps"),
    [
        ("iperf", "iperf-2.1.8-options/reverse-p2.client.txt", "reverse", 95.6e6),
        ("iperf", "iperf-2.1.8-options/udp-loss-p2.client.txt", "forward", 38.83e6),
        ("iperf", "iperf-2.2.1-options/v6.server.txt", "forward", 94.47e6),
        ("iperf3", "iperf3-3.12-udp/loss.client.txt", "forward", 19.415e6),
        ("iperf3", "iperf3-3.12-udp/loss.server.txt", "forward", 19.415e6),
        ("iperf3", "iperf3-3.12-udp/tcp-omit.client.txt", "forward", 95.589e6),
    ],
)
def test_what_arrived_counts(tool: str, name: str, way: str, bps: float) -> None:
    outcome = parsed(tool, name)
    assert outcome.ok, outcome.reason
    assert outcome.by_direction == {way: pytest.approx(bps, rel=0.002)}


def test_a_client_of_iperf3_knows_what_was_lost() -> None:
    outcome = parsed("iperf3", "iperf3-3.12-udp/loss.client.txt")
    assert (outcome.lost, outcome.datagrams) == (149, 5178)


def test_what_may_have_been_read_short_is_told() -> None:
    """8192 bytes were sent in each datagram, and 1470 read: nothing in the server's text shows it."""
    outcome = parsed("iperf", "iperf-2.2.1-options/udp-short-read.server.txt")
    assert any("if the client sent longer ones" in w for w in outcome.warnings)


def test_repeats_that_scattered_are_told() -> None:
    assert any("scattered" in w for w in parsed("netperf", "netperf-2.7.0-linux/scattered.txt").warnings)


@pytest.mark.parametrize("name", ["times-of-day.txt", "verbose.txt"])
def test_pings_with_more_on_a_line(name: str) -> None:
    outcome = parsed("ping", f"ping-linux/{name}")
    assert outcome.rtt and (outcome.rtt.sent, outcome.rtt.received) == (3, 3), outcome.reason


def test_zero_bytes_and_a_byte_order_mark() -> None:
    text = (CAPTURES / "iperf-2.2.1-options" / "v6.server.txt").read_text()
    assert tools.parse_saved("iperf", "\ufeff" + text.replace("\n", "\r\n")).ok
    outcome = tools.parse_saved("iperf", text[:300] + "\0" * 40 + text[340:])
    assert not outcome.ok and "zero bytes" in outcome.reason


def test_text_for_people_is_told_from_json() -> None:
    outcome = tools.parse_saved("iperf3", "[  5]   0.00-1.00   sec  11.4 MBytes  95.4 Mbits/sec\n")
    assert not outcome.ok and "-J" in outcome.reason


def test_rows_of_a_sender_in_a_receiver_s_text_are_no_result() -> None:
    """A tail of another file's, with the same number of a flow."""
    one = (CAPTURES / "iperf-2.1.8-debian" / "tcp-p4.server.txt").read_text()
    other = (CAPTURES / "iperf-2.1.8-debian" / "tcp-p4.client.txt").read_text().splitlines(keepends=True)
    assert tools.parse_saved("iperf", one).ok
    assert not tools.parse_saved("iperf", one + "".join(other[-8:])).ok
