"""Finds what may limit all paths of one end, or all cards of one pair, alike: the machine, its card, a cap on it, or
what these paths share, if nothing is said to be shared or that is not filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkladder.judge.able import NOBODY, ORDER, able_on
from linkladder.judge.accounts import accounts
from linkladder.model import Direction, Document, Path, RungResult
from linkladder.phrases import company as say
from linkladder.verdicts import Cell, CompanyJudgement, OwnLimit

SAME = 0.07  # share by which two rates may differ to count as equal
FILLED = 0.97  # share of the ceiling of what paths share; if they carry as much, that is what limits them
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
                if len(alone) == len(mine) and _no_more_than_one(total, alone):
                    sentence = say.own_limit(end, sends, len(mine), total)
                    found.append(OwnLimit(end, sends, str(way), total, sentence))
    return tuple(found)


def _no_more_than_one(total: float, alone: Sequence[float]) -> bool:
    """Whether paths carry no more together than the best of them alone, though each alone carries enough to tell."""
    if len(alone) < 2 or total >= (1 - SAME) * sum(alone):  # beside a fast path slow ones hardly add to the sum
        return False
    return abs(total - max(alone)) <= SAME * max(alone)


def plateaus(rung: RungResult, cells: Sequence[Cell], sums: dict[str, float]) -> list[str]:
    """Several cards of one pair that carry no more together than one does alone."""
    if several_pairs(rung.paths):
        return []
    found = []
    for way, total in sums.items():
        alone = [c.alone_bps for c in cells if c.direction == way and c.alone_bps]
        if len(alone) == len(rung.paths) and _no_more_than_one(total, alone):
            found.append(say.plateau(way, total, len(rung.paths)))
    return found


def without_refuted(company: CompanyJudgement, rung: RungResult, document: Document) -> CompanyJudgement:
    """The judgement without limits of an end where the paths fill what they share, or a lower rung shows that the end
    carries more.
    """
    of_ends = tuple(one for one in company.own_limits if not _refuted(company, rung, document, one))
    gone = {one.sentence for one in company.own_limits if one not in of_ends}
    for way, total in company.sum_bps.items():
        here, there = rung.path.ends(Direction(way))
        alike = [OwnLimit(end, end == here, way, total, "") for end in (here, there)]
        if all(_refuted(company, rung, document, one) for one in alike):
            gone |= set(plateaus(rung, company.cells, {way: total}))
    return replace(company, own_limits=of_ends, findings=tuple(one for one in company.findings if one not in gone))


def _refuted(company: CompanyJudgement, rung: RungResult, document: Document, limit: OwnLimit) -> bool:
    if company.ceiling_bps is not None and limit.bps >= FILLED * company.ceiling_bps:
        return True
    able = NOBODY
    for below in document.rungs:
        if ORDER.index(below.name) < ORDER.index(rung.name) and not below.unavailable and not accounts(below, document):
            able |= able_on(below, (1 + SAME) * limit.bps)
    return limit.end in (able.senders if limit.sends else able.receivers)
