"""What the judge says to people: one name for each direction, and no percentage without of-what."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from judge_documents import GIGABIT, GOOD, F, R, both, df, document, failed, ladder, ping, rung, tcp, trial, udp
from linkladder.judge import compare, judge_document
from linkladder.model import CpuUse, Direction, Document, Fault, Interval, PathMtu, Rtt, RungName, TcpCounters
from linkladder.report import page_text
from plain import faults

NAMES = {"experiment", "best_experiment", "direction", "plan", "trial", "which", "protocol", "a", "b", "rung"}
LINK = RungName.DC_LINK


def sentences(said: Any, name: str = "") -> Iterator[str]:
    """Every text for people in a judgement; what names a thing in files is none."""
    if isinstance(said, str):
        if name not in NAMES:
            yield str(said)
    elif dataclasses.is_dataclass(said):
        for field in dataclasses.fields(said):
            yield from sentences(getattr(said, field.name), field.name)
    elif isinstance(said, dict):
        for value in said.values():
            yield from sentences(value, name)
    elif isinstance(said, tuple):
        for value in said:
            yield from sentences(value, name)


def link(*experiments: Any, **more: Any) -> Document:
    return document(both(RungName.SAME_HOST, 4e9), rung(LINK, *experiments), **more)


def tcp_both(bps: float, **more: Any) -> tuple[Any, ...]:
    return tuple(tcp(way, tuple(trial(bps, way, n, **more) for n in range(3))) for way in (F, R))


def lossy(bps: float, again: int, **more: Any) -> tuple[Any, ...]:
    sent = {"near": TcpCounters(1_000_000, again), "far": TcpCounters(1_000_000, again)}
    return tcp_both(bps, tcp=sent, **more)


def dipping(way: Direction) -> tuple[Interval, ...]:
    """Ten counted seconds, of which one carries next to nothing."""
    return tuple(Interval(t, t + 1.0, int((1e6 if t == 7 else 1.05e9) / 8), way, t >= 3) for t in range(13))


SMALL = PathMtu((1280,), (1500,), 1280, black_hole=True)
QUICK = Rtt(50, 50, 9.0, 9.1, 9.4, 9.1, 9.3, 0.1)
SLOW = Rtt(50, 50, 20.0, 30.0, 60.0, 30.0, 50.0, 1.0)
STARVED = {"near": CpuUse(50.0, 60.0, 2.0, starved=0.4), "far": CpuUse(30.0, 40.0, 1.0)}
BOTH_WAYS = trial(GOOD * 2, by_direction={"forward": GOOD, "reverse": GOOD * 0.8})
DOCUMENTS = {
    "good": ladder(GOOD),
    "short": ladder(GOOD, 300e6),
    "above": ladder(1.2e9),
    "one repeat": ladder(GOOD, repeats=1),
    "weak generator": ladder(GOOD, headroom=1.1e9),
    "scattered": link(*(tcp(w, tuple(trial(v, w, n) for n, v in enumerate((6e8, 9e8, GOOD)))) for w in (F, R))),
    "dead": link(*tcp_both(GOOD)[:1], tcp(R, (failed(Fault.PATH, "nothing came back"),))),
    "dead inside one host": document(rung(RungName.LOCALHOST, tcp(F, (failed(Fault.PATH, "nothing came"),)))),
    "one way": link(*tcp_both(GOOD)[:1]),
    "not measured": link(tcp(F, (failed(Fault.TOOL, "refused"),)), tcp(R, (failed(Fault.TOOL, "refused"),))),
    "busy sender": link(*tcp_both(6e8, busy=(99.0, 40.0))),
    "both busy": link(*tcp_both(6e8, busy=(98.0, 99.0))),
    "starved": link(*tcp_both(6e8, cpu=STARVED)),
    "loss": link(ping(10.0), *lossy(6e8, 9000), udp(F, 4e8, 3.96e8), udp(F, 9e8, 8.9e8)),
    "policer": link(ping(10.0), *lossy(6e8, 9000), udp(F, 4e8, 4e8), udp(F, 9e8, 6e8)),
    "lost alike": link(ping(10.0), *lossy(2e8, 9000), udp(F, 4e8, 3.96e8), udp(F, 9e8, 5e8)),
    "bursts": link(ping(10.0), *lossy(6e8, 9000), udp(F, 5e8, 5e8), udp(R, 5e8, 5e8)),
    "loss or policer": link(ping(10.0), *lossy(6e8, 9000)),
    "queue": link(ping(10.0), *lossy(6e8, 900, rtt_under_load=SLOW)),
    "queue inside": link(ping(10.0), *lossy(6e8, 0, busy=(90.0, 20.0), rtt_under_load=SLOW, far_rtt_under_load=QUICK)),
    "udp": link(udp(F, 9e8, 8e8), udp(R, 9e8, 8e8, busy=(99, 99)), udp(F, 2e9, 9e8)),
    "path mtu": link(*tcp_both(GOOD), df(F, SMALL), df(R, dataclasses.replace(SMALL, black_hole=False))),
    "both ways": link(*tcp_both(GOOD), tcp(Direction.DUPLEX, (BOTH_WAYS,))),
    "little asked": link(*tcp_both(GOOD), contract=dataclasses.replace(GIGABIT, pass_ratio=0.6)),
    "lost on the way": document(both(RungName.SAME_HOST, 4e9), both(RungName.SAME_VLAN, 3.5e9), both(LINK, 6e8)),
    "figures that disagree": link(*tcp_both(GOOD, goodput_bps=GOOD * 2, by_direction={"forward": 2e9, "reverse": 2e9})),
    "few seconds": link(*tcp_both(GOOD, intervals=BOTH_WAYS.intervals[:6])),
    "a dip": link(*(tcp(way, (trial(GOOD, way, intervals=dipping(way)),)) for way in (F, R))),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_the_judge_says_is_plain(name: str) -> None:
    said = [*sentences(judge_document(DOCUMENTS[name]))]
    assert any(len(text) > 30 for text in said)
    for text in said:
        assert not faults(text), text


def test_the_documents_reach_what_the_rule_is_for() -> None:
    """Each way to say a percentage or a direction is met at least once."""
    said = " ".join(text for d in DOCUMENTS.values() for text in sentences(judge_document(d)))
    for words_of in (
        "% of the ceiling", "% of their mean", "% of the result", "% of the segments", "% of all", "% of it was lost",
        "% busy", "% and 99 % busy", "CPU time withheld", "paced UDP loses", "% of its segments", "alike",
        "about as TCP does", "of it is usual", "that the link can carry is lost", "near to far", "Only near to far",
        "Near to far: ", "The path MTU was not probed (near to far and far to near)",
        "Path MTU black hole, near to far", "(far to near)",
        "TCP, 4 streams, default window, near to far, repeat 1: only 3.0 of 10 s",
        "TCP, 4 streams, default window, far to near, repeat 1: one second far",
    ):  # fmt: skip
        assert words_of in said, words_of


def test_two_runs_are_compared_in_plain_words() -> None:
    for a, b in ((9e8, 7e8), (9e8, 9.001e8)):
        for repeats in (1, 3):
            found = compare(ladder(a, repeats=repeats), ladder(b, repeats=repeats))
            said = [*sentences(found)]
            assert any("near to far" in text for text in said)
            for text in said:
                assert not faults(text), text


def test_the_report_says_which_names_files_have_for_a_direction() -> None:
    said = page_text.between(DOCUMENTS["good"].run)
    assert said.endswith("in files near to far is called forward, far to near reverse")
