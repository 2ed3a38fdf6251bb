"""Forgeries of what lies between two answers: cores more or less busy, windows of two kinds, a policer or none."""

from __future__ import annotations

from collections.abc import Callable

from forge import (
    BEST,
    FORWARD,
    HALF,
    MOST,
    SINGLE,
    TCP,
    Edit,
    Json,
    again,
    busy,
    each,
    idle_rtt,
    loaded_rtt,
    loss,
    rung,
    scaled,
    together,
    without_arms,
)
from forged_culprits import BACK, each_window
from forged_words import CANNOT, FAIL, C, Rows

from linkladder.verdicts import LimiterKind as L

SHORT = each(TCP, scaled(0.6))
QUIET = together(SHORT, each(TCP, again(0.0)), each(TCP, loaded_rtt(0.08)))  # nothing shows what limits


def busy_in_bands() -> Rows:
    """The busier a core, the less is held against the link, unless the path itself shows why it is short."""
    for end in ("near", "far"):
        for percent, verdict in (
            (50.0, FAIL),
            (74.0, FAIL),
            (80.0, FAIL),
            (84.9, FAIL),
            (85.1, CANNOT),
            (94.0, CANNOT),
        ):
            yield f"a queue, and a core of the {end} end at {percent:g} %", together(
                SHORT, each(TCP, busy(**{end: percent}))
            ), verdict, C.SHORT if verdict is FAIL else C.BUSY_END, L.SHAPER  # fmt: skip
        for percent, verdict in ((50.0, FAIL), (74.0, FAIL), (76.0, CANNOT), (84.9, CANNOT), (94.0, CANNOT)):
            yield f"short for no known reason, and a core of the {end} end at {percent:g} %", together(
                QUIET, each(TCP, busy(**{end: percent}))
            ), verdict, C.SHORT if verdict is FAIL else C.BUSY_END, L.UNKNOWN  # fmt: skip
    for percent, verdict, cause in ((60.0, FAIL, C.SHORT), (80.0, CANNOT, C.BUSY_END), (99.0, CANNOT, C.BUSY_END)):
        yield f"the same VLAN at 60 % for no known reason, a core at {percent:g} %", together(
            below(at_rate(0.6 * 95.6e6)), below(busy(percent)), below(again(0.0)), below(loaded_rtt(0.05)),
            below(no_drops),
        ), verdict, cause, None, "same-vlan"  # fmt: skip


def windows() -> Rows:
    """A window that was asked for limits only where the congestion window is not the smaller one."""
    way = together(
        idle_rtt(20.0), each_window(65536), without_arms(*SINGLE), each(BEST, scaled(0.5)), each(BEST, loaded_rtt(20.2))
    )
    for name, lost in (("a few lost", 4.5e-5), ("hardly any loss", 1e-4), ("some loss", 1e-3)):
        yield f"{name}, the congestion window below the window", together(
            way, each(BEST, again(lost)), each(BEST, congestion(40_000))
        ), FAIL, C.SHORT, L.LOSS if lost < 1e-3 else L.BURST  # fmt: skip
        yield f"{name}, the congestion window far above what is under way", together(
            way, each(BEST, again(lost)), each(BEST, congestion(140_000))
        ), CANNOT, C.WINDOW  # fmt: skip
    yield "no loss, the congestion window at the window", together(
        way, each(BEST, again(0.0)), each(BEST, congestion(70_000))
    ), CANNOT, C.WINDOW  # fmt: skip
    yield "no loss, and nobody told of the congestion window", together(
        way, each(BEST, again(0.0)), each(BEST, congestion(None))
    ), CANNOT, C.WINDOW  # fmt: skip
    yield "some loss, and nobody told of the congestion window", together(
        way, each(BEST, again(1e-3)), each(BEST, congestion(None))
    ), FAIL, C.SHORT, L.BURST  # fmt: skip


def policers() -> Rows:
    """A policer takes what is above its rate of paced UDP as well; one that takes nothing of it is none."""
    calm = each(TCP, loaded_rtt(0.08))
    for lost in (1e-4, 2e-4, 3e-4):
        yield f"TCP loses {lost:.2%}, paced UDP far above it nothing", together(SHORT, calm, each(TCP, again(lost))), (
            FAIL
        ), C.SHORT, L.UNKNOWN  # fmt: skip
    yield "TCP loses much, paced UDP far above it nothing", together(SHORT, calm, each(TCP, again(0.01))), (
        FAIL
    ), C.SHORT, L.BURST  # fmt: skip
    yield "TCP loses, a first second at twice the rate, paced UDP far above it nothing", together(
        SHORT, calm, each(TCP, again(2e-4)), each(TCP, first_second(1.9))
    ), FAIL, C.SHORT, L.UNKNOWN  # fmt: skip
    for share in (0.2, 0.35):
        yield f"TCP loses, paced UDP far above it {share:.0%}", together(
            SHORT, calm, each(TCP, again(0.01)), each(MOST, loss(share))
        ), FAIL, C.SHORT, L.POLICER  # fmt: skip
    for ids, way in ((FORWARD, "forward"), (BACK, "reverse")):
        yield f"{way}: TCP loses, paced UDP far above it nothing", together(
            each(ids, scaled(0.6)), each(ids, loaded_rtt(0.08)), each(ids, again(2e-4))
        ), FAIL, C.SHORT, L.UNKNOWN  # fmt: skip
    yield "TCP loses, and UDP loses as much far below and above it", together(
        SHORT, calm, each(TCP, again(0.005)), each((*HALF, *MOST), loss(0.005))
    ), FAIL, C.SHORT, L.LOSS  # fmt: skip


def below(change: Callable[[Json], None]) -> Edit:
    """The change, made to TCP on the same VLAN."""

    def edit(d: Json) -> None:
        for e in rung(d, "same-vlan")["experiments"]:
            for t in e["trials"] if e["parameters"]["protocol"] == "tcp" else ():
                change(t)

    return edit


def at_rate(bps: float) -> Callable[[Json], None]:
    """The cards' counters are never made less than a hundredth at once."""

    def change(t: Json) -> None:
        scaled(0.05)(t)
        scaled(bps * len(t["by_direction"]) / t["goodput_bps"])(t)

    return change


def no_drops(t: Json) -> None:
    for card in t["nics"].values():
        card["rx_drops"] = 0
    for end in t["tcp"].values():
        end["zero_window_sent"] = 0


def congestion(each_connection: int | None) -> Callable[[Json], None]:
    """The congestion window of each connection, as the tool told it each second."""

    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["cwnd"] = each_connection and each_connection * len(t["flows"])

    return change


def first_second(times: float) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["bytes"] = round(i["bytes"] * times) if i["start"] < 0.5 else i["bytes"]

    return change
