"""Forgeries of what the ends themselves did: their cards, cores, windows and counters, each beside a short link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    FORWARD,
    HALF,
    MOST,
    SINGLE,
    TCP,
    Json,
    again,
    busy,
    card,
    claim,
    each,
    idle_rtt,
    level,
    loaded_rtt,
    loss,
    scaled,
    together,
)
from forged_bands import QUIET
from forged_culprits import each_window, kept_from
from forged_shortfall import of_card
from forged_words import CANNOT, FAIL, C, Rows

from linkladder.verdicts import LimiterKind as L

SHORT = each(TCP, scaled(0.6))
TWO_WAYS = each(DUPLEX, scaled(0.6))
ENDS = (("near", "near"), ("far", "beta"))


def own_ends() -> Rows:
    for end, host in ENDS:
        for counter in ("tx_drops", "tx_errors", "rx_errors", "rx_pause"):
            yield f"short, and the {end} card counts thousands of {counter}", together(
                SHORT, each(TCP, card(end, **{counter: 5000}))
            ), CANNOT, C.OWN_CARD, L.OWN_CARD  # fmt: skip
            yield f"short, and the {end} card counts three of {counter}", together(
                SHORT, each(TCP, card(end, **{counter: 3}))
            ), FAIL, C.SHORT, L.SHAPER  # fmt: skip
        yield f"short, and the {end} card is a hundredth slower than what was sold", together(
            SHORT, of_card(host, speed_bps=9.9e7)
        ), CANNOT, C.OWN_CARD, L.OWN_CARD  # fmt: skip
        yield f"short, and the {end} card is as fast as what was sold", together(
            SHORT, of_card(host, speed_bps=1e8)
        ), FAIL, C.SHORT, L.SHAPER  # fmt: skip
        yield f"both ways at once at 60 %, the {end} card runs half duplex", together(
            TWO_WAYS, of_card(host, half_duplex=True)
        ), CANNOT, C.OWN_CARD  # fmt: skip
        yield f"both ways at once at 60 %, the {end} card sends pause frames", together(
            TWO_WAYS, each(DUPLEX, card(end, tx_pause=9000))
        ), CANNOT, C.OWN_CARD  # fmt: skip
        yield f"all four cores of the {end} end at 83 %, short for no known reason", together(
            QUIET, each(TCP, all_cores(end, 83.0))
        ), CANNOT, C.BUSY_END  # fmt: skip
        yield f"a core of the {end} end at 99 % in one repeat, short for no known reason", together(
            QUIET, each(TCP, busy(**{end: 99.0}), (1,))
        ), CANNOT, C.BUSY_END  # fmt: skip
        yield f"90 %, and 6 % of the {end} end's CPU withheld", together(
            each(TCP, scaled(0.9)), each(TCP, kept_from(end, 0.06))
        ), CANNOT, C.BUSY_END  # fmt: skip
        lost = each(TCP, card(end, carrier_lost=1))
        yield f"two seconds dead or slow, and the {end} card lost its link", together(
            each(TCP, level(1, 1, 1, 0.02, 0.06, 0.5, 1)), lost
        ), CANNOT, C.OWN_CARD  # fmt: skip
        yield f"all seconds slow, and the {end} card lost its link", together(SHORT, lost), FAIL, C.SHORT
        for percent, verdict in ((50.0, FAIL), (80.0, CANNOT), (99.0, CANNOT)):
            yield f"5 % of UDP lost, no card counted, cores of the {end} end at {percent:g} %", together(
                each(HALF, loss(0.05, "")), each(HALF, busy(**{end: percent}))
            ), verdict, C.UDP_LOSS if verdict is FAIL else C.WHO_LOST  # fmt: skip
    yield "two dead or slow seconds, and no card lost its link", each(TCP, level(1, 1, 1, 0.06, 0.06, 0.5, 1)), (
        FAIL
    ), C.SHORT  # fmt: skip


def windows_and_queues() -> Rows:
    waits = together(SHORT, each(TCP, loaded_rtt(25.0)))
    closed = each(TCP, tcp(zero_window_sent=50))
    yield "a queue without loss, and the receiver closed its window 50 times", together(
        waits, closed, each(TCP, again(0.0))
    ), CANNOT, C.BUSY_END, L.SHAPER  # fmt: skip
    yield "a queue that drops, and the receiver closed its window 50 times", together(
        waits, closed, each(TCP, again(0.002))
    ), FAIL, C.SHORT, L.SHAPER  # fmt: skip
    yield "a queue without loss, UDP loses above, and the receiver closed its window 50 times", together(
        waits, closed, each(TCP, again(0.0)), each(MOST, loss(0.35))
    ), FAIL, C.SHORT, L.SHAPER  # fmt: skip
    far = together(idle_rtt(60.0), each(TCP, loaded_rtt(60.5)))
    yield "a long way on which TCP grows to the end", together(far, each(TCP, growing), each(TCP, again(0.0))), (
        CANNOT
    ), C.WINDOW  # fmt: skip
    yield "a long way on which TCP grows to the end, and a core is at 99 %", together(
        far, each(TCP, growing), each(TCP, again(0.0)), each(TCP, busy(99.0))
    ), CANNOT, C.BUSY_END, L.GROWTH  # fmt: skip
    yield "a short way on which the rate grows to the end", together(
        idle_rtt(1.0), each(TCP, loaded_rtt(1.1)), each(TCP, growing), each(TCP, again(0.0))
    ), FAIL, C.SHORT, L.UNKNOWN  # fmt: skip
    way = together(idle_rtt(20.0), each(TCP, loaded_rtt(20.2)), each(TCP, again(0.0)))
    yield "a window of 64 kB at 20 ms and 27 %", together(way, each(TCP, scaled(0.27)), each_window(65536)), CANNOT, (
        C.WINDOW
    )  # fmt: skip
    yield "a window of 1 MB at 20 ms and 50 %", together(way, each(TCP, scaled(0.5)), each_window(1 << 20)), FAIL, (
        C.SHORT
    ), L.UNKNOWN  # fmt: skip
    yield "short one way, and a core is busy in the other way alone", together(
        each(FORWARD, scaled(0.6)), each(("tcp-2s-default-reverse", "tcp-1s-default-reverse"), busy(99.0))
    ), FAIL, C.SHORT  # fmt: skip
    yield "short, and a core is busy in the slower setting alone", together(
        SHORT, each(SINGLE, scaled(0.9)), each(SINGLE, busy(99.0))
    ), FAIL, C.SHORT  # fmt: skip
    yield "one of three repeats short, and its cards counted thousands of drops", together(
        each(BEST, scaled(0.9)), each(BEST, card("far", rx_drops=9000), (1,)), each(SINGLE, scaled(0.8))
    ), CANNOT, C.OWN_CARD  # fmt: skip


def tcp(**counts: int) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        for end in t["tcp"].values():
            end.update(counts)

    return change


def all_cores(end: str, percent: float) -> Callable[[Json], None]:
    use: dict[str, Any] = {"busiest": percent, "percent": percent, "cores_used": 4 * percent / 100}
    return lambda t: t["cpu"][end].update(use, per_core=[percent] * 4)


def growing(t: Json) -> None:
    before = sum(i["bytes"] for i in t["intervals"] if i["counted"])
    for n, i in enumerate(t["intervals"]):
        i["bytes"] = round(i["bytes"] * (0.2 + 0.6 * n / len(t["intervals"])))
    claim(sum(i["bytes"] for i in t["intervals"] if i["counted"]) / before)(t)
