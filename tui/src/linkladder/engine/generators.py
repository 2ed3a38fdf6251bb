"""Finds the strongest settings for generating load on these machines, and keeps them until a machine changes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from linkladder import atomic_files, codec, phrases, state, wire
from linkladder.engine.far_ends import MissingEnd
from linkladder.engine.interruptions import TRIES
from linkladder.engine.placement import NEAR_BY
from linkladder.engine.route import Route, routes
from linkladder.engine.strongest import (
    LIMIT,
    beginning,
    candidates,
    chosen,
    left_open,
    look_at,
    numbers_of_streams,
    search,
    usable,
)
from linkladder.events import Event, GeneratorChosen, GeneratorSought
from linkladder.model import (
    End,
    Experiment,
    Generator,
    HostFacts,
    Interruption,
    Nic,
    Path,
    Plan,
    Rung,
    RungName,
    Strength,
    TrialResult,
)
from linkladder.model.same_setting import identity
from linkladder.peer import EndPoint
from linkladder.plan import begun_at, generator_open, name_of, named_apart, sought
from linkladder.tools import ToolVersions

MOST = 32  # the most findings kept; the oldest go first
GRAIN = 1 << 26  # bytes: the memory that a machine tells of varies a little from boot to boot

Measure = Callable[[Experiment, tuple[Route, ...]], Awaitable[TrialResult | Interruption]]
Far = Callable[[], Awaitable[Mapping[str, EndPoint | MissingEnd]]]
Emit = Callable[[Event], None]


class Lost(Exception):
    """An end went away while it was looked at."""


@dataclass(frozen=True)
class Kept:
    """What was found for two machines as they were then; `far` is '' if both sides are one machine."""

    near: str
    far: str
    rung: RungName
    strength: Strength

    def elsewhere(self, rung: Rung) -> str:
        """The rung on which it was found, as its rates are that rung's; '' if it is this one."""
        return "" if self.rung is rung.name else str(self.rung)


@dataclass(frozen=True)
class Pair:
    """The two sides of a rung's path."""

    near: HostFacts
    far: HostFacts

    @property
    def versions(self) -> tuple[ToolVersions, ToolVersions]:
        return ToolVersions(self.near.tools, self.near.os), ToolVersions(self.far.tools, self.far.os)

    @property
    def cores(self) -> int:
        return min(self.near.cores, self.far.cores)

    @property
    def window_limit(self) -> int | None:
        return min((one.window_limit for one in (self.near, self.far) if one.window_limit is not None), default=None)


class Generators:
    """The findings, kept in a file of the state folder. A file that cannot be read counts as empty."""

    def __init__(self, folder: FilePath) -> None:
        self._path = folder / state.GENERATORS

    async def patiently(
        self, plan: Plan, rung: Rung, near: EndPoint, far: Far, measure: Measure, emit: Emit
    ) -> GeneratorChosen | None:
        """The same as `strengthened`, begun again where it broke because an end was lost, which `far` waits for; after
        so many losses as a trial takes the plan's own setting is used, and that is said.
        """
        for _ in range(TRIES if sought(rung) else 1):
            if found := await self.strengthened(plan, rung, {"": near, **await far()}, measure, emit):
                return found
        return GeneratorChosen(rung.name, plan, phrases.search_broke(TRIES)) if sought(rung) else None

    async def strengthened(
        self, plan: Plan, rung: Rung, ends: Mapping[str, EndPoint | MissingEnd], measure: Measure, emit: Emit
    ) -> GeneratorChosen | None:
        """The plan with the generator's strongest settings in the rung's open experiments, or over several paths with
        such as the ends have; None if an end is away.
        """
        points = {name: ends[name] for path in rung.paths for name in (path.origin, path.peer)}
        present = {name: end for name, end in points.items() if not isinstance(end, MissingEnd)}
        if len(present) < len(points):
            return None
        pair, *others = _pairs(rung, {name: await end.ask(wire.Facts()) for name, end in present.items()})
        if not sought(rung):
            after = _with(plan, _as_far_as_possible(rung, [pair, *others]))
            return GeneratorChosen(rung.name, after, phrases.OVER_SEVERAL_PATHS)
        here, there = present[rung.path.origin], present[rung.path.peer]
        if kept := self.known(rung, pair):
            said = phrases.known_strength(kept.strength, kept.elsewhere(rung))
            return GeneratorChosen(rung.name, applied(plan, rung, pair, kept), said)
        emit(GeneratorSought(rung.name, phrases.looking(LIMIT), LIMIT))
        over = routes([path_to_search(rung, here, there)], ends[""])
        failed: list[str] = []

        async def look(generator: Generator) -> float:
            came = await measure(look_at(generator), over)
            if isinstance(came, Interruption):
                raise Lost
            if not came.ok:
                failed.append(f"{came.reason} ({phrases.generator(generator)})")
            return came.goodput_bps if came.ok else 0.0

        on = searched_on(rung)
        within = on is RungName.LOCALHOST
        sides = Pair(pair.near, pair.near) if within else pair
        try:
            strength = await search(
                candidates(*sides.versions, sides.window_limit), numbers_of_streams(sides.cores), look
            )
        except Lost:
            return None
        kept = Kept(*_looked_at(rung, pair, within), on, strength)
        if strength.looked:
            self._keep(kept)
        said = phrases.found_strength(strength, kept.elsewhere(rung), failed)
        return GeneratorChosen(rung.name, applied(plan, rung, pair, kept), said)

    def known(self, rung: Rung, pair: Pair) -> Kept | None:
        """What was found for these machines in their present state: on a nearer link, or within this machine."""
        order = [] if rung.name is RungName.LOCALHOST else [(_looked_at(rung, pair), name) for name in NEAR_BY]
        if rung.name in (RungName.LOCALHOST, RungName.DC_LINK):
            order.append((_looked_at(rung, pair, within=True), RungName.LOCALHOST))
        found = {((one.near, one.far), one.rung): one for one in self.kept()}
        return next((found[where] for where in order if where in found), None)

    def kept(self) -> tuple[Kept, ...]:
        try:
            return tuple(codec.from_json(Kept, one) for one in json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return ()

    def _keep(self, kept: Kept) -> None:
        others = [one for one in self.kept() if (one.near, one.far, one.rung) != (kept.near, kept.far, kept.rung)]
        atomic_files.replace(self._path, json.dumps(codec.to_json([*others, kept][-MOST:])))


def searched_on(rung: Rung) -> RungName:
    """The rung on which the generator is searched: not a long link, where short trials tell little of the sender."""
    return RungName.LOCALHOST if rung.name is RungName.DC_LINK else rung.name


def path_to_search(rung: Rung, here: EndPoint, there: EndPoint) -> tuple[Path, EndPoint, EndPoint]:
    """The path on which the generator is searched, and the ends at its sides."""
    if searched_on(rung) is rung.name:
        return rung.path, here, there
    own = "::1" if ":" in rung.path.remote else "127.0.0.1"
    return Path(own, own), here, here


def applied(plan: Plan, rung: Rung, pair: Pair, kept: Kept) -> Plan:
    """The plan with the generator's strongest settings in the rung's open experiments, which are named anew by them."""
    here = kept.rung is rung.name
    strong = {e.id: chosen(kept.strength, e, *pair.versions, here) for e in rung.experiments if left_open(e)}
    measured = {identity(e) for e in rung.experiments if e.id not in strong}
    strong = {name: e for name, e in strong.items() if identity(e) not in measured}
    others = [e for e in rung.experiments if e.id not in strong]
    named = named_apart(others, [replace(e, id=name_of(e)) for e in strong.values()])[len(others) :]
    made = dict(zip(strong, named, strict=True))
    after = replace(rung, experiments=tuple(made.get(e.id, e) for e in rung.experiments))
    for stair in rung.stairs:
        if stair.first.strongest:
            ways = [*usable(kept.strength, stair.first, *pair.versions, here)] or [Generator.of_load(stair.first)]
            after = begun_at(after, stair, beginning(rung, stair, ways, [pair.versions]))
    return _with(plan, after)


def _with(plan: Plan, rung: Rung) -> Plan:
    return replace(plan, rungs=tuple(rung if r.name is rung.name else r for r in plan.rungs))


@dataclass(frozen=True)
class Foreknown:
    """A plan as a run would begin with it, what is to be said of each rung that leaves the generator open, and those of
    which its strongest setting may be known.
    """

    plan: Plan
    said: Mapping[RungName, str]
    known: frozenset[RungName]


def planned(plan: Plan, facts: Mapping[str, HostFacts], folder: FilePath) -> Foreknown:
    """What is known of the generator beforehand; `facts` are by peer, '' being this end, and a peer that is not in it
    counts as a machine like this.
    """
    generators, said, known = Generators(folder), dict[RungName, str](), set[RungName]()
    for rung in filter(generator_open, plan.rungs):
        said[rung.name] = phrases.not_yet_looked(LIMIT) if sought(rung) else phrases.OVER_SEVERAL_PATHS
        asked = all(name in facts for path in rung.paths for name in (path.origin, path.peer))
        pair, *others = _pairs(rung, facts if asked else defaultdict(lambda: facts[""], facts))
        if asked and sought(rung) and (kept := generators.known(rung, pair)):
            plan = applied(plan, rung, pair, kept)
            said[rung.name] = phrases.known_strength(kept.strength, kept.elsewhere(rung))
            known.add(rung.name)
            continue
        plan = _with(plan, _as_far_as_possible(rung, [pair, *others]))
        if not asked and generators.kept():
            known.add(rung.name)
    return Foreknown(plan, said, frozenset(known))


def _pairs(rung: Rung, facts: Mapping[str, HostFacts]) -> list[Pair]:
    return [Pair(facts[path.origin], facts[path.peer]) for path in rung.paths]


def _as_far_as_possible(rung: Rung, pairs: Sequence[Pair]) -> Rung:
    """The rung whose open staircases begin so that most of their arms can be had, as long as no strength is known."""
    after = rung
    for stair in rung.stairs:
        if stair.first.strongest:
            own, ends = Generator.of_load(stair.first), [pair.versions for pair in pairs]
            after = begun_at(after, stair, beginning(rung, stair, [own], ends), known=False)
    return after


def _looked_at(rung: Rung, pair: Pair, within: bool = False) -> tuple[str, str]:
    """Both sides of the rung's path as they are, the second '' if it was looked `within` the near machine."""
    if within:
        return fingerprint(pair.near), ""
    near, far = (
        fingerprint(facts, facts.card(*rung.path.side(end)))
        for end, facts in ((End.NEAR, pair.near), (End.FAR, pair.far))
    )
    return near, far


def fingerprint(facts: HostFacts, card: Nic | None = None) -> str:
    """One line with all that makes a generator strong or weak over that card; if it differs, earlier findings no
    longer count.
    """
    tools = " ".join(f"{name} {version}" for name, version in sorted(facts.tools.items()))
    kernel = f"{facts.os} {facts.release} {facts.kernel}".strip()
    parts = [facts.name, kernel, facts.cpu, f"{facts.cores} cores", f"{facts.memory // GRAIN} x 64M", tools]
    parts += [f"buffers to {facts.window_limit}"]
    if card:
        offloads = " ".join(name for name, on in sorted(card.offloads.items()) if on)
        parts += [f"{card.name} {card.driver}", f"{card.speed_bps} b/s", f"MTU {card.mtu}", offloads]
    return "; ".join(parts)
