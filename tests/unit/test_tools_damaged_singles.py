"""netperf's and ping's saved output damaged: the true figures or none, never others.

A rate that stands alone (netperf's classic table of TCP, its selectors without bytes or interim results) has nothing
beside it that would show a changed digit: that is said with the figure, and digits are changed in all others.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import damaged_text
from linkladder import tools
from linkladder.model import Outcome
from linkladder.tools.netperf import saved

CAPTURES = Path(__file__).parents[1] / "captures"
FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
HOW = ("cut", "head", "drop", "repeat", "swap", "move", "reverse", "merge", "twice", "join")
ALONE = {"classic-maerts", "classic-rr", "classic-stream", "classic-stream-M", "classic-stream-cpu"}
ALONE |= {"maerts-banner", "maerts-bare", "scattered"}


def good(tool: str, *patterns: str) -> dict[Path, str]:
    """Captures that hold a result."""
    found = {path: path.read_text() for pattern in patterns for path in sorted(CAPTURES.glob(pattern))}
    return {path: text for path, text in found.items() if tools.parse_saved(tool, text).ok}


NETPERF = good("netperf", "netperf-2.7.0-linux/*.txt", "freebsd-15.1/netperf-*.txt")
PING = good("ping", "ping-linux/*.txt", "freebsd-15.1/ping-*.txt")


def test_all_forms_are_there() -> None:
    assert {p.name.split("-")[0] for p in NETPERF} >= {"classic", "maerts", "rr", "netperf"}
    assert {p.parent.name for p in PING} == {"ping-linux", "freebsd-15.1"}


def test_a_rate_that_stands_alone_is_told_as_such() -> None:
    told = {path.stem for path, text in NETPERF.items() if saved.ALONE in tools.parse_saved("netperf", text).warnings}
    assert told == ALONE


@FEW
@given(st.data())
def test_netperf(data: st.DataObject) -> None:
    outcome, truth = damaged(data, "netperf", NETPERF)
    if outcome.ok:
        close(outcome.goodput_bps, truth.goodput_bps)
        same_loss(outcome, truth)
        assert (outcome.transactions is None) is (truth.transactions is None)
        if outcome.transactions and truth.transactions:
            close(outcome.transactions.rate, truth.transactions.rate)
            close(outcome.transactions.mean_us, truth.transactions.mean_us, 0.03)


@FEW
@given(st.data())
def test_ping(data: st.DataObject) -> None:
    outcome, truth = damaged(data, "ping", PING)
    if outcome.ok:
        assert outcome.rtt and truth.rtt
        close(outcome.rtt.avg_ms, truth.rtt.avg_ms)
        close(outcome.rtt.max_ms, truth.rtt.max_ms, 0.05)
        assert outcome.rtt.received == truth.rtt.received


@pytest.mark.parametrize(
    "wrong,said",
    [
        (("time=0.063", "time=0.093"), "in the mean"),
        (("5 packets transmitted", "9 packets transmitted"), "% lost"),
        (("icmp_seq=3 ttl", "icmp_seq=364 bytes from fd93:2::1: icmp_seq=3 ttl"), "4 are there"),
    ],
)
def test_what_ping_s_last_lines_say_otherwise_is_no_result(wrong: tuple[str, str], said: str) -> None:
    text = (CAPTURES / "ping-linux" / "echo6.txt").read_text()
    assert wrong[0] in text
    outcome = tools.parse_saved("ping", text.replace(*wrong))
    assert not outcome.ok and said in outcome.reason


@pytest.mark.parametrize(
    "wrong,said",
    [
        (("THROUGHPUT=21031.20", "THROUGHPUT=51031.20"), "interim results make"),
        (("MEAN_LATENCY=47.40", "MEAN_LATENCY=97.40"), "each transaction"),
        (("P90_LATENCY=74", "P90_LATENCY=174"), "out of order"),
    ],
)
def test_transactions_that_contradict_themselves_are_no_result(wrong: tuple[str, str], said: str) -> None:
    text = (CAPTURES / "netperf-2.7.0-linux" / "rr-3-1.txt").read_text()
    assert wrong[0] in text
    outcome = tools.parse_saved("netperf", text.replace(*wrong))
    assert not outcome.ok and said in outcome.reason


def damaged(data: st.DataObject, tool: str, files: dict[Path, str]) -> tuple[Outcome, Outcome]:
    """A capture's outcome after one damage, and before it."""
    path = data.draw(st.sampled_from(sorted(files)))
    how = HOW if path.stem in ALONE else (*HOW, "digit")
    other = files[data.draw(st.sampled_from(sorted(files)))]
    outcome = tools.parse_saved(tool, data.draw(damaged_text.damage(files[path], how, other)))
    assert outcome.ok or outcome.reason
    return outcome, tools.parse_saved(tool, files[path])


def same_loss(outcome: Outcome, truth: Outcome) -> None:
    assert (outcome.lost is None) is (truth.lost is None)
    if outcome.lost is not None and truth.lost is not None and outcome.datagrams and truth.datagrams:
        close(outcome.lost / outcome.datagrams, truth.lost / truth.datagrams)


@pytest.mark.parametrize(
    "wrong,said",
    [
        (("136144      0     760.87", "13614       0     760.87"), "datagrams arrived, and 13614 were sent"),
        (("136144      0     760.87", "1361444     0     760.87"), "the sender's rate is"),
        (("136144      0     760.87", "136144      0     960.87"), "the sender's rate is"),
    ],
)
def test_datagrams_sent_that_contradict_their_rate_are_no_result(wrong: tuple[str, str], said: str) -> None:
    text = (CAPTURES / "netperf-2.7.0-linux" / "classic-udp.txt").read_text()
    assert wrong[0] in text
    outcome = tools.parse_saved("netperf", text.replace(*wrong))
    assert not outcome.ok and said in outcome.reason


def close(told: float | None, true: float | None, share: float = 0.021) -> None:
    if told is not None and true is not None:
        assert told == pytest.approx(true, rel=share, abs=0.0025)
