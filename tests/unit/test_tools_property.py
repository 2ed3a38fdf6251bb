"""Damaged, foreign and hostile output: never an exception, never a wrong number, always a result or a reason."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import damaged_text
from linkladder import tools
from linkladder.codec import to_json
from linkladder.model import Experiment, Interval, Outcome, Protocol
from linkladder.tools import Expectation
from tools_cases import EXPERIMENTS, MODERN, SHORT, TWO_ENDS, read, trial

CAPTURES = Path(__file__).parents[1] / "captures"
FOLDER = CAPTURES / "iperf-2.1.8-two-ends"
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
SAVED = [
    (tool, path.read_text())
    for tool, pattern in (
        ("iperf", "*/*server.txt"),
        ("iperf", "*/*client.txt"),
        ("iperf", "freebsd-15.1/iperf-*.txt"),
        ("netperf", "netperf-2.7.0-linux/*.txt"),
        ("netperf", "freebsd-15.1/netperf-*.txt"),
        ("ping", "ping-linux/*.txt"),
        ("ping", "freebsd-15.1/ping-*.txt"),
    )
    for path in sorted(CAPTURES.glob(pattern))
]
HOSTILE = [
    "[  1] 0.0000--1795226950.6558 sec  37.4 GBytes  0.000 bits/sec",
    "[SUM] 0.0000--1795226950.6558 sec  37.4 GBytes  0.000 bits/sec",
    "[  1] 1.0000-2.0000 sec  nan Bytes  nan bits/sec  1=1:0:0:0:0:0:0:0",
    "[  1] 1.0000-2.0000 sec  99999999999999999999999999 Bytes  99999999999999999999999 bits/sec",
    "[  1] 1.0000-2.0000 sec  -5 Bytes  -40 bits/sec",
    "[  1] 2.0000-1.0000 sec  100 Bytes  800 bits/sec",
    "[  1] 1e9-2e9 sec  100 Bytes  800 bits/sec",
    "[  1] 999999999.0000-999999999.9999 sec  100 Bytes  800 bits/sec",
    "[  1] 1.0000-2.0000 sec  388023[  2] 1.0000-2.0000 sec  424476152 Bytes  3395809216 bits/sec",
    "[  1] 0.0000-3.0000 sec  0.000 Bytes  0.000 bits/sec   -nan ms 5/3 (166%)",
    "[  1] 0.0000-1.0000 sec  100 Bytes  800 bits/sec   0.001 ms 7/3 (233%) -/-/-/- ms",
    "[SUM-4] 4.0000-5.0000 sec  0.000 Bytes  0.000 bits/sec  0/0 (0%)  0.000/340282346638528859811704183484516925440.0",
    "[ 99] local ::ffff:999.1.1.1 port 99999 connected with x port 5",
    "TCP window size: nan Byte (WARNING: requested -1 Byte)",
    "TCP window size: -1.00 Byte (default)tcp connect failed: Connection refused",
    "NETPERF_INTERIM_RESULT[0]=inf",
    "NETPERF_ENDING[0]=-1",
    "NETPERF_INTERVAL[0]=0.000",
    "THROUGHPUT=nan",
    "THROUGHPUT=1e400",
    "64 bytes from 10.0.0.2: icmp_seq=99999999999999999 ttl=64 time=nan ms",
    "64 bytes from 10.0.0.2: icmp_seq=7 ttl=64 time=99999999999999999999 ms",
    "-3 packets transmitted, 99 received",
    "19700101000000,10.99.0.1,40998,10.99.0.2,5001,2,2.0-1.0,0,0",
    "19700101000000,10.99.0.1,40998,10.99.0.2,5001,2,0.0-1.0,99999999999999999999,nan",
    "\x00\x1b[2J\ufffd",
    "[" * 500,
    "9" * 5000,
]


def sound(outcome: Outcome) -> None:
    """A result or a reason, with no number that is none."""
    assert outcome.ok or outcome.reason
    assert outcome.ok or outcome.fault
    assert not (outcome.ok and outcome.fault)

    def finite(value: object) -> None:
        if isinstance(value, dict):
            for v in value.values():
                finite(v)
        elif isinstance(value, list):
            for v in value:
                finite(v)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            assert math.isfinite(value)
            assert value >= 0

    finite(to_json(outcome))


def damage(text: str) -> st.SearchStrategy[str]:
    kinds = ("cut", "head", "drop", "repeat", "swap", "move", "reverse", "merge", "foreign", "digit", "twice")
    foreign = st.sampled_from(HOSTILE) | st.text(max_size=80)
    return damaged_text.damage(text, kinds, characters="0123456789.-", foreign=foreign)


@FEW
@given(st.data())
def test_saved_output_damaged(data: st.DataObject) -> None:
    tool, text = data.draw(st.sampled_from(SAVED))
    for _ in range(data.draw(st.integers(1, 4))):
        text = data.draw(damage(text))
    sound(tools.parse_saved(tool, text))


INDEPENDENT = {  # iperf's captures of one end: the bytes of every flow that runs, added up from its own last lines
    path: text
    for path in sorted(CAPTURES.glob("iperf-*/*.txt"))
    if (text := path.read_text()) and tools.parse_saved("iperf", text).ok
}


def last_lines(text: str) -> float:
    """Bits per second from the lines that begin at 0 and end last, read by nothing but a split at blanks."""
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for line in text.splitlines():
        id_, bracket, rest = line.partition("]")
        words = rest.replace("- ", "-").split()
        if not bracket or "SUM" in id_ or "FD" in id_ or len(words) < 4 or words[1] != "sec":
            continue
        start, _, end = words[0].partition("-")
        if float(start) == 0.0 and words[3].endswith("Bytes"):
            kind = "report" if " ms " in rest else ""
            found[id_, kind] = (float(words[2]) * units[words[3].removesuffix("Bytes")], float(end))
    reports = {k: v for k, v in found.items() if k[1]}
    ways: dict[bool, list[tuple[float, float]]] = {}
    for (id_, _), one in (reports or found).items():
        ways.setdefault("*" in id_, []).append(one)
    return sum(sum(count for count, _ in way) * 8 / max(end for _, end in way) for way in ways.values())


def test_saved_output_agrees_with_an_independent_reading() -> None:
    plain = {path: text for path, text in INDEPENDENT.items() if "csv" not in path.name}
    assert len(plain) > 30
    for path, text in plain.items():
        assert tools.parse_saved("iperf", text).goodput_bps == pytest.approx(last_lines(text), rel=0.01), path


@settings(FEW, max_examples=400, derandomize=True)
@given(st.data())
def test_saved_output_with_one_damage_gives_the_true_rate_or_none(data: st.DataObject) -> None:
    """Lines lost, doubled, swapped or merged, digits changed, the file cut or joined with another."""
    path = data.draw(st.sampled_from(sorted(INDEPENDENT)))
    text = INDEPENDENT[path]
    truth = tools.parse_saved("iperf", text)
    if data.draw(st.booleans()):
        text = data.draw(damage(text))
    else:
        text += data.draw(st.sampled_from(list(INDEPENDENT.values())))
    outcome = tools.parse_saved("iperf", text)
    sound(outcome)
    near_truth(outcome, truth)


@FEW
@given(st.sampled_from(list(tools.TOOLS)), st.lists(st.sampled_from(HOSTILE) | st.text(max_size=60), max_size=30))
def test_saved_output_of_nothing_but_noise(tool: str, lines: list[str]) -> None:
    outcome = tools.parse_saved(tool, "\n".join(lines))
    sound(outcome)


def near_truth(outcome: Outcome, truth: Outcome) -> None:
    """A damaged text may still give a result, but then the same one."""
    if outcome.ok:
        assert outcome.by_direction.keys() == truth.by_direction.keys()
        for way, bps in truth.by_direction.items():
            assert outcome.by_direction[way] == pytest.approx(bps, rel=0.021)
        assert (outcome.lost is None) is (truth.lost is None)
        if outcome.lost is not None and truth.lost is not None and outcome.datagrams and truth.datagrams:
            share = truth.lost / truth.datagrams
            assert outcome.lost / outcome.datagrams == pytest.approx(share, rel=0.021, abs=0.003)


@settings(FEW, max_examples=300)
@given(st.data())
def test_a_damaged_trial_gives_the_true_rate_or_none(data: st.DataObject) -> None:
    """Damage to one end's text; a digit may be wrong by what the rate beside it cannot show (2 %)."""
    name = data.draw(st.sampled_from(("tcp-p2", "reverse-p2", "duplex-p2", "udp-p2", "udpdown", "window")))
    exp = EXPERIMENTS[name]
    server, client = read(FOLDER, f"{name}.server.txt"), read(FOLDER, f"{name}.client.txt")
    if data.draw(st.booleans()):
        server = data.draw(damage(server))
    else:
        client = data.draw(damage(client))
    outcome = tools.finish(exp, tools.layout(exp, MODERN, MODERN), (server, ""), ((client, ""),), TWO_ENDS)
    sound(outcome)
    near_truth(outcome, trial(FOLDER, name))


@settings(FEW, max_examples=150)
@given(st.data())
def test_damaged_netperf_sessions(data: st.DataObject) -> None:
    exp = Experiment("x", "netperf", Protocol.RR, duration=2, warmup=1, sessions=3)
    where = tools.layout(exp, MODERN, MODERN)
    outs = [(CAPTURES / "netperf-2.7.0-linux" / f"rr-3-{n}.txt").read_text() for n in (1, 2, 3)]
    truth = tools.finish(exp, where, ("", ""), tuple((out, "") for out in outs), Expectation(exit_codes=(0, 0, 0)))
    which = data.draw(st.integers(0, 2))
    outs[which] = data.draw(damage(outs[which]))
    outcome = tools.finish(exp, where, ("", ""), tuple((out, "") for out in outs), Expectation(exit_codes=(0, 0, 0)))
    sound(outcome)
    if outcome.ok:
        assert outcome.transactions and truth.transactions
        assert outcome.transactions.rate == pytest.approx(truth.transactions.rate, rel=0.05)


@FEW
@given(st.data())
def test_live_never_raises_and_never_goes_back(data: st.DataObject) -> None:
    tool, text = data.draw(st.sampled_from(SAVED))
    text = data.draw(damage(text))
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + "\n" + data.draw(st.sampled_from(HOSTILE)) + "\n" + text[at:]
    exp = replace(SHORT, tool=tool, streams=data.draw(st.integers(1, 4)))
    if tool == "ping":
        exp = replace(exp, protocol=Protocol.ECHO)
    where = tools.layout(exp, MODERN, MODERN)
    for end in {where.client, where.server or where.client}:
        live = tools.live_parser(exp, where, end)
        shown: list[Interval] = []
        for line in text.splitlines():
            shown += live.feed(line)
            round_trip = live.round_trip(line)
            assert round_trip is None or math.isfinite(round_trip)
        starts = [i.start for i in shown]
        assert all(i.end >= i.start >= 0 and i.bytes >= 0 for i in shown)
        if tool == "iperf":
            assert starts == sorted(set(starts)), "each second once, in order"


CONTRADICT = {  # flows and seconds that the good lines know nothing of: no result is the right one
    line for line in HOSTILE if line.startswith(("[  1] 999999999", "[  1] 0.0000-3", "[  1] 0.0000-1", "[ 99] local"))
}


@pytest.mark.parametrize("line", HOSTILE)
def test_hostile_lines_among_good_ones_change_nothing(line: str) -> None:
    exp = EXPERIMENTS["tcp-p2"]
    where = tools.layout(exp, MODERN, MODERN)
    server, client = read(FOLDER, "tcp-p2.server.txt"), read(FOLDER, "tcp-p2.client.txt")
    good = trial(FOLDER, "tcp-p2")
    half = len(server.splitlines()) // 2
    lines = server.splitlines()
    mixed = "\n".join([*lines[:half], line, *lines[half:]])
    outcome = tools.finish(exp, where, (mixed, ""), ((client, ""),), TWO_ENDS)
    sound(outcome)
    assert outcome.ok is (line not in CONTRADICT), outcome.reason
    near_truth(outcome, good)


UDP_OF_A_CLIENT = [p for p, text in INDEPENDENT.items() if "UDP port" in text and "Client connecting" in text]


@pytest.mark.parametrize("path", UDP_OF_A_CLIENT, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_header_after_its_figures_is_no_result(path: Path) -> None:
    """What was sent would be taken for what was received, and both be added up."""
    lines = INDEPENDENT[path].splitlines(keepends=True)
    rows = [line for line in lines if line.startswith("[")]
    for text in ("".join([*rows, *(line for line in lines if line not in rows)]), "".join(reversed(lines))):
        outcome = tools.parse_saved("iperf", text)
        assert not outcome.ok and outcome.reason


def test_one_way_of_both_is_no_result() -> None:
    text = (CAPTURES / "iperf-2.1.8-debian" / "fullduplex.client.txt").read_text()
    lines = text.splitlines(keepends=True)
    for star in (True, False):
        kept = [line for line in lines if "sec " not in line or line.startswith("[ *") is star]
        outcome = tools.parse_saved("iperf", "".join(kept))
        assert not outcome.ok and "only one way" in outcome.reason


def test_what_a_silent_end_lost_is_known_from_its_sender_alone() -> None:
    """The receiver saw nothing after the last datagram; where the sender's count is gone nobody knows what was lost."""
    server, client = read(FOLDER, "udpdown.server.txt"), read(FOLDER, "udpdown.client.txt")
    exp = EXPERIMENTS["udpdown"]
    for gone, ok in (("Sent 7147 datagrams", True), ("0.0000-4.0", True), ("sec ", False)):
        text = "".join(line for line in client.splitlines(keepends=True) if gone not in line)
        text = text if ok else "".join(line for line in text.splitlines(keepends=True) if "Sent" not in line)
        outcome = tools.finish(exp, tools.layout(exp, MODERN, MODERN), (server, ""), ((text, ""),), TWO_ENDS)
        assert outcome.ok is ok, outcome.reason
        if ok and outcome.lost and outcome.datagrams:
            assert outcome.lost / outcome.datagrams == pytest.approx(0.6, abs=0.003)


def test_more_bytes_than_the_datagrams_hold_are_no_result() -> None:
    server, client = read(FOLDER, "udpdown.server.txt"), read(FOLDER, "udpdown.client.txt")
    exp = EXPERIMENTS["udpdown"]
    for wrong in ("0/786 (0%)", "0/17866 (0%)"):
        text = server.replace("0/1786 (0%)", wrong)
        outcome = tools.finish(exp, tools.layout(exp, MODERN, MODERN), (text, ""), ((client, ""),), TWO_ENDS)
        assert not outcome.ok and "datagram" in outcome.reason
