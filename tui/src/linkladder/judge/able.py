"""Which ends have shown that they can send, or receive, what was sold: who has not may itself be what is too slow.

Needs TCP trials of one way that load that side of that end: its loopback loads both sides of the near end, a path the
one end's sending and the other's receiving.  A rung inside a host must show headroom, any other, the judged one among
them, what the verdict asks for.
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
    """The ends that have shown it, by name."""

    senders: frozenset[str] = frozenset()
    receivers: frozenset[str] = frozenset()

    def __or__(self, other: Able) -> Able:
        return Able(self.senders | other.senders, self.receivers | other.receivers)

    def lacking(self, path: Path, way: Direction) -> tuple[str, ...]:
        """Which of the ends of that way have not."""
        sender, receiver = path.ends(way)
        known = (sender, self.senders), (receiver, self.receivers)
        return tuple(name for name, able in known if name not in able)


NOBODY = Able()


def able_below(rung: RungResult, document: Document, deal: Contract) -> Able:
    """By the rungs below it whose figures are borne out."""
    found = Able()
    for below in document.rungs:
        lower = ORDER.index(below.name) < ORDER.index(rung.name)
        if lower and not below.unavailable and not accounts(below, document):
            inside = below.name in GENERATOR
            found |= able_on(below, HEADROOM * rate_sold(deal) if inside else deal.pass_ratio * ceiling(deal).bps)
    return found


def able_on(rung: RungResult, needed: float) -> Able:
    """By the typical repeats of this rung's own settings, over all paths of an end at once."""
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
    """Who sends and who receives on that path; on the loopback one end does both."""
    if rung.name is RungName.LOCALHOST:
        return End.NEAR, End.NEAR
    path = rung.paths[number] if 0 <= number < len(rung.paths) else rung.path
    return path.ends(way)


def _summed(parts: Iterable[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    found: dict[str, float] = {}
    for name, bps in parts:
        found[name] = found.get(name, 0.0) + bps
    return found.items()
