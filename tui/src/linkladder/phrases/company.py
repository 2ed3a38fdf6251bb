"""Puts the results of several paths into words: what each carries alone, beside the others, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linkladder import units
from linkladder.model import Direction, Experiment, Path
from linkladder.phrases import arms, judgements, one_setting
from linkladder.phrases.ways import listed, path_name, several_ends, way
from linkladder.verdicts import Cell, Spread, Verdict


@dataclass(frozen=True)
class Grid:
    """The cells by row and column: from the end named by the row to the end named by the column."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]
    asked: dict[tuple[str, str], int] = field(default_factory=dict)  # the path that is to be measured there


def grid(cells: Sequence[Cell], paths: Sequence[Path] = ()) -> Grid:
    """A grid of ends by ends; if two ends have several paths between them, of paths by directions.

    `paths`: all that are to be measured, so that the grid of a run that goes on is whole from its beginning.
    """
    asked = {n: path.ends(Direction.FORWARD) for n, path in enumerate(paths)}
    pairs = asked | {c.path: (c.sender, c.receiver) for c in cells}
    if len({frozenset(pair) for pair in pairs.values()}) < len(pairs):
        placed = {(f"path {c.path + 1}", f"{c.sender}>{c.receiver}"): c for c in cells}
        wanted = {(f"path {n + 1}", f"{here}>{there}"): n for n, (here, there) in asked.items()}
        rows, columns = (tuple(dict.fromkeys(key[n] for key in (*wanted, *placed))) for n in range(2))
        return Grid(rows, columns, placed, wanted)
    every = (end for pair in (*asked.values(), *((c.sender, c.receiver) for c in cells)) for end in pair)
    ends = tuple(sorted(dict.fromkeys(every), key=lambda e: e != "near"))
    return Grid(ends, ends, {(c.sender, c.receiver): c for c in cells}, {pair: n for n, pair in asked.items()})


MARKS = {
    Verdict.PASS: "+",
    Verdict.FAIL: "!",
    Verdict.IMPOSSIBLE: "^",
    Verdict.CANNOT_JUDGE: "?",
    Verdict.INCOMPLETE: "-",
}
LEGEND = "+ pass  ! fail  ^ impossible  ? cannot judge  - incomplete"
VIEWS = ("alone", "with all", "taken", "round trip, ms", "lost")


def figure(cell: Cell | None, view: str) -> str:
    """A figure short enough for a column of the matrix, such as '941M', '12 %' or '0.21'; `view` is one of VIEWS."""
    if cell is None:
        return ""
    value = {
        "alone": cell.alone_bps,
        "with all": cell.together_bps,
        "taken": cell.lost_share,
        "round trip, ms": cell.rtt_ms,
        "lost": cell.loss_percent,
    }[view]
    if value is None:
        return "."
    if view in ("alone", "with all"):
        return units.rate(value).replace("b/s", "").replace(" ", "")
    return f"{100 * value:.0f} %" if view == "taken" else f"{value:.3g}" + (" %" if view == "lost" else "")


def shortened(names: Sequence[str], width: int) -> list[str]:
    """Names of so many characters at most: of a longer one beginning and end, or its place in the list, so that no two
    are alike."""
    tail = width // 2
    made = [one if len(one) <= width else f"{one[: width - tail - 1]}~{one[-tail:]}" for one in names]
    return [one if made.count(one) < 2 else f"{one[: width - len(str(n)) - 1]}#{n}" for n, one in enumerate(made, 1)]


def lines(cells: Sequence[Cell], view: str, wide: int = 8) -> list[str]:
    """The matrix as lines of text; rates alone have a mark for the verdict."""
    found = grid(cells)
    wide = max(wide, *(len(name) + 1 for name in found.columns))
    first = max(len(name) for name in found.rows)
    made = [" " * first + "".join(f"{name:>{wide}}" for name in found.columns)]
    for row in found.rows:
        texts = []
        for column in found.columns:
            cell = found.cells.get((row, column))
            mark = MARKS[cell.judgement.verdict] if cell and view == "alone" else ""
            texts.append(f"{figure(cell, view) + mark:>{wide}}")
        made.append(f"{row:<{first}}" + "".join(texts))
    return made


def receivers(paths: Sequence[Path], numbers: Sequence[int], way: Direction) -> str:
    """Who receives that way on these paths of several ends, such as 'gamma' or '3 ends'; else 'far' or 'near'."""
    if not several_ends(paths):
        return "near" if way is Direction.REVERSE else "far"
    names = list(dict.fromkeys(path.ends(way)[1] for n, path in enumerate(paths) if n in numbers or not numbers))
    return units.joined(names) if len(names) < 3 else f"{len(names)} ends"


def reached(bps: float, needed: float) -> str:
    return f"carries {units.rate(bps)} alone, and {units.rate(needed)} is needed"


def few(bps: float, needed: float, failed: int, repeats: int, reason: str) -> str:
    return f"{reached(bps, needed)}, but {failed} of {repeats} repeats failed: {reason}"


def silent(count: int, repeats: int, why: str) -> str:
    return f"carried nothing in {count} of {units.plural(repeats, 'repeat')} alone: {why}"


def weak(bps: float, needed: float, why: str) -> str:
    return f"{reached(bps, needed)}, but {why}"


def scattered(said: str, most: float) -> str:
    """`said`: a text of `reached`; `most`: the upper bound of the rate."""
    return f"{said}, but it may be up to {units.rate(most)}, as far as the repeats tell"


def above(bps: float, ceiling: float) -> str:
    return f"carries {units.rate(bps)}, above the {units.rate(ceiling)} that the contract allows: it is another link"


def not_measured(reasons: Sequence[str]) -> str:
    return f"was not measured: {reasons[0]}" if reasons else "was not measured alone"


def cell_line(name: str, cell: Cell) -> str:
    """All figures of one cell in a line."""
    parts = [f"{units.rate(cell.alone_bps)} alone"] if cell.alone_bps is not None else []
    if cell.beside_bps is not None:
        parts.append(f"{units.rate(cell.beside_bps)} beside pairs of other ends")
    if cell.together_bps is not None:
        lost = cell.lost_share
        took = f" ({100 * lost:.0f} % taken by the others)" if lost and lost >= 0.02 else ""
        parts.append(f"{units.rate(cell.together_bps)} with all{took}")
    if cell.rtt_ms is not None:
        parts.append(f"round trip {units.milliseconds(cell.rtt_ms)}")
    if cell.loss_percent is not None:
        parts.append(f"{cell.loss_percent:.3g} % lost")
    return f"{name}: {'; '.join(parts) or cell.judgement.sentence}"


def row(end: str, cells: Sequence[Cell]) -> str:
    """A sentence on everything that an end sends."""
    alone = [cell.alone_bps for cell in cells if cell.alone_bps is not None]
    together = [cell.together_bps for cell in cells if cell.together_bps is not None]
    parts = [f"alone {units.rates(min(alone), max(alone), ' to ')}{' each' if len(alone) > 1 else ''}"] if alone else []
    parts += [f"with all {units.rate(sum(together))} in sum"] if together else []
    counts = {v: sum(cell.judgement.verdict is v for cell in cells) for v in Verdict}
    parts += [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return f"{end} sends over {units.plural(len(cells), 'path')}: {', '.join(parts)}."


def shared(names: Sequence[str], alone: Sequence[float], beside: Sequence[float]) -> str:
    """As 'beta to gamma and delta to near share something that carries ...'."""
    rates = listed([units.rate(bps) for bps in alone])
    left = listed([units.rate(bps) for bps in beside])
    return (
        f"{listed(names)} share something that carries {units.rate(sum(beside))}: "
        f"alone they carry {rates}, side by side {left}."
    )


def nothing_shared(direction: str, paths: Sequence[Path]) -> str:
    apart = "paths that share no end took nothing from each other where only such paths ran at once"
    said = way(direction, paths)
    return f"{said[:1].upper()}{said[1:]}, {apart}."


def own_limit(end: str, sends: bool, count: int, bps: float) -> str:
    does = "sends" if sends else "receives"
    return (
        f"{end} {does} {units.rate(bps)}, over one path or over {count} at once: its own card, the machine itself, or "
        "what these paths share."
    )


def plateau(direction: str, bps: float, paths: int) -> str:
    return (
        f"{way(direction).capitalize()}, the sum stays at {units.rate(bps)}, over one path or over {paths}: "
        "what limits is common to all of them, the machine, a cap on it or what these paths share, and none of the "
        "cards."
    )


def whole(
    verdict: Verdict, sums: dict[str, float], needed: float | None, ceiling: float | None, paths: Sequence[Path]
) -> str:
    """What all paths carry together, compared with the shared link's ceiling if that is declared."""
    if not sums:
        return "what all paths carry at once was not measured."
    rates = " and ".join(f"{units.rate(bps)}{_which_way(direction, paths)}" for direction, bps in sums.items())
    said = f"all paths at once carry {rates}" if set(sums) <= set(Direction) else f"between the sites went {rates}"
    if needed is None or ceiling is None:
        return f"{said}."
    if verdict is Verdict.IMPOSSIBLE:
        return f"{said}, more than what they are said to share: some go past it."
    return f"{said}; what they share is to carry {units.rate(needed)} of {units.rate(ceiling)}."


def from_site(sender: str, receiver: str) -> str:
    """One direction of the link between two sites, such as 'east to west'."""
    return f"{sender} to {receiver}"


def too_weak(alone: float, needed: float) -> str:
    return (
        f"The paths alone add up to {units.rate(alone)}, so that they could not show the {units.rate(needed)} needed."
    )


def busy_together(together: float, needed: float, busy: str) -> str:
    return f"{units.rate(together)} side by side are less than the {units.rate(needed)} needed, but {busy}."


def scattered_together(together: float, needed: float, most: float) -> str:
    return (
        f"{units.rate(together)} side by side are less than the {units.rate(needed)} needed, but as far as the repeats "
        f"tell it may be up to {units.rate(most)}."
    )


def lacking(names: Sequence[str], reason: str) -> str:
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} not in the sum: {reason}"


def lacked_once(names: Sequence[str], reason: str) -> str:
    """Of repeats with all paths, and others without these."""
    were = "was" if len(names) == 1 else "were"
    return f"{listed(names)} {were} lost in a repeat, and the sum is that of the others: {reason}"


def cells_short(names: Sequence[str], verdict: Verdict) -> str:
    one, several = {
        Verdict.FAIL: ("carries too little alone", "carry too little alone"),
        Verdict.IMPOSSIBLE: ("carries more than was sold", "carry more than was sold"),
        Verdict.CANNOT_JUDGE: ("could not be judged alone", "could not be judged alone"),
        Verdict.INCOMPLETE: ("was not measured", "were not measured"),
    }[verdict]
    return f"{listed(names)} {one if len(names) == 1 else several}."


def alone(paths: Sequence[Path], number: int, direction: Direction) -> str:
    return f"{path_name(paths, number, direction)} alone"


def together(name: str, paths: Sequence[Path]) -> str:
    """`name`: a direction, or a text of `from_site`."""
    return f"All together{_which_way(name, paths, ', ')},"


def _which_way(name: str, paths: Sequence[Path], before: str = " ") -> str:
    """The direction of all paths together: with more than two ends only that it is the way back."""
    if name not in tuple(Direction) or not several_ends(paths):
        return f"{before}{way(name)}"
    return f"{before}back" if name == Direction.REVERSE else ""


def once(name: str) -> str:
    """`name`: a text of `together`."""
    return f"{name} the paths were measured once."


def not_sure(name: str, seen: Spread, needed: float) -> str:
    """`name`: a text of `alone` or `together`."""
    return f"{name[:1].upper()}{name[1:]} {judgements.sure_of(seen, needed)}."


def reached_unsurely(bps: float, seen: Spread, needed: float) -> str:
    return f"carries {units.rate(bps)} alone, but {judgements.sure_of(seen, needed)}"


def reached_at_times(bps: float, streams: int, seen: Spread, needed: float) -> str:
    """`streams`: of another setting than the one that carries so much."""
    other = f"with {units.plural(streams, 'stream')}"
    return f"carries {units.rate(bps)} alone, but {other} {judgements.sure_of(seen, needed)}"


def failed_together(name: str, failed: int, repeats: int, reason: str) -> str:
    """`name`: a text of `together`."""
    return f"{name} {failed} of {units.plural(repeats, 'repeat')} failed: {reason}."


def did_not_last(
    p: Experiment, direction: str, first: float, lasting: float, repeat: int, paths: Sequence[Path]
) -> str:
    return f"{arms.one_way(p, direction, paths=paths)}: {one_setting.did_not_last(first, lasting, repeat)}"


def broken(p: Experiment, repeat: int, why: str, paths: Sequence[Path]) -> str:
    return f"{arms.trial(p, repeat, paths=paths)} was not measured: {why}"


def stalled(paths: Sequence[Path], number: int, p: Experiment, repeat: int, why: str) -> str:
    return f"{path_name(paths, number, p.direction)} carried nothing ({arms.trial(p, repeat, paths=paths)}): {why}"


def one_direction(names: Sequence[str]) -> str:
    return f"{listed(names)} {'was' if len(names) == 1 else 'were'} not measured alone: the verdict says nothing of it."
