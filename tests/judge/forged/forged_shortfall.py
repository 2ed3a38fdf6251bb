"""Forgeries of a shortfall that is not the link's: whatever excuses too low a rate, and what does not."""

from __future__ import annotations

from collections.abc import Callable

from forge import (
    BEST,
    DUPLEX,
    HALF,
    TCP,
    Edit,
    Json,
    busy,
    card,
    each,
    interface,
    level,
    loss,
    scaled,
    silent,
    together,
    without_rungs,
)
from forged_below import below_carries
from forged_culprits import weak_generator
from forged_words import CANNOT, FAIL, C, Rows, failed

from linkladder.verdicts import LimiterKind

Change = Callable[[Json], None]
SHORT = each(TCP, scaled(0.7))
FELL = each(TCP, level(*[1.0] * 4, 0.7))  # full at first, then as low for good
OWN = LimiterKind.OWN_CARD


def excused_alike() -> Rows:
    """A rate that was full at first is excused by all that excuses one which never was."""
    yield "the rate fell to 70 %", FELL, FAIL, C.LEVEL_FELL
    for name, short in (("short", SHORT), ("the rate fell", FELL)):
        yield f"{name}, and nothing below was measured", together(
            without_rungs("localhost", "same-host", "same-vlan"), short
        ), CANNOT, C.UNKNOWN_GENERATOR  # fmt: skip
        yield f"{name}, and the rung inside one host has little headroom", together(short, weak_generator), CANNOT, (
            C.WEAK_GENERATOR
        )  # fmt: skip
        yield f"{name}, and the same VLAN carried no more", together(
            short, below_carries(0.7 * 95.6e6, "same-vlan")
        ), CANNOT, C.WEAK_GENERATOR  # fmt: skip
        for end, host in (("near", "near"), ("far", "beta")):
            yield f"{name}, and the {end} card runs half duplex", together(short, of_card(host, half_duplex=True)), (
                CANNOT
            ), C.OWN_CARD, OWN  # fmt: skip
            yield f"{name}, and the {end} card is a tenth as fast", together(short, of_card(host, speed_bps=1e7)), (
                CANNOT
            ), C.OWN_CARD, OWN  # fmt: skip
            yield f"{name}, and the {end} card sent pause frames", together(
                short, each(TCP, card(end, tx_pause=500))
            ), CANNOT, C.OWN_CARD, OWN  # fmt: skip
            yield f"{name}, and the {end} card's ring overflowed", together(
                short, each(TCP, card(end, rx_drops=500))
            ), CANNOT, C.OWN_CARD, OWN  # fmt: skip
            yield f"{name}, and a core of the {end} end was at 99 %", together(
                short, each(TCP, busy(**{end: 99.0}))
            ), CANNOT, C.LEVEL_FELL if short is FELL else C.BUSY_END  # fmt: skip


def not_as_printed() -> Rows:
    """The record tells of a fault, and the tools' own output that the record embeds of none."""
    silent_one = with_output(failed("path", "nothing arrived"))
    no_rate = with_output(lambda t: t.update(goodput_bps=0.0, by_direction=dict.fromkeys(t["by_direction"], 0.0)))
    for name, ids, repeats in (
        ("all of TCP", TCP, None), ("one trial of the best setting", BEST, (1,)), ("UDP at half the rate", HALF, None),
        ("one trial of UDP", HALF, (0,)), ("one trial both ways at once", DUPLEX, (2,)),
    ):  # fmt: skip
        yield f"{name}, said to have carried nothing, with its output", each(ids, silent_one, repeats), CANNOT, (
            C.RAW_OUTPUT
        )  # fmt: skip
        yield f"{name}, said to have carried nothing, without its output", each(
            ids, failed("path", "nothing arrived"), repeats
        ), FAIL, C.SILENCE  # fmt: skip
        yield f"{name}, of no rate, with its output", each(ids, no_rate, repeats), CANNOT, C.RAW_OUTPUT
    yield "a fifth of UDP said to be lost, with its output", each(HALF, with_output(loss(0.2))), CANNOT, C.RAW_OUTPUT
    yield "six seconds said to be dead, with their output", each(BEST, with_output(silent(2, 8)), (0,)), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "the rate said to have fallen, with its output", each(TCP, with_output(level(*[1.0] * 4, 0.7))), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "one trial said to be silent with its output, another without", together(
        each(BEST, silent_one, (0,)), each(BEST, failed("path", "nothing arrived"), (1,))
    ), FAIL, C.SILENCE  # fmt: skip
    yield "TCP said to be silent with its output, and UDP loses a fifth", together(
        each(BEST, silent_one, (0,)), each(HALF, loss(0.2))
    ), FAIL, C.SILENCE  # fmt: skip


def with_output(change: Change) -> Change:
    """The change, but the output of the tools stays."""

    def edit(t: Json) -> None:
        printed = t["commands"]
        change(t)
        t["commands"] = printed

    return edit


def of_card(host: str, **changes: object) -> Edit:
    return lambda d: interface(d, host, **changes)
