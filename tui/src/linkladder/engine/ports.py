"""Draws each trial's port at random so that nobody can wait at it, and reuses a port as late as possible."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from itertools import islice

from linkladder import tools, wire
from linkladder.model import Experiment

APART = 25  # draws before a port is used again, because the system remembers closed connections for a while


def ports() -> Iterator[int]:
    """All test ports in random order, endlessly; recently used ones come late."""
    chance, drawn = secrets.SystemRandom(), list[int]()
    while True:
        shuffled = chance.sample(wire.PORTS, len(wire.PORTS))
        recent = set(drawn[-APART:])
        drawn = sorted(shuffled, key=lambda port: port in recent)  # stable: those used last go to the end
        yield from drawn


def ports_for(drawn: Iterator[int], exp: Experiment, legs: int) -> tuple[int, ...]:
    """A port for each leg of a trial; none of them is used by another leg's data connections.

    Where what was drawn leaves no room between them, they follow each other; a plan asks for no more than there are.
    """
    found, taken = [next(drawn)], set[int]()
    for port in islice(drawn, len(wire.PORTS)) if legs > 1 else ():
        taken.update((found[-1], *tools.named(exp.tool).data_ports(exp, found[-1])))
        if taken.isdisjoint((port, *tools.named(exp.tool).data_ports(exp, port))):
            found.append(port)
        if len(found) == legs:
            break
    return tuple(found) if len(found) == legs else _side_by_side(found[0], tools.ports_of(exp), legs)


def _side_by_side(first: int, each: int, legs: int) -> tuple[int, ...]:
    every = wire.PORTS
    return tuple(every[(first - every.start + each * leg) % len(every)] for leg in range(legs))
