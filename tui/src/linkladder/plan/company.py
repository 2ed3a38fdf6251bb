"""Decides which paths of a rung are loaded together.

They may be loaded one at a time, in rounds of paths that share no end, all at once, or with one path loaded throughout
while the others come and go. A mesh has a path for every pair of its ends. Pairs that share no end run in the same
round: N ends need N-1 rounds if N is even and N rounds if it is odd, and no schedule with one trial at a time on each
end needs fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from linkladder.model import LONGEST_NAME, Company, Experiment, Path, Rung
from linkladder.model.several_legs import parts
from linkladder.plan.naming import fitting

NEAR = "near"  # the name of this appliance among the ends of a mesh


def mesh(ends: Sequence[str]) -> tuple[Path, ...]:
    """A path for every pair of ends; the end that is named first is the near side, and this appliance always is."""
    return tuple(
        Path(peer=there, origin="" if here == NEAR else here)
        for here, there in combinations(sorted(dict.fromkeys(ends), key=lambda name: name != NEAR), 2)
    )


def rounds(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[int, ...], ...]:
    """The numbers of the pairs, put into as few rounds as possible; no end is in two pairs of one round."""
    ends = list(dict.fromkeys(end for pair in pairs for end in pair))
    busy: dict[int, set[str]] = {}
    found: dict[int, list[int]] = {}
    wanted = _circle(ends)
    for number, pair in enumerate(pairs):
        colour = wanted[frozenset(pair)]
        if busy.setdefault(colour, set()) & set(pair):  # two paths join the same pair of ends
            colour = next(c for c in range(len(pairs) * 2) if not busy.setdefault(c, set()) & set(pair))
        busy[colour] |= set(pair)
        found.setdefault(colour, []).append(number)
    circled = tuple(tuple(found[colour]) for colour in sorted(found))
    greedy = _greedy(pairs)
    return greedy if len(greedy) <= len(circled) else circled


def apart(ends: Sequence[str], sites: Mapping[str, str]) -> tuple[Path, ...]:
    """As many paths as possible that share no end, preferably between two sites; this appliance's path comes first.

    If no two such paths exist, as with three ends, the paths of this appliance instead.
    """
    every = mesh(ends)
    together = [[every[n] for n in one] for one in rounds([(path.origin or NEAR, path.peer) for path in every])]
    best = max(together, key=lambda paths: sum(_crosses(path, sites) for path in paths), default=[])
    if len(best) < 2:
        best = [path for path in every if not path.origin]
    return tuple(sorted(best, key=lambda path: path.origin))


def _crosses(path: Path, sites: Mapping[str, str]) -> bool:
    here, there = sites.get(path.origin or NEAR, ""), sites.get(path.peer, "")
    return bool(here and there and here != there)


def asks_for_neighbours(rung: Rung) -> bool:
    return any(e.company in (Company.NEIGHBOURS, Company.VISITED) for e in rung.experiments)


def spread(rung: Rung) -> Rung:
    """The rung with one experiment for each path or round that its experiments are to load separately."""
    rung = _over_bundles(rung)
    if all(e.company is Company.ALL or e.paths for e in rung.experiments):
        return rung
    names = _names(rung.paths, LONGEST_NAME - 1 - max(len(e.id) for e in rung.experiments))
    together = rounds([(path.origin or NEAR, path.peer) for path in rung.paths])
    made: list[Experiment] = []
    single = len(names) == 1 and any(e.company is Company.ALL for e in rung.experiments)
    for e in rung.experiments:
        if single and e.company is not Company.ALL:
            continue  # with a single path, loading all is the same
        if e.company is Company.ALL or e.paths:
            made.append(e)
        elif e.company is Company.ALONE:
            made += [_on(e, name, (number,)) for number, name in enumerate(names)]
        elif e.company is Company.NEIGHBOURS:
            made += [_on(e, name, (0, n)) for n, name in enumerate(names) if n]
        elif e.company is Company.VISITED:  # the plan's duration is that of each part
            lasting = e.duration * parts(len(names) - 1)
            made += [replace(e, paths=tuple(range(len(names))), duration=lasting)] if len(names) > 1 else []
        elif len(together) > 1 and any(len(one) > 1 for one in together):  # else it equals alone or all
            made += [_on(e, str(n), one) for n, one in enumerate(together, 1)]
    return replace(rung, experiments=tuple(made))


def _over_bundles(rung: Rung) -> Rung:
    """Let bundles, and what they are compared with, use only the first path, whose addresses load all their cards."""
    compared = {name for e in rung.experiments if e.bundled for name in (e.id, e.baseline)}
    if not compared or len(rung.paths) < 2:
        return rung
    of_one = tuple(replace(e, paths=(0,)) if e.id in compared else e for e in rung.experiments)
    return replace(rung, experiments=of_one)


def _on(e: Experiment, name: str, paths: tuple[int, ...]) -> Experiment:
    """The experiment on these paths; an arm is compared with its baseline on the same ones."""
    baseline = e.baseline and fitting(f"{e.baseline}-{name}")
    return replace(e, id=fitting(f"{e.id}-{name}"), baseline=baseline, paths=paths)


def _names(paths: Sequence[Path], longest: int) -> list[str]:
    """Each path by the names of its two ends, or by its number if those are too long, or alike for several paths."""
    ends = [f"{path.origin or NEAR}-{path.peer}" if path.peer else "" for path in paths]
    times = Counter(ends)
    by_ends = [bool(name) and times[name] == 1 and len(name) <= longest for name in ends]
    return [name if known else f"path{n}" for n, (name, known) in enumerate(zip(ends, by_ends, strict=True), 1)]


def _circle(ends: Sequence[str]) -> dict[frozenset[str], int]:
    """The round of each pair, as in a round-robin tournament: one end keeps its seat, the others move on by one."""
    seats = [*ends] if len(ends) % 2 == 0 else [*ends, ""]
    found: dict[frozenset[str], int] = {frozenset((end,)): 0 for end in ends}
    for number in range(len(seats) - 1):
        for left, right in zip(seats[: len(seats) // 2], reversed(seats[len(seats) // 2 :]), strict=True):
            found[frozenset((left, right))] = number
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return found


def _greedy(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[int, ...], ...]:
    """Put each pair into the first round in which both of its ends are free."""
    found: list[tuple[set[str], list[int]]] = []
    for number, pair in enumerate(pairs):
        free = next((one for one in found if not one[0] & set(pair)), None)
        if free is None:
            free = (set(), [])
            found.append(free)
        free[0].update(pair)
        free[1].append(number)
    return tuple(tuple(numbers) for _, numbers in found)
