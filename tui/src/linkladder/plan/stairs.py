"""Makes staircases: changes are tried in steps, each against the best so far, and kept only if they win."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any

from linkladder.model import Experiment, Generator, Rung, Setting, SettingKind, Stair
from linkladder.model.settings import beyond, merged
from linkladder.plan.fields import of_experiment
from linkladder.plan.naming import name_of, named_apart

_NOT_OF_THE_LOAD = {"discard_first", "id", "baseline", "begins", "step", "settings"}
_LOAD = tuple(f.name for f in fields(Experiment) if f.name not in _NOT_OF_THE_LOAD)


def first_step(first: Experiment, steps: Sequence[dict[str, list[Any]]]) -> tuple[tuple[Experiment, ...], Stair]:
    """The arms of the first step, and the staircase of the later ones. The list values of a step multiply out.

    If any step restarts adapters, all trials begin with the same short load, because a winner stays in force later.
    """
    settings = (setting for step in steps for lent in step.get("settings", ()) for setting in lent)
    first = replace(first, discard_first=any(setting.restarts for setting in settings))
    options = tuple(
        tuple(
            _changed(first, of_experiment(dict(zip(step, values, strict=True)))) for values in product(*step.values())
        )
        for step in steps
    )
    stair = Stair(replace(first, step=1), options[1:])
    arms = _level(stair.first, stair.first, options[0])
    if len(arms) < 2 and not first.strongest:  # it would try what the staircase begins with
        later, after = next_step(stair, replace(first, step=0))
        return (later, after) if later else (arms, stair)
    return arms, stair


def possible_arms(arms: Sequence[Experiment], stair: Stair) -> tuple[Experiment, ...]:
    """What later steps try, and the first with as many settings as there are if each step wins with its most."""
    later = tuple(e for step in stair.steps for e in step)
    lent: dict[SettingKind, tuple[Setting, ...]] = {}
    for e in (*arms, *later):
        for kind in {one.kind for one in e.settings}:
            mine, before = tuple(one for one in e.settings if one.kind is kind), lent.get(kind, ())
            lent[kind] = max(before, mine, merged(before, mine), key=len)  # of one kind each end may have its own
    return (*later, replace(stair.first, settings=tuple(one for some in lent.values() for one in some)))


def begun_at(rung: Rung, stair: Stair, start: Generator, known: bool = True) -> Rung:
    """The rung with this staircase beginning at that load, and its steps tried beside it.

    `known`: the load is known to be good, so that none is looked for.
    """
    first = replace(start.of(stair.first), strongest=stair.first.strongest and not known)
    base, *tried = present_step(rung, stair)
    arms = _level(first, first, _moved(tried, stair.first, first))
    moved = Stair(first, tuple(_moved(step, stair.first, first) for step in stair.steps))
    others = tuple(e for e in rung.experiments if e not in (base, *tried))
    stairs = tuple(moved if one == stair else one for one in rung.stairs)
    return replace(rung, experiments=(*others, *arms), stairs=stairs)


def next_step(stair: Stair, best: Experiment) -> tuple[tuple[Experiment, ...], Stair]:
    """The arms of the next step that has something to try beside the best so far, and the staircase after it."""
    arms: tuple[Experiment, ...] = ()
    while stair.steps and len(arms) < 2:
        as_many = stair.first.repeats  # not as the best has now, of which a pair may have been measured once more
        on = replace(best, step=best.step + 1, repeats=as_many)
        arms, stair = _level(on, stair.first, stair.steps[0]), replace(stair, steps=stair.steps[1:])
    return arms if len(arms) > 1 else (), stair


def present_step(rung: Rung, stair: Stair) -> tuple[Experiment, ...]:
    """The arms of the present step, the best so far first."""
    mine = [e for e in rung.experiments if e.step and e.direction is stair.first.direction]
    highest = max((e.step for e in mine), default=0)
    return tuple(sorted((e for e in mine if e.step == highest), key=lambda e: bool(e.baseline)))


def _level(best: Experiment, first: Experiment, options: Iterable[Experiment]) -> tuple[Experiment, ...]:
    base = replace(best, id=f"{name_of(best)}-step{best.step}", baseline="", begins=random.random() < 0.5)
    tried = [_beside(best, first, option) for option in options]
    arms = [replace(e, id=f"{name_of(e)}-step{e.step}", baseline=base.id, begins=not base.begins) for e in tried]
    return named_apart((), [base, *(arm for arm, e in zip(arms, tried, strict=True) if e != best)])


def _beside(best: Experiment, first: Experiment, option: Experiment) -> Experiment:
    """The best so far, with those changes that distinguish `option` from the staircase's first setting."""
    changes = {key: getattr(option, key) for key in _LOAD if getattr(option, key) != getattr(first, key)}
    return replace(best, **changes, settings=merged(best.settings, beyond(option.settings, first.settings)))


def _changed(first: Experiment, values: dict[str, Any]) -> Experiment:
    """The staircase's first setting with these values; what it has on loan stays where they change nothing of it."""
    return replace(first, **values | {"settings": merged(first.settings, values.get("settings", ()))})


def _moved(options: Sequence[Experiment], before: Experiment, first: Experiment) -> tuple[Experiment, ...]:
    """The options of a step beside another first setting: with the values that the step is about."""
    about = [key for key in _LOAD if any(getattr(one, key) != getattr(before, key) for one in options)]
    return tuple(
        replace(first, **{key: getattr(one, key) for key in about}, settings=merged(first.settings, one.settings))
        for one in options
    )
