"""Shortens names of appliances such that they can still be told apart."""

from __future__ import annotations

DEFAULT = 17  # characters of the name that an appliance is shipped with, such as linkladder-1b0100
TAIL = 6  # last characters, in which such names differ


def fitted(name: str, room: int) -> str:
    """The name, shortened such as 'linkla~1b0100' if it is longer than `room` characters."""
    if len(name) <= room:
        return name
    tail = min(TAIL, max(0, room - 2))
    return f"{name[: room - tail - 1]}~{name[len(name) - tail :]}"
