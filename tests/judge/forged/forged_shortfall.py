"""Forgeries of a shortfall that is not the link's: whatever excuses too low a rate, and what does not."""

from __future__ import annotations

from forge import TCP, Edit, busy, card, each, interface, level, scaled, together, without_rungs
from forged_below import below_carries
from forged_culprits import weak_generator
from forged_words import CANNOT, FAIL, C, Rows

from linkladder.verdicts import LimiterKind

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


def of_card(host: str, **changes: object) -> Edit:
    return lambda d: interface(d, host, **changes)
