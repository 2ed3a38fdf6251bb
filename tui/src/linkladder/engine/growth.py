"""Lets a plan grow by what its results call for: another repeat of unsettled settings, or a staircase's next step.

Trials that an end out of reach prevents are put off, and those that it was missing from are repeated once it is back;
so is a pair that a failed trial voided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from linkladder import judge, phrases
from linkladder import plan as plans
from linkladder.engine.far_ends import FarEnds, located
from linkladder.engine.pairs_again import pairs_again
from linkladder.model import (
    Document,
    Experiment,
    Fault,
    Path,
    Plan,
    Rung,
    RungName,
    RungResult,
    Stair,
    TrialResult,
)
from linkladder.peer import EndPoint

More = tuple[tuple[Experiment, int], ...]  # trials that were added to the plan


def grown(plan: Plan, name: RungName, measured: Callable[[], Document]) -> tuple[Plan, More]:
    """The plan with what its rung's results call for next, and the new trials in order; () if nothing is left to do."""
    after, more = one_more(plan, name, measured)
    return (after, more) if more else next_steps(plan, name, measured)


def one_more(plan: Plan, name: RungName, measured: Callable[[], Document]) -> tuple[Plan, More]:
    """The plan with further repeats in the rung, and those; unchanged if all is settled or the limit is reached."""
    rung = next(r for r in plan.rungs if r.name is name)
    if all(e.repeats >= e.at_most for e in rung.experiments):
        return plan, ()
    document = measured()
    found = next((r for r in document.rungs if r.name is name), None)
    wanted = judge.unsettled(found, document) if found else ()
    more = tuple((e, e.repeats) for e in rung.experiments if e.id in wanted and (e.contends or e.repeats < e.at_most))
    open_yet = {e.id for e, _ in more}
    grown = tuple(replace(e, repeats=e.repeats + (e.id in open_yet)) for e in rung.experiments)
    rungs = tuple(replace(r, experiments=grown) if r.name is name else r for r in plan.rungs)
    return replace(plan, rungs=rungs), more


def next_steps(plan: Plan, name: RungName, measured: Callable[[], Document]) -> tuple[Plan, More]:
    """Take each staircase of the rung one step further, starting from the winner of its last step."""
    rung = next(r for r in plan.rungs if r.name is name)
    if not any(stair.steps for stair in rung.stairs):
        return plan, ()
    document = measured()
    # As the report has it: no step is built on trials that something contradicts.
    found = judge.proven(next((r for r in document.rungs if r.name is name), RungResult(name)), document)
    arms: list[Experiment] = []
    stairs: list[Stair] = []
    for stair in rung.stairs:
        if stair.steps:
            best = judge.winner_so_far(found, plan, plans.present_step(rung, stair))
            more, stair = plans.next_step(stair, best)
            arms += more
        stairs.append(stair)
    after = replace(rung, experiments=(*rung.experiments, *arms), stairs=tuple(stairs))
    rungs = tuple(after if r.name is name else r for r in plan.rungs)
    return replace(plan, rungs=rungs), tuple(plans.order(replace(rung, experiments=tuple(arms))))


class MissedTrials:
    """What a rung lacks so far: trials that ends of several were too busy or lost for, and pairs that are void."""

    def __init__(
        self, far: FarEnds, near: EndPoint, rung: Rung, paths: Sequence[Path], before: Document | None = None
    ) -> None:
        """`before`: what the run had when it was resumed."""
        self._far, self._near, self._name, self._peers = far, near, rung.name, rung.peers
        self.paths = tuple(paths)
        self._compared = {name for e in rung.experiments if e.baseline for name in (e.id, e.baseline)}
        self._later: list[tuple[Experiment, int]] = []
        self._known: set[tuple[str, int]] = set()  # put off once already
        self._lost = lost_peers(before, rung) if before else {}
        self._gone: set[str] = set()  # peers that were away after a trial of theirs
        self._repeated: set[str] = set()  # experiments that got more repeats for that
        self._whole: set[str] = set()  # comparisons of which no pair is measured once more any longer
        self._looked = False

    async def ends(self) -> dict[str, EndPoint]:
        """Each end as it is now; addresses that only an end which is back could tell are known from then on."""
        ends: dict[str, EndPoint] = {"": self._near, **await self._far.connected_or_missing(self._peers)}
        self.paths = located(self.paths, ends)
        return ends

    def postpone(self, exp: Experiment, repeat: int) -> str:
        """Why the trial waits for the others of its rung: each of its paths lacks an end. It waits once; else ''."""
        away = self._away(exp)
        if (exp.id, repeat) in self._known or exp.id in self._compared or not away or self._without(exp, away):
            return ""
        self._known.add((exp.id, repeat))
        self._later.append((exp, repeat))
        return "; ".join(self._far.why_away(peer) for peer in sorted(away))

    def note(self, exp: Experiment, result: TrialResult) -> None:
        """Note which paths this trial lost with an end, or that it lost none, as it may be done again."""
        if len(self._peers) < 2 or exp.id in self._compared | self._repeated:
            return
        self._gone |= self._away(exp)
        mine = self._lost.setdefault(exp.id, {})
        mine[result.repeat] = _paths_lost(result)
        if not mine[result.repeat]:
            del mine[result.repeat]

    async def postponed(self) -> More:
        """The trials that were put off, for each of which its ends are looked for once more."""
        found, self._later = tuple(self._later), []
        if found or (any(self._lost.values()) and not self._looked):
            self._looked = True
            await self._far.look_again(self._peers)
        return found

    def once_more(self, plan: Plan, measured: Callable[[], Document]) -> tuple[Plan, More, str]:
        """The plan with what was lost once more, those trials, and why: unchanged where nothing was."""
        after, more, back = self._of_ends_back(plan)
        if more:
            return after, more, phrases.once_more_with(self._name, back)
        return pairs_again(plan, self._name, measured, self._whole)

    def _of_ends_back(self, plan: Plan) -> tuple[Plan, More, str]:
        """The plan with further repeats of what was measured without ends that are back, those, and who is back.

        One at least, and so many that more are whole than not, as what is judged rests on most of the repeats.
        """
        there = {"", *self._far.present}
        back: dict[str, set[int]] = {}
        for name, lost in self._lost.items():
            if again := {n for paths in lost.values() for n in paths if there.issuperset(self.paths[n].peers)}:
                back[name] = again
        counts = {name: len(self._lost.pop(name)) for name in back}
        self._repeated |= set(back)
        more: More = ()
        rungs = []
        for rung in plan.rungs:
            mine = {e.id for e in rung.experiments if e.id in back} if rung.name is self._name else set()
            grown = [_repeated(e, counts[e.id]) if e.id in mine else e for e in rung.experiments]
            more += tuple((e, n) for e in rung.experiments if e.id in mine for n in _new(e, counts[e.id]))
            rungs.append(replace(rung, experiments=tuple(grown)))
        return replace(plan, rungs=tuple(rungs)), more, " and ".join(self._ends_of(set().union(*back.values())))

    def _ends_of(self, paths: set[int]) -> list[str]:
        """The ends of these paths that were away; where that is not known, the end that all have, or else all."""
        each = [set(self.paths[n].peers) for n in paths]
        every = set[str]().union(*each)
        return sorted(every & self._gone or (set.intersection(*each) if each else every) or every)

    def _away(self, exp: Experiment) -> set[str]:
        if len(self._peers) < 2:
            return set()
        mine = [self.paths[n] for n in exp.paths or range(len(self.paths))]
        return {name for path in mine for name in path.peers if name not in self._far.present}

    def _without(self, exp: Experiment, away: set[str]) -> bool:
        """Whether some of its paths can be measured without these ends."""
        return any(not away & set(self.paths[n].peers) for n in exp.paths or range(len(self.paths)))


def lost_peers(document: Document, rung: Rung) -> dict[str, dict[int, set[int]]]:
    """Of a rung with several peers the paths that a repeat lost with an end, by experiment and repeat, where so few
    repeats are whole that nothing can be said.
    """
    if len(rung.peers) < 2:
        return {}
    compared = {name for e in rung.experiments if e.baseline for name in (e.id, e.baseline)}
    asked = {e.id for e in rung.experiments} - compared
    found: dict[str, dict[int, set[int]]] = {}
    for e in (e for r in document.rungs if r.name is rung.name for e in r.experiments if e.parameters.id in asked):
        lost = {t.repeat: paths for t in e.trials if (paths := _paths_lost(t) & set(range(len(rung.paths))))}
        if lost and 2 * len(lost) >= len(e.trials):
            found[e.parameters.id] = lost
    return found


def _paths_lost(result: TrialResult) -> set[int]:
    return {g.path for g in result.legs if not g.outcome.ok and g.outcome.fault is Fault.PEER}


def _repeated(e: Experiment, lost: int) -> Experiment:
    repeats = e.repeats + len(_new(e, lost))
    return replace(e, repeats=repeats, at_most=max(e.at_most, repeats) if e.at_most else 0)


def _new(e: Experiment, lost: int) -> range:
    """The further repeats with which more are whole than these that were lost; one at least."""
    return range(e.repeats, max(e.repeats, 2 * lost) + 1)
