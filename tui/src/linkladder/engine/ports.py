"""Which port a trial uses: drawn at random, so that nobody can sit there waiting, and none again before all others."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from linkladder import wire

APART = 25  # draws between two uses of one port: the system remembers closed connections for a while


def ports() -> Iterator[int]:
    """Without end."""
    chance, drawn = secrets.SystemRandom(), list[int]()
    while True:
        shuffled = chance.sample(wire.PORTS, len(wire.PORTS))
        recent = set(drawn[-APART:])
        drawn = sorted(shuffled, key=lambda port: port in recent)  # stable: those used last go to the end
        yield from drawn
