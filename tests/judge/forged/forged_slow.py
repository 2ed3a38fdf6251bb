"""Honest runs that are slow: what each is told to be held by, and that the link is not blamed for an end's part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    TCP,
    UDP,
    Edit,
    Json,
    again,
    busy,
    contract,
    each,
    idle_rtt,
    interface,
    level,
    loaded_rtt,
    loss,
    scaled,
    together,
    without_arms,
    without_rungs,
)
from forged_words import CANNOT, FAIL, C, Rows

from linkladder.verdicts import LimiterKind

BACK = ("tcp-2s-default-reverse", "tcp-1s-default-reverse")


def slow_runs() -> Rows:
    one_way = without_arms(*DUPLEX)
    for name, more in (("", one_way), (", without UDP", without_arms(*DUPLEX, *UDP))):
        yield f"TCP grows to the end over 80 ms{name}", together(
            more, idle_rtt(80.0), slow(growing(0.2, 0.75), again(0.0), loaded_rtt(81.0), windows)
        ), CANNOT, C.WINDOW, LimiterKind.GROWTH  # fmt: skip
    steep = level(0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.9, 1.0)
    yield "a way of 200 ms on which TCP is full in the last seconds", together(
        one_way, idle_rtt(200.0), slow(steep, again(0.0), loaded_rtt(205.0), windows)
    ), CANNOT, C.WINDOW, LimiterKind.GROWTH  # fmt: skip
    yield "the window at the far end is small on a long way", together(
        one_way, idle_rtt(40.0), slow(scaled(0.4), again(0.0), loaded_rtt(40.2), held(0.95), windows)
    ), CANNOT, C.WINDOW  # fmt: skip
    yield "one core of the far end is full", together(
        one_way, idle_rtt(0.07), slow(scaled(0.5), again(0.0), loaded_rtt(0.3), busy(30.0, 99.0))
    ), CANNOT, C.BUSY_END, LimiterKind.RECEIVER  # fmt: skip
    yield "one core of the far end is full, and it receives one way alone", together(
        one_way, idle_rtt(0.07), each(BACK, scaled(0.5)), each(BACK, again(0.0)), each(BACK, loaded_rtt(0.3)),
        each(BACK, busy(99.0, 30.0)),
    ), CANNOT, C.BUSY_END, LimiterKind.RECEIVER  # fmt: skip
    yield "a fifth of both ends' CPU time was withheld", together(
        one_way, idle_rtt(0.07), slow(scaled(0.6), again(0.0), loaded_rtt(0.3), busy(60.0, 60.0, starved=0.2))
    ), CANNOT, C.BUSY_END, LimiterKind.SENDER  # fmt: skip
    sold = contract(port_bps=1e9, rate_bps=1e9)
    yield "the contract is above what the near card carries", together(
        sold, lambda d: interface(d, speed_bps=10**8)
    ), CANNOT, C.OWN_CARD, LimiterKind.OWN_CARD  # fmt: skip
    yield "the contract is above what the path carries", sold, FAIL, C.SHORT, LimiterKind.SHAPER
    yield "short without a sign, and no lower rung", together(
        without_rungs("localhost", "same-host", "same-vlan"), one_way, idle_rtt(0.07),
        slow(scaled(0.6), again(0.0), loaded_rtt(0.2)),
    ), CANNOT, C.UNKNOWN_GENERATOR  # fmt: skip
    yield "a queue holds one way", together(
        one_way, idle_rtt(0.07), each(BACK, scaled(0.6)), each(BACK, again(0.0)), each(BACK, loaded_rtt(40.0))
    ), FAIL, C.SHORT, LimiterKind.SHAPER  # fmt: skip
    yield "a queue holds both ways, and UDP above it is lost", together(
        one_way, idle_rtt(1.0), slow(scaled(0.6), again(0.001), loaded_rtt(60.0)), each(UDP, loss(0.2))
    ), FAIL, C.SHORT, LimiterKind.SHAPER  # fmt: skip
    yield "UDP is clean, and TCP loses some", together(
        one_way, idle_rtt(0.07), slow(scaled(0.6), again(0.004), loaded_rtt(0.2))
    ), FAIL, C.SHORT, LimiterKind.BURST  # fmt: skip
    yield "UDP is clean, and one stream loses some on a long way", together(
        without_arms(*BEST, *DUPLEX), idle_rtt(20.0), slow(scaled(0.3), again(0.0005), loaded_rtt(20.5), windows)
    ), FAIL, C.SHORT, LimiterKind.LOSS  # fmt: skip


def slow(*changes: Callable[[Json], Any]) -> Edit:
    return together(*(each(TCP, change) for change in changes))


def growing(first: float, last: float) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        steps = len(t["intervals"]) - 1
        level(*[first + (last - first) * k / steps for k in range(steps + 1)])(t)

    return change


def windows(t: Json) -> None:
    """As large as what is under way."""
    for i in t["intervals"]:
        if i["cwnd"] and i["rtt_ms"]:
            i["cwnd"] = round(i["bytes"] * i["rtt_ms"] / 1000 / (i["end"] - i["start"]))


def held(share: float) -> Callable[[Json], None]:
    """The receiver's window held the senders for this share of the time."""

    def change(t: Json) -> None:
        for seen in t["sockets"].values():
            for s in seen["sockets"]:
                sends = (s["sent_bytes"] or 0) > 1 << 20
                s.update(receiver_limited_ms=1000 * share * seen["t"] * sends)

    return change
