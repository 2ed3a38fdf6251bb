"""Judges a staircase of changes: which arm won each step against the best so far, and what all changes achieve."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from linkladder import phrases
from linkladder.judge.ceilings import at_lent_mtu, ceiling, duplex_share
from linkladder.judge.changes import changes, steps_to_come
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.stats import middle, spread
from linkladder.model import (
    Contract,
    Direction,
    Document,
    Experiment,
    ExperimentResult,
    Path,
    Plan,
    RungName,
    RungResult,
    Setting,
)
from linkladder.model.same_setting import identity
from linkladder.model.settings import beyond
from linkladder.phrases.stairs import InVain
from linkladder.verdicts import Answer, Change, ChangedFigure, Landing, Measured


def winner(changed: Iterable[Change], arms: Sequence[Experiment]) -> Experiment:
    """The arm of a step with the largest significant gain over the best so far, which is the first of `arms`; else
    that one.
    """
    best, most = arms[0], 1.0
    found = [change for change in changed if change.baseline == arms[0].id]
    for arm in arms[1:]:
        gained = _gain([change for change in found if change.experiment == arm.id])
        if gained > most:
            best, most = arm, gained
    return best


def winner_so_far(rung: RungResult, plan: Plan, arms: Sequence[Experiment]) -> Experiment:
    """The same, of a staircase that is still being climbed."""
    return winner(changes(rung, steps_to_come(plan, rung.name)), arms)


def landings(rung: RungResult, changed: Sequence[Change], deal: Contract | None = None) -> tuple[Landing, ...]:
    """Every measured arm of every step in order, with whether it was kept, and with the ceiling of that contract."""
    results = {e.parameters.id: e for e in rung.experiments if e.parameters.step}
    answers = {(c.experiment, c.direction): _carried(c) for c in changed}
    found: list[Landing] = []
    for base in [e for e in results.values() if not e.parameters.baseline]:
        p = base.parameters
        tried = [e for e in results.values() if e.parameters.baseline == p.id]
        kept = winner(changed, (p, *(e.parameters for e in tried)))
        good = {e.parameters.id: sum(t.ok for t in e.trials) for e in (base, *tried)}
        for e in (base, *tried):
            q = e.parameters
            words = phrases.difference(q, p) if q.baseline else phrases.arm(q, direction=False)
            for way in ways(q):
                values = [direction_bps(t, q, way) for t in e.trials if t.ok]
                if values:
                    seen, figure = spread(values), answers.get((q.id, str(way)))
                    found.append(
                        Landing(
                            str(way),
                            q.step,
                            words,
                            middle(values),
                            seen.low,
                            seen.high,
                            q.id == kept.id,
                            figure.answer if figure else None,
                            figure.ratio if figure else None,
                            q.direction is Direction.DUPLEX,
                            _ceiling(q, rung, deal),
                            base=not q.baseline,
                            in_pairs=_in_pairs(figure, (good[p.id], good[q.id])),
                        )
                    )
    return tuple(found)


def _in_pairs(figure: ChangedFigure | None, repeats: tuple[int, int]) -> int | None:
    return figure.pairs if figure and figure.ratio and max(repeats) > figure.pairs else None


def flights(found: Sequence[Landing]) -> list[tuple[Landing, ...]]:
    """The landings of each staircase and direction by themselves; both directions at once are a staircase of their
    own.
    """
    keys = dict.fromkeys((one.both_ways, one.direction) for one in found)
    return [tuple(one for one in found if (one.both_ways, one.direction) == key) for key in keys]


def staircase(rung: RungResult, changed: Sequence[Change], document: Document | None = None) -> tuple[str, ...]:
    """Sentences for each direction: which changes were kept, what they achieve, and what to set where."""
    sentences = [phrases.staircase(mine, _silent(rung, mine[0])) for mine in flights(landings(rung, changed))]
    paths = [with_cards(path, document) if document else path for path in rung.paths]
    hosts = [end.facts for end in document.run.ends] if document else []
    return (*sentences, *phrases.to_set(_all_kept(rung, changed), paths, hosts))


def _silent(rung: RungResult, one: Landing) -> tuple[InVain, ...]:
    """What was tried in that landing's staircase and direction without a single trial that counts."""
    arms, way = {e.parameters.id: e.parameters for e in rung.experiments}, Direction(one.direction)
    found: dict[str, InVain] = {}
    for e in rung.experiments:
        p = e.parameters
        if not (p.step and p.baseline in arms and e.trials) or any(t.ok for t in e.trials):
            continue
        if (p.direction is Direction.DUPLEX) is one.both_ways and way in ways(p):
            words, rates = phrases.difference(p, arms[p.baseline]), (direction_bps(t, p, way) for t in e.trials)
            made = InVain(words, tuple(t.reason for t in e.trials), tuple(bps for bps in rates if bps > 0))
            found.setdefault(words, made)
    return tuple(found.values())


def with_cards(path: Path, document: Document) -> Path:
    """The path with the names of its cards, by what its ends told of themselves, where it names none."""

    def card(end: str, address: str) -> str:
        facts = document.run.facts(end)
        return next((nic.name for nic in facts.nics if address in nic.addresses), "") if facts else ""

    return replace(
        path,
        local_interface=path.local_interface or card(path.origin or "near", path.local),
        remote_interface=path.remote_interface or card(path.peer, path.remote),
    )


def won(rung: RungResult, plan: Plan) -> tuple[Experiment, ...]:
    """The best arm after the last step of each staircase: forward, reverse, both at once."""
    return _all_kept(rung, changes(rung, steps_to_come(plan, rung.name)))


def lost(rung: RungResult, plan: Plan) -> tuple[Setting, ...]:
    """What the staircases tried that surely carries less than without it, in any direction, at the ends where it was
    the change.
    """
    arms = {e.parameters.id: e.parameters for e in rung.experiments}
    found: list[Setting] = []
    for one in changes(rung, steps_to_come(plan, rung.name)):
        arm, base, figure = arms[one.experiment], arms[one.baseline], _carried(one)
        if arm.step and figure and figure.answer is Answer.DIFFERS and figure.ratio and figure.ratio < 1:
            found += beyond(arm.settings, base.settings)
    return tuple(found)


def _all_kept(rung: RungResult, changed: Sequence[Change]) -> tuple[Experiment, ...]:
    found = (_last_kept(rung, changed, way) for way in (Direction.FORWARD, Direction.REVERSE, Direction.DUPLEX))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _last_kept(rung: RungResult, changed: Sequence[Change], asked: Direction) -> Experiment | None:
    """The best arm after the last measured step that rests on winners alone; None if there is no such staircase."""
    mine: list[ExperimentResult] = [
        e for e in rung.experiments if e.parameters.step and e.parameters.direction is asked
    ]
    if not mine:
        return None
    levels = [
        sorted((e.parameters for e in step), key=lambda p: bool(p.baseline))
        for _, step in itertools.groupby(sorted(mine, key=lambda e: e.parameters.step), key=lambda e: e.parameters.step)
    ]
    for arms, following in itertools.pairwise(levels):
        best = winner(changed, arms)
        if identity(best) != identity(following[0]):
            return best  # what was built on it rests on a step that has proven to be none
    return winner(changed, levels[-1])


def _carried(change: Change) -> ChangedFigure | None:
    return next((f for f in change.figures if f.measured is Measured.GOODPUT), None)


def _gain(ways_of_arm: Sequence[Change]) -> float:
    """How many times the baseline's rate this arm carries, and 1 if that is not sure.

    Of both directions at once neither may surely lose, or one would be paid for with the other; nor may it be unknown
    what one carries.
    Nor is it sure if half of the pairs or more are void: those that are left are what the failures spared.
    """
    if any(c.void >= c.pairs or _carried(c) is None for c in ways_of_arm):
        return 1.0
    sure = [f.ratio for c in ways_of_arm if (f := _carried(c)) and f.answer is Answer.DIFFERS and f.ratio]
    return math.prod(sure) if sure and min(sure) > 1 else 1.0


def _ceiling(p: Experiment, rung: RungResult, deal: Contract | None) -> float | None:
    """What the contract allows each direction at the arm's MTU, over all paths; None if nothing bounds it, or if the
    paths share a link.
    """
    if deal is None or rung.name is RungName.LOCALHOST or (len(rung.paths) > 1 and deal.shared_bps):
        return None
    deal = at_lent_mtu(deal, p.settings)
    share = duplex_share(deal) if p.direction is Direction.DUPLEX else 1.0
    return ceiling(deal).bps * share * max(1, len(rung.paths))
