"""The directions as people are told them; their names in files are the words of linkladder.model."""

from __future__ import annotations

from linkladder.model import Direction

WAYS = {
    Direction.FORWARD: "near to far",
    Direction.REVERSE: "far to near",
    Direction.BOTH: "each way in turn",
    Direction.DUPLEX: "both ways at once",
}


def way(direction: str) -> str:
    """'near to far' for 'forward'; what is no direction stays as it is."""
    return WAYS[Direction(direction)] if direction in list(Direction) else direction
