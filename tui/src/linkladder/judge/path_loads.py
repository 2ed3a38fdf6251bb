"""Lists what each path of several carried in each trial, alone and beside others, and what their sum lacks.

Needs the loads of each trial. Of a setting's repeats those that an end or a tool broke for some paths are left out
where others are whole; a path that carried nothing stays, as that is its result.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linkladder.judge.each_repeat import carried, whole_repeats
from linkladder.judge.evidence import WARM, of_path
from linkladder.judge.udp import saturated
from linkladder.model import (
    Company,
    Direction,
    Experiment,
    ExperimentResult,
    Fault,
    Leg,
    Protocol,
    Role,
    RungName,
    RungResult,
    TrialResult,
)
from linkladder.phrases import company as say
from linkladder.phrases.ways import path_name


@dataclass(frozen=True)
class Seen:
    """One leg of one trial in one direction."""

    path: int
    direction: Direction
    bps: float | None  # None if it failed
    reason: str
    busy: str  # says which of its ends had no CPU to spare; '' if none
    asked: Experiment
    beside: tuple[int, ...]  # all paths of the trial, this one included
    trial: TrialResult
    silent: bool  # the path carried nothing
    lost: bool = False  # it failed because an end of it was lost


def _experiments(rung: RungResult) -> list[ExperimentResult]:
    return [e for e in rung.experiments if e.parameters.protocol is Protocol.TCP and not e.parameters.settings]


def skew(rung: RungResult) -> float | None:
    """The largest number of milliseconds between the beginnings of a trial's loads; None where none had several."""
    trials = [_loads(t) for e in _experiments(rung) for t in e.trials]
    return max((1000 * max(leg.began for leg in loads) for loads in trials if len(loads) > 1), default=None)


def _loads(trial: TrialResult) -> list[Leg]:
    return [leg for leg in trial.legs if leg.role is Role.LOAD]


@dataclass(frozen=True)
class Lacking:
    """What the sum of all paths lacks, or lacked in a repeat beside a whole one, in sentences."""

    sentences: tuple[str, ...]
    too_much: bool  # so much that the sum is not known: more than ends in the lesser part of a setting's repeats


def lacking(rung: RungResult, seen: Sequence[Seen]) -> Lacking:
    every = tuple(range(len(rung.paths)))
    mine = [s for s in each_load(rung, whole=False) if s.beside == every]
    lost = {s.path: s.reason for s in mine if s.bps is None}
    found = []
    for reason in dict.fromkeys(lost.values()):
        paths = [n for n in lost if lost[n] == reason]
        known = all(any(s.path == n and s.beside == every and s.bps is not None for s in seen) for n in paths)
        names = [path_name(rung.paths, n, Direction.FORWARD) for n in paths]
        found.append(say.lacked_once(names, reason) if known else say.lacking(names, reason))
    otherwise = any(s.bps is None and not s.lost for s in mine)
    return Lacking(tuple(found), otherwise or not _mostly_whole(mine))


def _mostly_whole(together: Sequence[Seen]) -> bool:
    """Whether in each direction more than half of the repeats of a setting lost none of its paths."""
    repeats: dict[tuple[Direction, str], dict[int, bool]] = {}
    for s in together:
        whole = repeats.setdefault((s.direction, s.asked.id), {})
        whole[s.trial.repeat] = whole.get(s.trial.repeat, True) and s.bps is not None
    enough = {way for (way, _), whole in repeats.items() if 2 * sum(whole.values()) > len(whole)}
    return enough == {way for way, _ in repeats}


def each_load(rung: RungResult, whole: bool = True) -> Iterator[Seen]:
    """All loads; `whole`: without those of broken repeats beside whole ones."""
    for e in _experiments(rung):
        if e.parameters.direction is Direction.DUPLEX or e.parameters.company is Company.VISITED:
            continue
        for trial in whole_repeats(e.trials) if whole else e.trials:
            loads = [leg for leg in _loads(trial) if 0 <= leg.path < len(rung.paths)]  # other numbers are no paths
            beside = tuple(sorted(leg.path for leg in loads))
            for leg in loads:
                way = e.parameters.direction
                alone = len(loads) == 1 and rung.name is RungName.DC_LINK  # beside others its share may change
                bps = carried(trial, (leg.path,), way, alone)
                silent, lost = (bps is None and leg.outcome.fault is fault for fault in (Fault.PATH, Fault.PEER))
                busy = saturated([of_path(trial, leg.path)], e.parameters, close=WARM)
                yield Seen(leg.path, way, bps, leg.outcome.reason, busy, e.parameters, beside, trial, silent, lost)


def rate(seen: Iterable[Seen]) -> tuple[float | None, str]:
    """The median rate in bit/s of the setting that carried most, and what is said of an end too busy in it, or ''."""
    best = [s for s in best_repeats(seen) if s.bps is not None]
    if not best:
        return None, ""
    return statistics.median(s.bps or 0.0 for s in best), next((s.busy for s in best if s.busy), "")


def by_setting(seen: Iterable[Seen]) -> dict[str, list[Seen]]:
    """All repeats of each setting, including failed ones."""
    settings: dict[str, list[Seen]] = {}
    for one in seen:
        settings.setdefault(one.asked.id, []).append(one)
    return settings


def best_repeats(seen: Iterable[Seen]) -> list[Seen]:
    """All repeats of the setting that carried most, including failed ones."""
    settings = by_setting(seen)
    medians = {name: [s.bps for s in group if s.bps is not None] for name, group in settings.items()}
    known = [name for name, rates in medians.items() if rates]
    return settings[max(known, key=lambda name: statistics.median(medians[name]))] if known else []
