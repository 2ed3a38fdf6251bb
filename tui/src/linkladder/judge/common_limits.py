"""Finds what limits all paths of one end, or all cards of one pair, alike: the machine, its card, or a cap on it."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder.model import Direction, Path, RungResult
from linkladder.phrases import company as say
from linkladder.verdicts import Cell, OwnLimit

SAME = 0.07  # share by which two rates may differ to count as equal
WAYS = (Direction.FORWARD, Direction.REVERSE)


def several_pairs(paths: Sequence[Path]) -> bool:
    """Whether the paths join more than one pair of ends."""
    return len({(path.origin, path.peer) for path in paths}) > 1


def own_limits(rung: RungResult, cells: Sequence[Cell]) -> tuple[OwnLimit, ...]:
    """Ends that send or receive no more over all their paths than over one."""
    if not several_pairs(rung.paths):
        return ()
    found = []
    for sends in (True, False):
        for end in dict.fromkeys(c.sender if sends else c.receiver for c in cells):
            for way in WAYS:
                mine = [c for c in cells if c.direction == way and (c.sender if sends else c.receiver) == end]
                rates = [(c.alone_bps, c.together_bps) for c in mine]
                alone = [a for a, _ in rates if a]
                total = sum(b for _, b in rates if b is not None)
                if len(mine) > 1 and len(alone) == len(mine) and abs(total - max(alone)) <= SAME * max(alone):
                    sentence = say.own_limit(end, sends, len(mine), total)
                    found.append(OwnLimit(end, sends, str(way), total, sentence))
    return tuple(found)


def plateaus(rung: RungResult, cells: Sequence[Cell], sums: dict[str, float]) -> list[str]:
    """Several cards of one pair that carry no more together than one does alone."""
    if several_pairs(rung.paths):
        return []
    found = []
    for way, total in sums.items():
        alone = [c.alone_bps for c in cells if c.direction == way and c.alone_bps]
        if len(alone) > 1 and len(alone) == len(rung.paths) and abs(total - max(alone)) <= SAME * total:
            found.append(say.plateau(way, total, len(rung.paths)))
    return found
