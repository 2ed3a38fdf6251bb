"""What is measured before a trial whose adapters have just started anew, and is not counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linkladder.model import End, Experiment, Fault, Leg, Protocol, Role, TrialResult
from linkladder.plan import DISCARDED

PROBE = Experiment("path-mtu", "ping", Protocol.DF)


def before_it(exp: Experiment) -> Iterator[Experiment]:
    """Packets as large as both ends have been set to take, then a short load of its own kind."""
    plain = replace(exp, settings=(), discard_first=False, ping_under_load=False, cores=None)
    mtu = next((s.mtu for s in exp.settings if s.mtu and set(s.ends) == set(End)), None)
    if mtu is not None:
        yield replace(PROBE, sizes=(mtu,), paths=exp.paths)
    yield replace(plain, warmup=0.0, duration=DISCARDED)


def discarded(seen: TrialResult) -> tuple[Leg, ...]:
    """The commands and outcome of the discarded load, as the trial after it keeps them."""
    return tuple(
        replace(g, role=Role.DISCARDED, commands=tuple(replace(c, role=f"discarded {c.role}") for c in g.commands))
        for g in seen.legs
        if g.role is Role.LOAD
    )


def carried(seen: TrialResult) -> bool:
    """Did the path carry what was sent?  A tool that is not there would not come by waiting."""
    return seen.ok or seen.fault is not Fault.PATH
