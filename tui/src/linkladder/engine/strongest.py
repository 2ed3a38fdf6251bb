"""Finds the setting in which this generator is strongest, by short trials: each round tries fewer settings."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from linkladder import tools
from linkladder.model import Direction, Experiment, Generator, Looked, Protocol, Rung, Stair, Strength
from linkladder.plan import MOST_STREAMS, SEARCH, begun_at, present_step, usual_streams
from linkladder.tools import ToolVersions

LIMIT = SEARCH  # seconds, all in
LOOK = 1.0  # counted seconds of each
FINALISTS = 2
FEWEST = 4  # settings to choose from, before a final is worth its time
ENOUGH = 5  # looks at one
CLOSE = 0.85  # what carries so much of the best one's rate may be the stronger of the two
MARGIN = 1.05  # by which a setting must be ahead of the default: less may be chance, and the default is known best
HURRIED = 1.2  # by which one must be ahead of what works least a byte, where looks are slow and each has had one
DEFAULT = Generator()
Versions = tuple[ToolVersions, ToolVersions]  # of a path's two ends


def look_at(generator: Generator) -> Experiment:
    """The short trial that shows what a setting carries."""
    return replace(generator.of(Experiment("look")), duration=LOOK, warmup=0.0)


def candidates(near: ToolVersions, far: ToolVersions, window_limit: int | None) -> tuple[Generator, ...]:
    """Every way to send that both ends can, with one stream, the default first, and last what works least a byte."""
    return tuple(
        one
        for tool in tools.TOOLS.values()
        for one in tool.generators
        if tools.can(one.of(Experiment("look")), near, far)
        and not (one.window and window_limit is not None and one.window > window_limit)
    )


def numbers_of_streams(cores: int) -> tuple[int, ...]:
    """The rule of thumb first: half the cores; then one for each, and one alone; never more than an end accepts.

    Two on one core as well: one of them has something to send while the other waits.
    """
    return tuple(dict.fromkeys((usual_streams(cores), min(max(cores, 2), MOST_STREAMS), 1)))


async def search(
    ways: Sequence[Generator],
    streams: Sequence[int],
    look: Callable[[Generator], Awaitable[float]],
    clock: Callable[[], float] = time.monotonic,
    limit: float = LIMIT,
) -> Strength:
    """Search with `look`, which returns what a setting carried: all ways, then the better ones with other numbers of
    streams, then a final, and as long as there is time those that are close in turn.

    The last way, which works least a byte, is looked at first: on a slow machine there may be time for no other. A look
    that might not end in time is not begun; the time that the final takes is kept back for it. Where looks are so slow
    that a final would leave next to none to choose from, more settings are looked at instead: the default, then from
    the last on. A machine with such looks is slow, so what works least a byte is likely the strongest, and is taken if
    none is well ahead of it.
    """
    seen: dict[Generator, list[float]] = {}
    began, longest = clock(), 0.0

    async def try_all(these: Iterable[Generator], kept_back: int) -> None:
        nonlocal longest
        for one in these:
            at = clock()
            if at - began + longest * (1 + kept_back) > limit:
                return
            seen.setdefault(one, []).append(await look(one))
            longest = max(longest, clock() - at)

    def ranked() -> list[Looked]:
        return _ranked(seen, preferred, margin)

    default, kept_back = replace(DEFAULT, streams=streams[0]), FINALISTS + 1
    preferred, margin = default, MARGIN
    first, *others = (replace(one, streams=streams[0]) for one in (*ways[-1:], *ways[:-1]))
    await try_all([first], 0)
    if longest * (FEWEST + kept_back) > limit:
        others, kept_back = [*others[:1], *others[:0:-1]], 0
        preferred, margin = first, HURRIED
    await try_all(others, kept_back)
    better = ranked()[: math.ceil(len(ways) / 3)]
    await try_all((replace(one.generator, streams=n) for one in better for n in streams[1:]), kept_back)
    final = [one.generator for one in ranked()[:FINALISTS]]
    await try_all(dict.fromkeys((*final, default)) if default in seen else final, 0)
    while clock() - began + longest <= limit and (next_one := _least_known(ranked())):
        await try_all([next_one], 0)
    return Strength(tuple(ranked()), round(clock() - began, 1), datetime.now(UTC).isoformat(timespec="seconds"))


def _ranked(seen: Mapping[Generator, Sequence[float]], preferred: Generator, margin: float) -> list[Looked]:
    """Those that carried anything, the strongest first; the preferred before what is ahead of it by chance."""
    means = {one: statistics.fmean(rates) for one, rates in seen.items() if min(rates) > 0}
    worth = {one: bps * (margin if one == preferred else 1.0) for one, bps in means.items()}
    return [Looked(one, means[one], len(seen[one])) for one in sorted(means, key=lambda one: -worth[one])]


def _least_known(ranked: Sequence[Looked]) -> Generator | None:
    """Of several that may be the strongest the one least looked at; None where one is ahead or all are known."""
    most = max((one.bps for one in ranked), default=0.0)
    close = [one for one in ranked if one.bps >= CLOSE * most]
    least = min(close, key=lambda one: one.looks, default=None)
    return least.generator if least and len(close) > 1 and least.looks < ENOUGH else None


def chosen(strength: Strength, exp: Experiment, near: ToolVersions, far: ToolVersions, here: bool) -> Experiment:
    """The experiment as the generator is strongest for it; as it is where nothing that was looked at can be used."""
    return next((one.of(exp) for one in usable(strength, exp, near, far, here)), exp)


def usable(
    strength: Strength, exp: Experiment, near: ToolVersions, far: ToolVersions, here: bool
) -> Iterator[Generator]:
    """What was looked at and can be used for the experiment, the strongest first.

    `here`: it was looked at on this very path.  On a longer one a fixed buffer would hold the rate, and fewer streams
    suffer more from each loss, so that neither is taken there.  Looks go one way: what goes both ways at once is done
    in the same way with as many streams as that takes, and what cannot go both ways is passed over.
    """
    for looked in strength.looked:
        one = looked.generator
        if exp.direction is Direction.DUPLEX and not exp.step:
            one = replace(one, streams=max(one.streams, exp.streams))
        if not here and (one.window is not None or one.streams < exp.streams):
            continue
        if tools.can(one.of(exp), near, far):
            yield one


def beginning(rung: Rung, stair: Stair, ways: Sequence[Generator], ends: Sequence[Versions]) -> Generator:
    """Where a staircase begins over paths with these ends: of these ways to send, and then of all others, the first
    with which most of its arms can be had, as not every tool can do what a later step tries.
    """
    others = (replace(one, streams=stair.first.streams) for one in candidates(*ends[0], None))
    return max((*ways, *others), key=lambda way: _reach(rung, stair, way, ends))


def _reach(rung: Rung, stair: Stair, way: Generator, ends: Sequence[Versions]) -> int:
    """How many arms of a staircase that begins that way can be had at these ends."""
    alone = replace(rung, experiments=present_step(rung, stair), stairs=(stair,))
    after = begun_at(alone, stair, way)
    later = (e for moved in after.stairs for step in moved.steps for e in step)
    return sum(all(tools.can(e, *pair) for pair in ends) for e in (*after.experiments, *later))


def left_open(exp: Experiment) -> bool:
    """Whether a load may take the generator's strongest setting; one that is compared with another may not."""
    return exp.strongest and exp.protocol is Protocol.TCP and not exp.step and not exp.baseline
