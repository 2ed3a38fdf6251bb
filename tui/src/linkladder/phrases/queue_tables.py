"""Puts the table of receive queues into words."""

from __future__ import annotations

HEADS = ("Receive queue", "Came in", "Share", "Core", "Core busy")


def caption(way: str, experiment: str, repeat: int) -> str:
    return f"Receive queues of the cards, {way}, in the fastest trial ({experiment}, repeat {repeat + 1})"


def queue(end: str, card: str, number: int) -> str:
    return f"{end} {card} queue {number}"


def count(packets: int | None, interrupts: int | None) -> str:
    """As '812000 packets'; of drivers that count no packets of a queue, its interrupts."""
    if packets is not None:
        return f"{packets} packets"
    return "-" if interrupts is None else f"{interrupts} interrupts"
