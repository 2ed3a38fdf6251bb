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
    idle_rtt,
    in_todays_form,
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
from forged_limits import path_mtu
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


def behind_a_card() -> Rows:
    """Losses and silences behind a card of an end's own, and the same that such a card does not explain."""
    dead = each(BEST, silent(2, 8), (0,))
    stalled = each(BEST, failed("path", "the transfer stalled"), (1,))
    lost = each(HALF, loss(0.05))
    pings = idle_rtt(0.07, 40, 30)
    for end, host in (("near", "near"), ("far", "beta")):
        half, none = of_card(host, half_duplex=True), of_card(host, carrier=False)
        for name, edit in (("6 dead seconds", dead), ("a stalled trial", stalled), ("5 % of UDP lost", lost)):
            yield f"{name}, the {end} card runs half duplex", together(edit, half), CANNOT, C.OWN_CARD
            yield f"{name}, the {end} card had no link", together(edit, in_todays_form(none)), CANNOT, C.OWN_CARD
        yield f"a quarter of the pings lost, the {end} card runs half duplex", together(pings, half), CANNOT, C.OWN_CARD
        yield f"nothing lost, the {end} card runs half duplex", half, CANNOT, C.OWN_CARD
        yield f"30 % of UDP lost, the {end} card is a tenth as fast", together(
            each(HALF, loss(0.3)), of_card(host, speed_bps=1e7)
        ), CANNOT, C.OWN_CARD  # fmt: skip
        yield f"6 dead seconds, the {end} card is a tenth as fast", together(dead, of_card(host, speed_bps=1e7)), (
            FAIL
        ), C.OUTAGE  # fmt: skip
        yield f"a black hole, the {end} card runs half duplex", together(path_mtu(1400, True), half), FAIL, C.PATH_MTU
    for name, counters in (("refused", {"rx_drops": 3000}), ("found damaged", {"rx_errors": 3000, "crc_errors": 3000})):
        for ids, end in ((HALF[:1], "far"), (HALF[1:], "near")):
            yield f"5 % of UDP lost, the {end} card {name} as many", together(
                each(ids, loss(0.05)), each(ids, card(end, **counters))
            ), CANNOT, C.WHO_LOST  # fmt: skip
    yield "5 % of UDP lost, the sending card found others damaged", together(
        each(HALF[:1], loss(0.05)), each(HALF[:1], card("near", rx_errors=3000, crc_errors=3000))
    ), FAIL, C.UDP_LOSS  # fmt: skip
    yield "5 % of UDP lost, the receiving card found a few damaged", together(
        each(HALF[:1], loss(0.05)), each(HALF[:1], card("far", rx_errors=30, crc_errors=30))
    ), FAIL, C.UDP_LOSS  # fmt: skip


def with_output(change: Change) -> Change:
    """The change, but the output of the tools stays."""

    def edit(t: Json) -> None:
        printed = t["commands"]
        change(t)
        t["commands"] = printed

    return edit


def of_card(host: str, **changes: object) -> Edit:
    def edit(d: Json) -> None:
        if "hosts" in d["run"]:
            interface(d, host, **changes)
        else:
            facts = next(end["facts"] for end in d["run"]["ends"] if end["name"] == host)
            next(nic for nic in facts["nics"] if nic["name"] == "dc0").update(changes)

    return edit
