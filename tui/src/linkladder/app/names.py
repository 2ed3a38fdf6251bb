"""Names of appliances where there is little room: what tells them from each other stays."""

from __future__ import annotations

DEFAULT = 17  # characters of the name that an appliance is shipped with, such as linkladder-1b0100
TAIL = 6  # of those, the ones in which two appliances differ


def fitted(name: str, room: int) -> str:
    """The name, or 'linkla~1b0100' where there is not room for all of it."""
    if len(name) <= room:
        return name
    tail = min(TAIL, max(0, room - 2))
    return f"{name[: room - tail - 1]}~{name[len(name) - tail :]}"
