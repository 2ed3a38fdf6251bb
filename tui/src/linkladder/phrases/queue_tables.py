"""Puts the tables of receive and transmit queues into words."""

from __future__ import annotations

HEADS = ("Receive queue", "Came in", "Share", "Core", "Core busy")
SENDING_HEADS = ("Transmit queue", "Went out", *HEADS[2:])


def caption(sending: bool, way: str, experiment: str, repeat: int) -> str:
    kind = "Transmit" if sending else "Receive"
    return f"{kind} queues of the cards, {way}, in the fastest trial ({experiment}, repeat {repeat + 1})"


def by_one(end: str) -> str:
    return f"of {end} one queue sent nearly all"


def queue(end: str, card: str, number: int) -> str:
    return f"{end} {card} queue {number}"


def count(packets: int | None, interrupts: int | None) -> str:
    """As '812000 packets'; of drivers that count no packets of a queue, its interrupts."""
    if packets is not None:
        return f"{packets} packets"
    return "-" if interrupts is None else f"{interrupts} interrupts"
