"""Judges a staircase of changes: which arm won each step against the best so far, and what all changes achieve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkladder import phrases
from linkladder.judge.changes import changes, steps_to_come
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.stats import spread
from linkladder.model import Direction, Experiment, ExperimentResult, Plan, RungResult
from linkladder.verdicts import Answer, Change, Landing, Measured


def winner(changed: Iterable[Change], arms: Sequence[Experiment]) -> Experiment:
    """The arm of a step with the largest significant gain over the best so far, which is the first of `arms`; else
    that one.
    """
    best, ratio = arms[0], 1.0
    by_id = {e.id: e for e in arms}
    for change in changed:
        gained = _gain(change)
        if change.experiment in by_id and change.baseline == arms[0].id and gained > ratio:
            best, ratio = by_id[change.experiment], gained
    return best


def winner_so_far(rung: RungResult, plan: Plan, arms: Sequence[Experiment]) -> Experiment:
    """The same, of a staircase that is still being climbed."""
    return winner(changes(rung, steps_to_come(plan, rung.name)), arms)


def landings(rung: RungResult, changed: Sequence[Change]) -> tuple[Landing, ...]:
    """Every measured arm of every step in order, with whether it was kept."""
    results = {e.parameters.id: e for e in rung.experiments if e.parameters.step}
    answers = {c.experiment: next((f for f in c.figures if f.measured is Measured.GOODPUT), None) for c in changed}
    found: list[Landing] = []
    for base in [e for e in results.values() if not e.parameters.baseline]:
        p = base.parameters
        tried = [e for e in results.values() if e.parameters.baseline == p.id]
        kept = winner(changed, (p, *(e.parameters for e in tried)))
        for e in (base, *tried):
            q, figure = e.parameters, answers.get(e.parameters.id)
            words = phrases.difference(q, p) if q.baseline else phrases.arm(q, direction=False)
            for way in ways(q):
                values = [direction_bps(t, q, way) for t in e.trials if t.ok]
                if values:
                    seen = spread(values)
                    answer = figure.answer if figure else None
                    ratio = figure.ratio if figure else None
                    found.append(
                        Landing(
                            str(way), q.step, words, seen.median, seen.low, seen.high, q.id == kept.id, answer, ratio
                        )
                    )
    return tuple(found)


def staircase(rung: RungResult, changed: Sequence[Change]) -> tuple[str, ...]:
    """Sentences for each direction: which changes were kept, what they achieve, and what to set where."""
    all_of_them = landings(rung, changed)
    sentences = []
    for way in dict.fromkeys(one.direction for one in all_of_them):
        mine = [one for one in all_of_them if one.direction == way]
        sentences.append(phrases.staircase(way, mine))
        if last := _last_kept(rung, changed, Direction(way)):
            sentences += phrases.to_set(last, rung.paths[0] if rung.paths else None)
    return tuple(sentences)


def won(rung: RungResult, plan: Plan) -> tuple[Experiment, ...]:
    """The best arm after the last step, for each direction that has a staircase."""
    changed = changes(rung, steps_to_come(plan, rung.name))
    found = (_last_kept(rung, changed, way) for way in (Direction.FORWARD, Direction.REVERSE, Direction.DUPLEX))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _last_kept(rung: RungResult, changed: Sequence[Change], way: Direction) -> Experiment | None:
    """The best arm after the last measured step in that direction; None if there is no staircase."""
    mine: list[ExperimentResult] = [e for e in rung.experiments if e.parameters.step and way in ways(e.parameters)]
    if not mine:
        return None
    highest = max(e.parameters.step for e in mine)
    arms = sorted((e.parameters for e in mine if e.parameters.step == highest), key=lambda p: bool(p.baseline))
    return winner(changed, arms)


def _gain(change: Change) -> float:
    """How many times the baseline's rate this arm carries; 1 if the difference is not significant."""
    found = next((f for f in change.figures if f.measured is Measured.GOODPUT), None)
    return found.ratio if found and found.answer is Answer.DIFFERS and found.ratio else 1.0
