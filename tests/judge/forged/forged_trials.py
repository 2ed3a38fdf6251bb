"""Forgeries of single trials and seconds: what a mean, a repeat too few or a silent finding would hide."""

from __future__ import annotations

import copy
import random
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    HALF,
    SINGLE,
    TCP,
    Edit,
    Json,
    again,
    arms,
    busy,
    card,
    contract,
    each,
    idle_rtt,
    level,
    loaded_rtt,
    of_its_own,
    rung,
    scaled,
    silent,
    together,
    values,
    without_arms,
)
from forged_words import CANNOT, FAIL, INCOMPLETE, PASS, UNSURE, C, Rows, each_arm, failed, planned


def time() -> Rows:
    """What a mean hides."""
    yield "three seconds dead in one trial, the mean as before", each(BEST, silent(4, 7), (1,)), FAIL, C.OUTAGE
    yield "two seconds dead in one trial", each(BEST, silent(5, 7), (0,)), FAIL, C.OUTAGE
    yield "two seconds dead in UDP", each(HALF, silent(2, 4), (0,)), FAIL, C.OUTAGE
    yield "two seconds dead in an arm that does not count", each(SINGLE, silent(3, 5), (0,)), FAIL, C.OUTAGE
    yield "dead seconds while the hypervisor took the CPU", together(
        each(BEST, silent(4, 7), (1,)), each(BEST, busy(starved=0.3), (1,))
    ), CANNOT, C.OUTAGE  # fmt: skip
    yield "seconds left out of the record", each(BEST, gap(5, 8), (0,)), FAIL, C.OUTAGE
    yield "availability of 80 % is enough", together(
        contract(availability_percent=80.0), each(BEST, silent(4, 7), (1,))
    ), UNSURE, C.OUTAGE  # fmt: skip
    yield "full rate at first, then a plateau of 94.6 %", each(TCP, level(*[1.0] * 7, 0.946)), FAIL, C.LEVEL_FELL
    yield "full rate for 4 s, then 90 %", each(TCP, level(*[1.0] * 4, 0.9)), FAIL, C.LEVEL_FELL
    yield "one trial broken by the path", each(BEST, failed("path", "it stalled"), (1,)), FAIL, C.SILENCE
    yield (
        "every trial of the other arms broken by the path",
        each(SINGLE, failed("path", "it stalled")),
        FAIL,
        (C.SILENCE),
    )


def gap(first: int, last: int) -> Any:
    def change(t: Json) -> None:
        t["intervals"] = [i for i in t["intervals"] if not first <= i["start"] < last]

    return change


def repeats() -> Rows:
    """Every trial counts."""
    ten = together(more_repeats(10), each(BEST, scaled(0.94), (4,)))
    yield "one of ten repeats at 94 % of the ceiling", ten, CANNOT, C.WORST_TRIAL
    yield "ten good repeats", more_repeats(10), PASS, C.REACHED
    yield "one of three at 90 %", each(BEST, scaled(0.9), (1,)), CANNOT, C.SCATTERED
    yield "one of three at 50 %", together(each(BEST, scaled(0.5), (1,)), without_arms(*SINGLE)), CANNOT, C.SCATTERED
    yield "two of three failed by the tool", together(
        each(BEST, failed("tool", "bind failed"), (0, 1)), without_arms(*SINGLE)
    ), CANNOT, C.TRIALS_FAILED  # fmt: skip
    yield "three of five failed by the tool", together(
        more_repeats(5), each(BEST, failed("tool", "bind failed"), (0, 1, 2)), without_arms(*SINGLE)
    ), CANNOT, C.TRIALS_FAILED  # fmt: skip
    yield "one of three failed by the tool", together(
        each(BEST, failed("tool", "bind failed"), (0,)), without_arms(*SINGLE)
    ), UNSURE, C.REACHED  # fmt: skip
    yield "all failed by the tool", each(TCP, failed("tool", "bind failed")), INCOMPLETE, C.NOTHING_MEASURED
    yield "one repeat each", keep_repeats(1), UNSURE, C.REACHED
    yield "one repeat each in a plan of one", together(keep_repeats(1), planned(1)), UNSURE, C.REACHED
    two = together(keep_repeats(2), planned(2, (*TCP, *DUPLEX)))
    yield "two repeats that are alike, far above the bar", two, PASS, C.REACHED
    yield "two repeats that both reach the bar, a hundredth apart", together(
        two, without_arms(*SINGLE), each(BEST, scaled(0.985), (1,))
    ), CANNOT, C.SCATTERED  # fmt: skip
    yield "an interrupted run", together(keep_repeats(1), state("incomplete")), INCOMPLETE, C.TRIALS_MISSING
    yield "one direction only", without_arms(BEST[1], SINGLE[1], *DUPLEX), UNSURE, C.REACHED
    yield "one direction never got its turn", drop_trials(BEST[1], SINGLE[1], *DUPLEX), INCOMPLETE, C.NOTHING_MEASURED
    yield "UDP alone", without_arms(*TCP, *DUPLEX), INCOMPLETE, C.NOTHING_MEASURED
    yield "the link was never measured", unavailable("the peer was not reachable"), INCOMPLETE, C.NOTHING_MEASURED


def more_repeats(count: int) -> Edit:
    """More of the same, each with its own seconds."""

    def edit(d: Json) -> None:
        for e in arms(d, BEST):
            e["parameters"]["repeats"] = count
            for n in range(len(e["trials"]), count):
                t = copy.deepcopy(e["trials"][n % 3])
                later = f"2026-11-22T10:{30 + n}:{'00' if e['parameters']['id'] == BEST[0] else '30'}+00:00"
                t.update(id=f"{t['id']}-{n}", repeat=n, commands=[], started=later)
                anew(t, n)
                e["trials"].append(t)
        d["run"]["ended"] = "2026-11-22T11:00:00+00:00"
        planned(count, BEST)(d)

    return edit


def anew(t: Json, number: int) -> None:
    """Seconds, cards and ports of a trial of its own, with the mean that it had."""
    rng = random.Random(number)
    counted = [i for i in t["intervals"] if i["counted"]]
    moves = [1448 * rng.randint(-40, 40) for _ in counted]
    moves[-1] -= sum(moves)
    for i, moved in zip(counted, moves, strict=True):
        i["bytes"] += moved
    for i in t["intervals"]:
        if not i["counted"] and i["end"] - i["start"] > 0.5:
            i["bytes"] -= 1448 * rng.randint(1, 40)
    for f in t["flows"]:
        f.update(intervals=[], local_port=f["local_port"] + 10 * number)
    for seen in t["sockets"].values():
        for s in seen["sockets"]:
            for key in ("local_port", "remote_port"):
                s[key] += 10 * number if s[key] > 30000 else 0
    of_its_own(t, number)
    for counted_by in t["nics"].values():
        for key in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets"):
            counted_by[key] += rng.randint(1, 90)


def keep_repeats(count: int) -> Edit:
    def edit(d: Json) -> None:
        for r in d["rungs"]:
            for e in r["experiments"]:
                e["trials"] = e["trials"][:count]

    return edit


def drop_trials(*ids: str) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ids):
            e.update(trials=[], min_bps=None, median_bps=None, max_bps=None)

    return edit


def state(word: str) -> Edit:
    return lambda d: d["run"].update(state=word)


def unavailable(why: str) -> Edit:
    return lambda d: rung(d).update(unavailable=why, experiments=[])


def silent_things() -> Rows:
    """What no limit covers is said with its figure, and takes the firmness where it is grave."""
    yield "5 % of the segments sent again", each(TCP, again(0.05)), PASS, C.SEEN
    four = each_arm(streams=4)
    yield "a starved flow of four", together(four, each(TCP, four_flows(0.3))), PASS, C.UNEVEN
    yield (
        "a flow of four that carries nothing to speak of",
        together(each_arm(streams=4), each(TCP, four_flows(0.02))),
        UNSURE,
        C.UNEVEN,
    )
    yield "200 ms of queue", together(idle_rtt(10.0), each(TCP, loaded_rtt(210.0))), PASS, C.SEEN
    yield "CRC errors", each(BEST, card("far", crc_errors=3)), PASS, C.OWN_CARD
    yield "CRC errors in a hundredth of the frames", each(BEST, card("far", crc_errors=100)), UNSURE, C.OWN_CARD
    yield "receive errors", each(BEST, card("near", rx_errors=2)), PASS, C.OWN_CARD
    yield "pause frames", each(BEST, card("near", rx_pause=5)), PASS, C.OWN_CARD
    yield "pings lost beside TCP", each(TCP, lost_loaded(4)), PASS, C.PING_LOSS
    yield "a quarter of the pings lost beside TCP that lost nothing", each(TCP, lost_loaded(10)), UNSURE, C.PING_LOSS
    yield "more streams that carry less", each(BEST, scaled(0.4)), PASS, C.UNEVEN
    yield "full duplex never tried", without_arms(*DUPLEX), PASS, C.SEEN
    yield "a lower bar", contract(pass_ratio=0.8), PASS, C.SEEN
    yield (
        "hours between the trials",
        together(
            each(BEST[:1], values(started="2026-11-22T15:20:30+00:00"), (2,)),
            each(BEST[1:], values(started="2026-11-22T15:20:45+00:00"), (2,)),
            lambda d: d["run"].update(ended="2026-11-22T16:20:30+00:00"),
        ),
        PASS,
        C.SEEN,
    )


def four_flows(least: float) -> Any:
    def change(t: Json) -> None:
        first = t["flows"][0]
        total = sum(f["bps"] for f in t["flows"])
        shares = [least, 1.0, 1.0, 1.0]
        made = []
        for n, share in enumerate(shares):
            part = share / sum(shares)
            whole = sum(f["total_bytes"] for f in t["flows"])
            made.append({**first, "id": str(n), "bps": total * part, "bytes": round(total * part), "intervals": [],
                         "total_bytes": round(whole * part), "local_port": 40000 + n})  # fmt: skip
        t.update(flows=made, commands=[])

    return change


def lost_loaded(count: int) -> Any:
    def change(t: Json) -> None:
        if under := t.get("rtt_under_load"):
            under.update(received=40 - count, samples_ms=[])

    return change
