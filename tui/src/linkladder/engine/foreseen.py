"""What a run will leave out and search for, as far as its ends tell when it begins, so that the first time that is
told is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from linkladder import plan as plans
from linkladder.engine.far_ends import located
from linkladder.engine.generators import planned
from linkladder.engine.kernels import Boots
from linkladder.engine.left_out import without_effect
from linkladder.events import LeftOut, RungStarted, RunStarted
from linkladder.model import HostFacts, Plan, Rung, RungName
from linkladder.peer import EndPoint


class Foreseen:
    """The plan without what is foreseen to be left out; each rung says later what is left out indeed."""

    def __init__(
        self,
        plan: Plan,
        ends: Mapping[str, EndPoint],
        facts: Mapping[str, HostFacts],
        boots: Boots,
        folder: Path,
        stored: set[tuple[str, str, int]],
    ) -> None:
        """`ends` and `facts` are by peer, '' being this one; `folder` keeps what was found of the generator's strength,
        and `stored` are the trials measured before the run was resumed: of their rungs it is searched no more.
        """
        self._left_out: dict[RungName, tuple[int, float]] = {}
        rungs = []
        for rung in plan.rungs:
            known = all(name in ends for path in rung.paths for name in (path.origin, path.peer))
            vain = without_effect(rung, located(rung.paths, ends), facts) if known else {}
            vain |= boots.lacking(rung)
            rest = without(rung, vain)
            self._left_out[rung.name] = difference(rung, rest)
            rungs.append(rest)
        self.plan = replace(plan, rungs=tuple(rungs))
        self._stored, begun = stored, {RungName(name) for name, _, _ in stored}
        self._known = planned(plan, facts, folder).known | begun
        self._to_search = plans.surely_sought(plan.rungs, self._known)

    def run_started(self, run_id: str, plan: Plan) -> RunStarted:
        search, soon = plans.SEARCH * len(self._to_search), self.plan
        takes, most = plans.seconds(soon) + search, plans.longest(soon, self._known)
        return RunStarted(run_id, plan, takes, plans.trials(soon), *plans.measured(soon, self._stored), most)

    def rung_started(self, name: RungName, index: int) -> RungStarted:
        search, soon = plans.SEARCH * (name in self._to_search), self.rung(name)
        takes, most = plans.seconds(soon) + search, plans.longest(soon, self._known)
        done = plans.measured(soon, self._stored)
        return RungStarted(name, takes, plans.trials(soon), index, *done, most, search)

    def rung(self, name: RungName) -> Rung:
        return next(rung for rung in self.plan.rungs if rung.name is name)

    def news(self, rung: Rung, vain: Mapping[str, str]) -> LeftOut | None:
        """What is left out of the rung beside what was foreseen for it; None if nothing is."""
        (trials, seconds), (known, spared) = (
            difference(rung, without(rung, vain)),
            self._left_out.pop(rung.name, (0, 0.0)),
        )
        return LeftOut(rung.name, trials - known, seconds - spared) if trials != known else None


def without(rung: Rung, names: Mapping[str, str]) -> Rung:
    return replace(rung, experiments=tuple(e for e in rung.experiments if e.id not in names))


def difference(rung: Rung, rest: Rung) -> tuple[int, float]:
    """By how many trials, and how many seconds, the rest is less."""
    return plans.trials(rung) - plans.trials(rest), plans.seconds(rung) - plans.seconds(rest)
