"""Forgeries of runs over several pairs of ends and by other tools: kept documents with one fact changed.

Each pair's figures are held to what those of a single path are: cards, cores, seconds, commands and addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from forge_arms import both_at_once, paced_udp
from forge_long import lengthened, shaped
from forge_pairs import (
    ALONE,
    SIDE,
    Json,
    at_its_sockets,
    both_ways,
    busy_core,
    by_another_card,
    cards_of,
    client,
    copied,
    end,
    expecting,
    failed,
    failed_by_tool,
    held_by_window,
    idle_pings,
    kept,
    loads,
    lossy_udp,
    names_swapped,
    on_loopback,
    one_machine,
    outputs,
    pings,
    same_cards,
    scaled,
    scattered,
    shared,
    silent,
    without_last,
    without_link,
    without_pair,
    without_pair_in,
    without_seconds,
)
from forged_several import cards, mesh, several, sold

from linkladder import formats
from linkladder.judge import judge_document
from linkladder.verdicts import Cause as C

BOTH_WAYS = "v2/neighbours"  # recorded one way; the other way is made of it
Row = tuple[str, str, Callable[[Json], Any], str, C]


def pairs() -> Iterator[Row]:
    run = BOTH_WAYS
    yield run, "nothing", lambda d: None, "PASS", C.REACHED
    yield run, "one pair alone at 60 %, and nothing shows that its ends can", loads(scaled(0.6), ALONE), (
        "CANNOT JUDGE"
    ), C.UNKNOWN_GENERATOR  # fmt: skip
    yield run, "side by side at 60 %", loads(scaled(0.6), SIDE), "FAIL", C.SHORT
    yield run, "the second pair at 60 % side by side", loads(scaled(0.6), SIDE, 1), "FAIL", C.SHORT
    yield run, "nothing of a far end's CPU", loads(end("far", cpu=None), ALONE), "UNSURE", C.UNACCOUNTED
    yield run, "no counters of a near end", loads(end("near", nics=[]), SIDE, 1), "CANNOT JUDGE", C.UNACCOUNTED
    yield run, "no counters of a far end alone", loads(end("far", nics=[]), ALONE), "CANNOT JUDGE", C.UNACCOUNTED
    yield run, "the second pair is not there", without_pair, "INCOMPLETE", C.NOTHING_MEASURED
    yield run, "the second pair is not there in one repeat", without_pair_in(1), "UNSURE", C.CONTRADICTION
    yield run, "the second pair failed", loads(failed, SIDE, 1), "INCOMPLETE", C.PEER_LOST
    yield run, "they share twice as much", shared(3e8), "CANNOT JUDGE", C.WEAK_GENERATOR
    yield run, "they share half as much", shared(7.5e7), "IMPOSSIBLE", C.ABOVE_CEILING
    yield run, "the pairs' addresses changed places", lambda d: d["rungs"][-1]["paths"].reverse(), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "the pairs' loads changed places", loads(lambda _, leg: leg.update(path=1 - leg["path"])), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "one pair's flows on loopback", loads(on_loopback, path=1), "CANNOT JUDGE", C.ELSEWHERE
    yield run, "one repeat copied from another", copied, "CANNOT JUDGE", C.COPIED
    yield run, "one began three seconds later", loads(lambda _, leg: leg.update(began=3.0), SIDE, 1), (
        "CANNOT JUDGE"
    ), C.CONTRADICTION  # fmt: skip
    yield run, "one pair dead for seconds beside the other", loads(silent, SIDE, 1), "FAIL", C.OUTAGE
    yield run, "one pair dead for seconds alone", loads(silent, ALONE), "FAIL", C.OUTAGE
    yield run, "a far end was kept from 30 % of its CPU, at 60 %", loads(
        lambda t, leg: (scaled(0.6)(t, leg), t["ends"][leg["far"]]["cpu"].update(starved=0.3)), ALONE
    ), "CANNOT JUDGE", C.BUSY_END  # fmt: skip


def every_repeat() -> Iterator[Row]:
    """The pairs' verdict rests on medians; what they hide is told all the same."""
    run = BOTH_WAYS
    yield run, "one of three repeats of one pair alone at 60 %", loads(scaled(0.6), ALONE, repeat=1), (
        "CANNOT JUDGE"
    ), C.SCATTERED  # fmt: skip
    yield run, "one of three repeats side by side at 90 %", loads(scaled(0.9), SIDE, repeat=1), (
        "CANNOT JUDGE"
    ), C.SCATTERED  # fmt: skip
    yield run, "a promised repeat of each is not there", without_last, "UNSURE", C.TRIALS_MISSING
    yield run, "another class was sold", lambda d: d["run"]["plan"]["contract"].update(dscp=46), (
        "CANNOT JUDGE"
    ), C.NOT_AS_SOLD  # fmt: skip
    for path in (-7, 2):
        yield run, f"loads on path {path}", loads(lambda _, leg, n=path: leg.update(path=n), SIDE), (
            "INCOMPLETE"
        ), C.NOTHING_MEASURED  # fmt: skip
    yield run, "most bytes of one pair went by another card", loads(by_another_card, SIDE, 1), (
        "CANNOT JUDGE"
    ), C.UNACCOUNTED  # fmt: skip
    yield run, "the records of two ends have each other's names", loads(names_swapped, ALONE), (
        "CANNOT JUDGE"
    ), C.CONTRADICTION  # fmt: skip
    yield run, "no seconds of the pairs side by side", loads(without_seconds, SIDE), "UNSURE", C.UNACCOUNTED
    yield run, "no seconds of one pair side by side", loads(without_seconds, SIDE, 1), "CANNOT JUDGE", C.CONTRADICTION
    yield run, "paced UDP of the pairs lost 5 %", lossy_udp(0.05), "FAIL", C.UDP_LOSS
    yield run, "paced UDP of the pairs lost nothing", lossy_udp(0.0), "PASS", C.REACHED
    yield run, "paced UDP of the second pair lost 0.19 %", lossy_udp(0.0, 0.0019), "FAIL", C.UDP_LOSS
    for full, verdict, cause in ((2.0, "PASS", C.REACHED), (0.0, "CANNOT JUDGE", C.WHO_LOST)):
        yield run, f"{full:g} times the 5 % lost of the second pair's UDP at its end's full sockets", (
            lambda d, full=full: (lossy_udp(0.0, 0.05)(d), loads(at_its_sockets(full), "udp-neighbours", 1)(d))
        ), verdict, cause  # fmt: skip
    yield run, "the other pair's far end counts what the second pair's UDP lost", (
        lambda d: (lossy_udp(0.0, 0.05)(d), loads(end("far", udp_dropped=10**5), "udp-neighbours", 0)(d))
    ), "FAIL", C.UDP_LOSS  # fmt: skip


def each_trial() -> Iterator[Row]:
    """What happened to one pair in one trial is not made good by its other trials, nor by the other pair."""
    run = BOTH_WAYS
    lone = "alone-gamma-delta"
    yield run, "one of three repeats alone stalled by the path", loads(failed, lone, repeat=1), "FAIL", C.SILENCE
    yield run, "a card without link while one repeat alone stalled", (
        lambda d: (loads(failed, lone, repeat=1)(d), loads(without_link, lone, repeat=1)(d))
    ), "CANNOT JUDGE", C.OWN_CARD  # fmt: skip
    for repeats, verdict, cause in (((1,), "UNSURE", C.REACHED), ((0, 1), "CANNOT JUDGE", C.TRIALS_FAILED)):
        yield run, f"{len(repeats)} of three repeats alone failed by the tool", (
            lambda d, repeats=repeats: [loads(failed_by_tool, lone, repeat=n)(d) for n in repeats]
        ), verdict, cause  # fmt: skip
    for name, edit in (("stalled by the path", failed), ("dead for seconds", silent)):
        yield run, f"one pair alone {name}, its far card runs half duplex", (
            lambda d, edit=edit: (loads(edit, lone)(d), cards_of("delta", half_duplex=True)(d))
        ), "CANNOT JUDGE", C.OWN_CARD  # fmt: skip
    yield from of_cards()
    yield run, "one pair alone at 60 %, held by its receiver's window", held_by_window, "CANNOT JUDGE", C.WINDOW
    yield run, "a quarter of the quicker path's pings lost", (
        lambda d: (idle_pings(pings(0.1, came=30), 0)(d), idle_pings(pings(0.5), 1)(d))
    ), "FAIL", C.PING_LOSS  # fmt: skip
    yield run, "the quicker path is another way than the one expected", (
        lambda d: (expecting(10.0)(d), idle_pings(pings(10.0), 0)(d), idle_pings(pings(0.1), 1)(d))
    ), "CANNOT JUDGE", C.ELSEWHERE  # fmt: skip
    yield run, "the ends of the second pair have the same cards", same_cards, "CANNOT JUDGE", C.ELSEWHERE
    yield run, "the near ends of both pairs are one machine", one_machine, "CANNOT JUDGE", C.ELSEWHERE


def of_cards() -> Iterator[Row]:
    """The card of one pair excuses what that pair loses, and nothing of the other."""
    lone, few, dead = "alone-gamma-delta", pings(0.5, came=30), shaped(1, 1, 0.0, 0.0, 0.0, 1.6, 1.6, 1.6, 1.6, 1.6)
    losses: tuple[tuple[str, Callable[[Json], Any], C], ...] = (
        ("stalled by the path", loads(failed, lone), C.SILENCE),
        ("dead for seconds alone", loads(silent, lone), C.OUTAGE),
        ("dead for seconds side by side", loads(silent, SIDE, 1), C.OUTAGE),
        ("lost 5 % of its UDP", lossy_udp(0.0, 0.05), C.UDP_LOSS),
        ("lost a quarter of its pings", idle_pings(few, 1), C.PING_LOSS),
        (
            "jitters",
            lambda d: (paced_udp("alone-", 0.0)(d), sold(jitter_ms=5.0)(d), loads(jittery, "udp", 1)(d)),
            C.JITTER,
        ),
        ("stalled both ways at once", both_at_once(lone, fault="path"), C.SILENCE),
        ("carried 30 % both ways at once", both_at_once(lone, 0.3), C.SHORT),
    )
    for name, edit, cause in losses:
        for end_, verdict, why in (("delta", "CANNOT JUDGE", C.OWN_CARD), ("beta", "FAIL", cause)):
            yield BOTH_WAYS, f"gamma and delta {name}, the card of {end_} runs half duplex", (
                lambda d, edit=edit, end_=end_: (edit(d), cards_of(end_, half_duplex=True)(d))
            ), verdict, why  # fmt: skip
    for gone, verdict in (("its own", "CANNOT JUDGE"), ("the other's", "FAIL")):
        yield BOTH_WAYS, f"the second pair dead for seconds, {gone} card lost its link", (
            lambda d, gone=gone: (
                (lengthened(10)(d), loads(dead, SIDE, 1)(d)), loads(without_link, SIDE, gone == "its own")(d)
            )
        ), verdict, C.OUTAGE  # fmt: skip
    for lost, verdict, why in ((True, "CANNOT JUDGE", C.OWN_CARD), (False, "FAIL", C.SHORT)):
        yield BOTH_WAYS, f"the sum is short by a dead second, {'a' if lost else 'no'} card lost its link", (
            lambda d, lost=lost: (
                (lengthened(10)(d), loads(shaped(1, 1, 0.0, 1), SIDE, 1)(d)), lost and loads(without_link, SIDE, 1)(d)
            )
        ), verdict, why  # fmt: skip
    yield BOTH_WAYS, "both pairs dead for seconds, one card runs half duplex", (
        lambda d: (loads(silent, SIDE)(d), cards_of("beta", half_duplex=True)(d))
    ), "FAIL", C.OUTAGE  # fmt: skip
    yield BOTH_WAYS, "each pair with its own MTU", (
        lambda d: [cards_of(name, mtu=9000)(d) for name in ("gamma", "delta")]
    ), "PASS", C.REACHED  # fmt: skip


def jittery(_: Json, leg: Json) -> None:
    leg["outcome"]["jitter_ms"] = 50.0


def not_sure() -> Iterator[Row]:
    """Too little, but an interval contains the bar, or an end had hardly a core to spare."""
    run = "v2/neighbours"
    yield run, "side by side at 93 to 99 %", scattered(SIDE, 0.99, 0.93, 0.96), "CANNOT JUDGE", C.SCATTERED
    yield run, "the second pair at 86 to 98 % side by side", scattered(SIDE, 0.98, 0.86, 0.9, path=1), (
        "CANNOT JUDGE"
    ), C.SCATTERED  # fmt: skip
    yield run, "side by side at 89 to 91 %", scattered(SIDE, 0.91, 0.89, 0.9), "FAIL", C.SHORT
    for which in ("near", "far"):
        for percent, verdict, cause in ((93.0, "CANNOT JUDGE", C.BUSY_END), (60.0, "FAIL", C.SHORT)):
            yield run, f"side by side at 60 %, a core of a {which} end at {percent:g} %", (
                lambda d, which=which, percent=percent: (
                    loads(scaled(0.6), SIDE)(d), loads(busy_core(which, percent), SIDE, 1)(d)
                )
            ), verdict, cause  # fmt: skip
        yield run, f"one pair alone at 60 %, a core of a {which} end at 93 %", (
            lambda d, which=which: (loads(scaled(0.6), ALONE)(d), loads(busy_core(which, 93.0), ALONE)(d))
        ), "CANNOT JUDGE", C.BUSY_END  # fmt: skip


def tools() -> Iterator[Row]:
    run = "v2/tools"
    yield run, "nothing", lambda d: None, "UNSURE", C.REACHED
    yield run, "iperf3 carried 60 %, and only the near end's loopback was measured", loads(
        scaled(0.6), tool="iperf3"
    ), "CANNOT JUDGE", C.UNKNOWN_GENERATOR  # fmt: skip
    yield run, "iperf3's figures are not its output's", loads(scaled(0.9, raw=True, cards=False), tool="iperf3"), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "half of iperf3's output", loads(outputs(lambda text: text[: len(text) // 2]), tool="iperf3"), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    error = ',"error":"control socket has closed unexpectedly"}'
    yield run, "iperf3's output tells of an error", loads(
        outputs(lambda text: text.rstrip().removesuffix("}") + error), tool="iperf3"
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip
    yield run, "iperf3 was run the other way", loads(
        client(lambda argv: [*argv, "-R"]), tool="iperf3", direction="forward"
    ), "CANNOT JUDGE", C.NOT_AS_SOLD  # fmt: skip
    yield run, "iperf3 was not run the other way", loads(
        client(lambda argv: [word for word in argv if word != "-R"]), tool="iperf3", direction="reverse"
    ), "CANNOT JUDGE", C.NOT_AS_SOLD  # fmt: skip
    yield run, "netperf's figure is more than the link carries", loads(
        scaled(1.1, raw=True), tool="netperf", protocol="tcp"
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip
    netperf = {"tool": "netperf", "protocol": "tcp"}
    yield run, "netperf's figure is less than its output's", loads(scaled(0.95, raw=True, cards=False), **netperf), (
        "CANNOT JUDGE"
    ), C.RAW_OUTPUT  # fmt: skip
    yield run, "a digit of netperf's total is another", loads(
        outputs(lambda text: text.replace("LOCAL_BYTES_RECVD=7", "LOCAL_BYTES_RECVD=6")), **netperf
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip
    yield run, "a digit of netperf's total is another, and its server printed nothing", loads(
        lambda _, leg: [c.update(output=_of_client(c)) for c in leg["commands"]], **netperf
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip
    yield run, "a digit of one session's transactions is another", loads(
        outputs(lambda text: text.replace("THROUGHPUT=152", "THROUGHPUT=192")), tool="netperf", protocol="rr"
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip


def _of_client(command: Json) -> str:
    said: str = command["output"]
    return "" if command["role"] == "server" else said.replace("LOCAL_BYTES_RECVD=7", "LOCAL_BYTES_RECVD=6")


def of_each_load() -> Iterator[Row]:
    """What the sum of several loads, or the slowest path, hides."""
    yield BOTH_WAYS, "two loads' rates changed places, their sum is as before", changed_places("neighbours"), (
        "CANNOT JUDGE"
    ), C.CONTRADICTION  # fmt: skip
    yield BOTH_WAYS, "more pings of one path answered than sent, the other is slower", loads(
        lambda _, leg: leg["outcome"]["rtt"].update(received=leg["outcome"]["rtt"]["sent"] + 5), "round-trip", 0
    ), "CANNOT JUDGE", C.CONTRADICTION  # fmt: skip
    yield BOTH_WAYS, "the client of one path was run to the other path's end", loads(
        lambda _, leg: [c["argv"].append("10.98.13.1") for c in leg["commands"] if c["role"] == "client"], "alone", 0
    ), "CANNOT JUDGE", C.RAW_OUTPUT  # fmt: skip


def changed_places(arm: str) -> Callable[[Json], None]:
    """The rates of a trial's first two loads, without their seconds and without output."""

    def edit(d: Json) -> None:
        for t in (t for e in d["rungs"][-1]["experiments"] if arm in e["parameters"]["id"] for t in e["trials"]):
            first, second = [leg["outcome"] for leg in t["legs"] if leg["role"] == "load"][:2]
            for key in ("goodput_bps", "by_direction"):
                first[key], second[key] = second[key], first[key]
            for leg in t["legs"]:
                leg["commands"] = []

    return edit


ROWS = [*pairs(), *every_repeat(), *each_trial(), *not_sure(), *tools(), *of_each_load()]
ROWS += [(BOTH_WAYS, *row) for row in several()]
ROWS += [("v2/two-paths", *row) for row in cards()] + [("v2/mesh", *row) for row in mesh()]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_forgery(row: Row) -> None:
    name, _, edit, verdict, cause = row
    made = kept(name)
    if name == BOTH_WAYS:
        both_ways(made)
    edit(made)
    judged = judge_document(formats.document(made))
    link = judged.rungs[-1].judgement
    got = "UNSURE" if link.verdict == "PASS" and link.provisional else str(link.verdict)
    causes = {link.cause} if link.verdict != "PASS" else {link.cause, *(c.cause for c in link.concerns)}
    assert (got, cause) == (verdict, cause if cause in causes else link.cause), judged.sentence
