"""Puts the tables about a bundle into words; rates are also in bytes, as a file copy shows them."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Setting
from linkladder.phrases.arms import setting

FLOWS, TIMES_ONE, CARD = "Transfers at once", "Times one transfer", "Card"
SENT, RECEIVED = "sent", "received"
STATUS = "State of the bundles, as their systems told it before the run"
STATUS_HEADS = ("Bundle", "Mode", "Hash", "Card", "State", "Partner")


def transfers(count: int) -> str:
    return units.plural(count, "transfer")


def from_port(port: int) -> str:
    return f"Ports from {port}"


def of_members(members: int) -> str:
    if not members:
        return "Of the members"
    return "Of one link" if members == 1 else f"Of {members} members"


def what_transfers_get(way: str) -> str:
    return f"What one transfer gets and what several get at once, {way}: bits and bytes a second"


def what_cards_carry(way: str, lent: Sequence[Setting] = ()) -> str:
    with_it = "".join(f", {setting(one)}" for one in lent)
    return f"What each card of a bundle carried of it, {way}{with_it}, by its own counters"


def transfer(bps: float) -> str:
    """A rate in bits and in bytes, such as '941 Mb/s, 118 MB/s'."""
    return f"{units.rate(bps)}, {bytes_a_second(bps)}"


def part(bps: float, share: float) -> str:
    return f"{bytes_a_second(bps)}, {units.share(share)}"


def bytes_a_second(bps: float) -> str:
    return f"{bps / 8e6:.0f} MB/s" if bps >= 8e7 else f"{bps / 8e6:.2g} MB/s"
