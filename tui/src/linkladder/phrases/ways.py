"""Puts directions into words for people; files use the values of linkladder.model's enumeration."""

from __future__ import annotations

from linkladder.model import Direction

WAYS = {
    Direction.FORWARD: "near to far",
    Direction.REVERSE: "far to near",
    Direction.BOTH: "each way in turn",
    Direction.DUPLEX: "both ways at once",
}


def way(direction: str) -> str:
    """A direction in words, such as 'near to far' for 'forward'; any other text as it is."""
    return WAYS[Direction(direction)] if direction in list(Direction) else direction
