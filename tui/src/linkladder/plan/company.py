"""Which paths of a rung are loaded together: each alone, those that share no end side by side, all at once, or one
throughout while the others come and go.

A mesh is every pair of its ends.  Pairs that share no end are coloured alike and run side by side: N ends need N-1
rounds where N is even, and N where it is odd, and no schedule with one trial at a time on each end has fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from linkladder.model import Company, Experiment, Path, Rung
from linkladder.model.several_legs import parts

NEAR = "near"  # this appliance, among the ends of a mesh


def mesh(ends: Sequence[str]) -> tuple[Path, ...]:
    """A path for every pair of them; of each pair the one that is named first is the near side."""
    return tuple(
        Path(peer=there, origin="" if here == NEAR else here)
        for here, there in combinations(sorted(dict.fromkeys(ends), key=lambda name: name != NEAR), 2)
    )


def rounds(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[int, ...], ...]:
    """The pairs by number, in as few rounds as can be: in none of them is an end in two pairs."""
    ends = list(dict.fromkeys(end for pair in pairs for end in pair))
    busy: dict[int, set[str]] = {}
    found: dict[int, list[int]] = {}
    wanted = _circle(ends)
    for number, pair in enumerate(pairs):
        colour = wanted[frozenset(pair)]
        if busy.setdefault(colour, set()) & set(pair):  # the same pair once more, by another path
            colour = next(c for c in range(len(pairs) * 2) if not busy.setdefault(c, set()) & set(pair))
        busy[colour] |= set(pair)
        found.setdefault(colour, []).append(number)
    circled = tuple(tuple(found[colour]) for colour in sorted(found))
    greedy = _greedy(pairs)
    return greedy if len(greedy) <= len(circled) else circled


def apart(ends: Sequence[str], sites: Mapping[str, str]) -> tuple[Path, ...]:
    """As many paths as can be of which no two share an end, this appliance's first, and rather between two sites.

    Three ends have no two such paths: those of this appliance.
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
    """Its experiments, those for single paths and for rounds once for each."""
    rung = _over_bundles(rung)
    if all(e.company is Company.ALL or e.paths for e in rung.experiments):
        return rung
    names = [_name(path, number, rung.paths) for number, path in enumerate(rung.paths)]
    together = rounds([(path.origin or NEAR, path.peer) for path in rung.paths])
    made: list[Experiment] = []
    single = len(names) == 1 and any(e.company is Company.ALL for e in rung.experiments)
    for e in rung.experiments:
        if single and e.company is not Company.ALL:
            continue  # it is what all of them are
        if e.company is Company.ALL or e.paths:
            made.append(e)
        elif e.company is Company.ALONE:
            made += [replace(e, id=f"{e.id}-{name}", paths=(number,)) for number, name in enumerate(names)]
        elif e.company is Company.NEIGHBOURS:
            made += [replace(e, id=f"{e.id}-{name}", paths=(0, n)) for n, name in enumerate(names) if n]
        elif e.company is Company.VISITED:  # each part of it lasts as long as the plan says
            lasting = e.duration * parts(len(names) - 1)
            made += [replace(e, paths=tuple(range(len(names))), duration=lasting)] if len(names) > 1 else []
        elif len(together) > 1 and any(len(one) > 1 for one in together):  # else it is what the two others are
            made += [replace(e, id=f"{e.id}-{n}", paths=one) for n, one in enumerate(together, 1)]
    return replace(rung, experiments=tuple(made))


def _over_bundles(rung: Rung) -> Rung:
    """A bundle of all cards is loaded by the first path's addresses, and so is what it is compared with."""
    compared = {name for e in rung.experiments if e.bundled for name in (e.id, e.baseline)}
    if not compared or len(rung.paths) < 2:
        return rung
    of_one = tuple(replace(e, paths=(0,)) if e.id in compared else e for e in rung.experiments)
    return replace(rung, experiments=of_one)


def _name(path: Path, number: int, paths: Sequence[Path]) -> str:
    """The pair, where that tells it from the others."""
    sides = [(one.origin, one.peer) for one in paths]
    if sides.count((path.origin, path.peer)) > 1 or not path.peer:
        return f"path{number + 1}"
    return f"{path.origin or NEAR}-{path.peer}"


def _circle(ends: Sequence[str]) -> dict[frozenset[str], int]:
    """A round for every pair: one end sits still while the others move on by a seat a round."""
    seats = [*ends] if len(ends) % 2 == 0 else [*ends, ""]
    found: dict[frozenset[str], int] = {frozenset((end,)): 0 for end in ends}
    for number in range(len(seats) - 1):
        for left, right in zip(seats[: len(seats) // 2], reversed(seats[len(seats) // 2 :]), strict=True):
            found[frozenset((left, right))] = number
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return found


def _greedy(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[int, ...], ...]:
    """Each in the first round in which both its ends are free."""
    found: list[tuple[set[str], list[int]]] = []
    for number, pair in enumerate(pairs):
        free = next((one for one in found if not one[0] & set(pair)), None)
        if free is None:
            free = (set(), [])
            found.append(free)
        free[0].update(pair)
        free[1].append(number)
    return tuple(tuple(numbers) for _, numbers in found)
