"""Runs a short load before a trial whose settings have just restarted adapters; its result is not counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linkladder.engine.route import Route
from linkladder.model import End, Experiment, Fault, Leg, Outcome, PathMtu, Protocol, Role, TrialResult
from linkladder.model.settings import SMALLEST_MTU
from linkladder.plan import DISCARDED

FEW = 10  # pings, where the load is nothing else
SMALL = SMALLEST_MTU  # bytes that any path carries which answers pings at all
PROBE = Experiment("path-mtu", "ping", Protocol.DF)


def loads_before(exp: Experiment) -> Iterator[Experiment]:
    """What runs before the trial: pings of the MTU that it sets at both ends, then a short load of its own kind."""
    plain = replace(exp, settings=(), discard_first=False, ping_under_load=False, cores=None, on_cores=())
    mtu = next((s.mtu for s in exp.settings if s.mtu and set(s.ends) == set(End)), None)
    if mtu is not None:
        yield replace(PROBE, sizes=(mtu,), paths=exp.paths)
    count = min(exp.count, FEW) if exp.protocol is Protocol.ECHO else exp.count
    yield replace(plain, warmup=0.0, duration=DISCARDED, count=count)


def discarded(seen: TrialResult) -> tuple[Leg, ...]:
    """The commands and outcome of the discarded load, as the trial after it keeps them."""
    return tuple(
        replace(g, role=Role.DISCARDED, commands=tuple(replace(c, role=f"discarded {c.role}") for c in g.commands))
        for g in seen.legs
        if g.role is Role.LOAD
    )


def carried(seen: TrialResult) -> bool:
    """Whether the path carried the load; True for a missing tool as well, since waiting would not help there."""
    return seen.ok or seen.fault is not Fault.PATH


def blocked(size: int, seen: PathMtu | None, route: Route) -> Outcome | None:
    """Why a path that answers small packets, and after them none of that size, is not measured with such an MTU."""
    if seen is None or SMALL not in seen.passed or size in seen.passed:
        return None
    return Outcome(
        False,
        Fault.PATH,
        f"no packet of {size} bytes from {route.near.address} was answered by {route.far.address}, and packets of "
        f"{SMALL} bytes are: what lies between the two does not take an MTU of {size}",
    )
