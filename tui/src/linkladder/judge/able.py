"""Finds the ends that have shown that they can send, or receive, the rate sold; any other end may itself be too slow.

Needs TCP trials in one direction: the loopback loads the near end's sending and receiving, a path loads one end's
sending and the other's receiving. A rung inside one host must show HEADROOM times the rate sold; any other rung, the
judged one included, must show the rate that the verdict requires.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from linkladder.judge.accounts import accounts
from linkladder.judge.ceilings import ceiling, rate_sold
from linkladder.judge.circumstances import GENERATOR, HEADROOM
from linkladder.judge.evidence import direction_bps, ways
from linkladder.model import Contract, Direction, Document, End, Path, Protocol, Role, RungName, RungResult

ORDER = tuple(RungName)


@dataclass(frozen=True)
class Able:
    """The names of the ends that have shown it."""

    senders: frozenset[str] = frozenset()
    receivers: frozenset[str] = frozenset()

    def __or__(self, other: Able) -> Able:
        return Able(self.senders | other.senders, self.receivers | other.receivers)

    def lacking(self, path: Path, way: Direction) -> tuple[str, ...]:
        """The sender or the receiver of `path` in direction `way`, or both, if they have not shown it."""
        sender, receiver = path.ends(way)
        known = (sender, self.senders), (receiver, self.receivers)
        return tuple(name for name, able in known if name not in able)


NOBODY = Able()


def able_below(rung: RungResult, document: Document, deal: Contract) -> Able:
    """The ends that the rungs below `rung` show to be able; rungs with doubtful figures do not count."""
    found = Able()
    for below in document.rungs:
        lower = ORDER.index(below.name) < ORDER.index(rung.name)
        if lower and not below.unavailable and not accounts(below, document):
            inside = below.name in GENERATOR
            found |= able_on(below, HEADROOM * rate_sold(deal) if inside else deal.pass_ratio * ceiling(deal).bps)
    return found


def able_on(rung: RungResult, needed: float) -> Able:
    """The ends whose median rate on this rung, summed over all their paths, reaches `needed` bit/s.

    Experiments with settings on loan do not count.
    """
    senders: set[str] = set()
    receivers: set[str] = set()
    for e in rung.experiments:
        if e.parameters.protocol is not Protocol.TCP or e.parameters.settings or len(ways(e.parameters)) > 1:
            continue
        for names, side in ((senders, 0), (receivers, 1)):
            rates: dict[str, list[float]] = {}
            for t in e.trials:
                if t.ok:
                    loads = [(leg.path, leg.outcome) for leg in t.legs if leg.role is Role.LOAD]
                    parts = (
                        (_ends(rung, number, way)[side], direction_bps(one, e.parameters, way))
                        for number, one in loads
                        for way in ways(e.parameters)
                    )
                    for name, bps in _summed(parts):
                        rates.setdefault(name, []).append(bps)
            names.update(name for name, seen in rates.items() if statistics.median(seen) >= needed)
    return Able(frozenset(senders), frozenset(receivers))


def _ends(rung: RungResult, number: int, way: Direction) -> tuple[str, str]:
    """The sender and the receiver on path `number`; on the loopback the near end is both."""
    if rung.name is RungName.LOCALHOST:
        return End.NEAR, End.NEAR
    path = rung.paths[number] if 0 <= number < len(rung.paths) else rung.path
    return path.ends(way)


def _summed(parts: Iterable[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    found: dict[str, float] = {}
    for name, bps in parts:
        found[name] = found.get(name, 0.0) + bps
    return found.items()
