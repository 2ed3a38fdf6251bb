"""Tells what a changed setting did, by comparing each figure of the changed arm with the unchanged arm in pairs.

Both arms' trials of the same repeat make a pair; a failed trial voids its pair. A figure that is missing in any pair is
left out, and named as such. All figures of all changes that are tried on a rung share one error: what is carried takes
half of it, the others the rest, and each step of a staircase an equal part, as it is decided before the next one is
measured. If the unchanged setting also ran against itself, what those two differ by is the noise floor: no claim is
made, and no change that is not larger is told to differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkladder.judge.arm_figures import arm_figures
from linkladder.judge.evidence import ways
from linkladder.judge.pairs import ERROR, PairAnswer, Pairs, judge_pairs, judge_together
from linkladder.model import Direction, Experiment, ExperimentResult, Plan, RungName, RungResult, TrialResult
from linkladder.model.same_setting import once_more
from linkladder.verdicts import Answer, Change, ChangedFigure, Measured, Uncompared

CARRIED = (Measured.GOODPUT, Measured.TRANSACTIONS, Measured.IDLE_RTT)  # what an experiment asks for

_Key = tuple[str, Direction]  # an arm by its id, in one direction
_Answers = dict[Measured, PairAnswer]


@dataclass(frozen=True)
class _Arms:
    """A changed arm beside the unchanged one, in one direction."""

    a: Experiment
    b: Experiment
    way: Direction
    good: tuple[int, ...]  # the repeats of which both trials are good, as people count them
    void: int  # pairs in which a trial failed
    figures: dict[Measured, Pairs]
    uncompared: tuple[Uncompared, ...] = ()

    @property
    def again(self) -> bool:
        """Whether nothing was changed: what they differ by is noise."""
        return once_more(self.b, self.a)

    @property
    def changed(self) -> _Key:
        return self.b.id, self.way

    @property
    def base(self) -> _Key:
        return self.a.id, self.way


def changes(rung: RungResult, to_come: int = 0) -> tuple[Change, ...]:
    """Every changed arm of the rung with its answers, in the order of the plan.

    `to_come`: how many steps of the rung's staircases are still to be measured.
    """
    by_id = {e.parameters.id: e for e in rung.experiments}
    asked = [
        _arms(by_id[e.parameters.baseline], e, way)
        for e in rung.experiments
        if e.parameters.baseline in by_id and e.trials
        for way in ways(e.parameters)
    ]
    tried = [arms for arms in asked if not arms.again]
    noise = {arms.base: _noise(arms) for arms in asked if arms.again}
    floors = {base: {m: _floor(found) for m, found in by.items()} for base, by in noise.items()}
    steps = {arms.a.step for arms in tried}
    stages = (0 in steps) + max(steps, default=0) + to_come
    answers: dict[_Key, _Answers] = {arms.changed: noise[arms.base] for arms in asked if arms.again}
    for step in steps:
        answers |= _answered([arms for arms in tried if arms.a.step == step], floors, ERROR / stages)
    return tuple(
        _change(arms, answers[arms.changed], {} if arms.again else floors.get(arms.base, {})) for arms in asked
    )


def steps_to_come(plan: Plan, name: RungName) -> int:
    """How many steps of a rung's staircases are not measured yet."""
    return max((len(stair.steps) for rung in plan.rungs if rung.name is name for stair in rung.stairs), default=0)


def _answered(tried: Sequence[_Arms], floors: dict[_Key, dict[Measured, float]], error: float) -> dict[_Key, _Answers]:
    """The answers of all these arms, which share the error."""
    named = [(arms, measured) for arms in tried for measured in arms.figures]
    carried = sum(measured in CARRIED for _, measured in named)
    weight = max(1, len(named) - carried) / max(1, carried)  # together they weigh as much as all others together
    family = [
        replace(
            arms.figures[measured],
            weight=weight if measured in CARRIED else 1.0,
            floor=floors.get(arms.base, {}).get(measured, 0.0),
        )
        for arms, measured in named
    ]
    found: dict[_Key, _Answers] = {arms.changed: {} for arms in tried}
    for (arms, measured), answer in zip(named, judge_together(family, error), strict=True):
        found[arms.changed][measured] = answer
    return found


def _noise(arms: _Arms) -> _Answers:
    """What the unchanged setting differs from itself by, with the interval of each figure by itself."""
    found = {m: judge_pairs(pairs.a, pairs.b, band=pairs.band, least=pairs.least) for m, pairs in arms.figures.items()}
    return {m: replace(f, answer=Answer.UNDECIDED) if f.answer is Answer.DIFFERS else f for m, f in found.items()}


def _floor(noise: PairAnswer) -> float:
    """The far end of its interval, as a logarithm; 0 if there is none."""
    if noise.low is None or noise.high is None:
        return 0.0
    return max(abs(math.log(noise.low)), abs(math.log(noise.high)))


def _arms(a: ExperimentResult, b: ExperimentResult, way: Direction) -> _Arms:
    pairs, void = _pairs(a, b)
    figures: dict[Measured, Pairs] = {}
    lacking: list[Uncompared] = []
    for one in arm_figures(b.parameters, way):
        read = ((one.read(x), one.read(y)) for x, y in pairs)
        known = [(x, y) for x, y in read if x is not None and y is not None]
        zero = sum(min(pair) + one.least <= 0 for pair in known)
        if known and len(known) == len(pairs) and not zero:
            figures[one.measured] = Pairs([x for x, _ in known], [y for _, y in known], one.band, one.least)
        elif known:
            lacking.append(Uncompared(one.measured, len(pairs) - len(known), zero))
    good = tuple(x.repeat + 1 for x, _ in pairs)
    return _Arms(a.parameters, b.parameters, way, good, void, figures, tuple(lacking))


def _change(arms: _Arms, answers: _Answers, floors: dict[Measured, float]) -> Change:
    figures = tuple(
        ChangedFigure(
            measured,
            found.answer,
            *arms.figures[measured].middles,
            found.pairs,
            found.ratio,
            found.low,
            found.high,
            found.confidence,
            found.more_pairs,
            arms.good[found.outlier - 1] if found.outlier else None,
            found.rank_p,
            math.exp(floors[measured]) if floors.get(measured) else None,
        )
        for measured, found in answers.items()
    )
    planned = min(arms.a.repeats, arms.b.repeats)
    return Change(arms.b.id, arms.a.id, str(arms.way), len(arms.good), arms.void, figures, planned, arms.uncompared)


def _pairs(a: ExperimentResult, b: ExperimentResult) -> tuple[list[tuple[TrialResult, TrialResult]], int]:
    """The pairs of good trials of the same repeat, and how many pairs a failed trial voided."""
    left, right = ({t.repeat: t for t in arm.trials} for arm in (a, b))
    both = [(left[n], right[n]) for n in sorted(left.keys() & right.keys())]
    good = [(x, y) for x, y in both if x.ok and y.ok]
    return good, len(both) - len(good)
