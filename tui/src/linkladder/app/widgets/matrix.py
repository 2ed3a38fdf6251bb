"""Draws the matrix of streams and window: a row for each setting, with both directions side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.text import Text

from linkladder import phrases, units
from linkladder.app.widgets.bars import bar
from linkladder.model import Direction, End, Experiment, ExperimentResult, Protocol, RungResult
from linkladder.model.same_setting import Identity, setting
from linkladder.phrases import WAYS, several_ends
from linkladder.verdicts import RungJudgement

HEADS = {**WAYS, Direction.DUPLEX: "both ways, added"}
OF_PAIRS = {**HEADS, Direction.FORWARD: "as named", Direction.REVERSE: "back"}  # heads below the names of pairs
ROOMY = 112  # columns of a screen on which the share of the ceiling fits too
HEAT, ROOMY_HEAT = 3, 8  # cells of the heat bar


@dataclass(frozen=True)
class Cell:
    """One setting in one direction."""

    result: ExperimentResult
    percent: float | None = None  # percent of the ceiling


@dataclass
class Row:
    """One setting in all its directions."""

    asked: Experiment
    ways: dict[Direction, Cell] = field(default_factory=dict)

    @property
    def tcp(self) -> bool:
        return self.asked.protocol is Protocol.TCP

    def pairs(self, rung: RungResult) -> tuple[int, tuple[int, ...]]:
        """How many paths it loads, and which, where there are more than two ends."""
        loaded = (self.asked.paths or tuple(range(len(rung.paths)))) if several_ends(rung.paths) else ()
        return len(loaded), loaded

    def heading(self, rung: RungResult) -> str:
        """What the columns do not show, and with more than two ends the pairs."""
        pairs = phrases.loaded(self.asked, rung.paths, Direction.FORWARD) if several_ends(rung.paths) else ""
        return ", ".join(filter(None, (phrases.special(self.asked, rung.paths), pairs)))

    @property
    def name(self) -> str:
        p = self.asked
        if self.tcp:
            return f"{p.streams:<8}{phrases.window(p.window):<8}"
        return f"{f'{p.streams} UDP {units.rate(p.udp_rate_bps)}':<16}"


def spread(result: ExperimentResult) -> str:
    """The range over the repeats, such as '8.91-9.41 Gb/s', or a single rate."""
    if result.min_bps is None or result.max_bps is None:
        return "failed" if any(not t.ok for t in result.trials) else "not run"
    return units.rates(result.min_bps, result.max_bps, "-")


def cpu(result: ExperimentResult) -> str:
    """Mean CPU of the near and the far end in percent of all cores, such as '23/31'."""
    found = []
    for end in End:
        used = [use.percent for t in result.trials if t.ok and (use := t.end(end).cpu)]
        if used:
            found.append(f"{sum(used) / len(used):.0f}")
    return "/".join(found) or "-"


def cells(rung: RungResult, judged: RungJudgement | None) -> list[Row]:
    """The rows in the order of the plan; settings that differ in more than streams and window come last."""
    shares = {(j.experiment, j.direction): j.percent_of_ceiling for j in (judged.experiments if judged else ())}
    rows: dict[Identity, Row] = {}
    for e in rung.experiments:
        p = e.parameters
        if p.protocol in (Protocol.TCP, Protocol.UDP):
            cell = Cell(e, shares.get((p.id, p.direction.value)))
            rows.setdefault(setting(p), Row(p)).ways[p.direction] = cell
    return sorted(rows.values(), key=lambda row: (phrases.special(row.asked, rung.paths), row.pairs(rung), not row.tcp))


def most(rows: list[Row], ways: list[Direction]) -> float:
    """The best median of TCP in bit/s; UDP does not count, as its rate is only what was offered."""
    tcp = [row.ways for row in rows if row.tcp]
    return max((row[way].result.median_bps or 0.0 for row in tcp for way in ways if way in row), default=0.0)


def matrix(rung: RungResult, judged: RungJudgement | None, width: int) -> Text:
    """The matrix, with range over the repeats, bar and CPU for each direction; the best of each is marked."""
    rows = cells(rung, judged)
    out = Text(no_wrap=True, overflow="ellipsis")
    ways = [way for way in WAYS if any(way in row.ways for row in rows)]
    if not ways:
        return out
    best = {way: most(rows, [way]) for way in ways}
    both = Direction.DUPLEX
    # The sum of two directions is not compared with single ones.
    tops = {way: most(rows, [both] if way is both else [w for w in ways if w is not both]) for way in ways}
    pages = [ways] if len(ways) < 3 else [ways[:2], ways[2:]]
    for page in pages:
        out.append(_head(page, width, OF_PAIRS if several_ends(rung.paths) else HEADS) + "\n", "bold underline")
        above = ""
        for row in rows:
            if not any(way in row.ways for way in page):
                continue
            if (heading := row.heading(rung)) != above:
                out.append(f"{heading}:\n", "dim")
                above = heading
            out.append(row.name)
            for way in page:
                cell = row.ways.get(way)
                marked = row.tcp and cell is not None and cell.result.median_bps == best[way] and best[way] > 0
                _cell(out, cell, marked, tops[way], width)
            out.append("\n")
    sides = "first/second end" if several_ends(rung.paths) else "near/far"
    out.append(f"* best setting of TCP   bar: of that   CPU: {sides}, of all its cores", "dim")
    return out


def _head(ways: list[Direction], width: int, heads: Mapping[Direction, str]) -> str:
    roomy = width >= ROOMY
    wide, share = (ROOMY_HEAT, "of ceiling ") if roomy else (HEAT, "")
    parts = [f"{'  ' + heads[way]:<{18 + wide}}{share}{'CPU, %':<9}" for way in ways]
    return (f"{'streams':<8}{'window':<8}" + "".join(parts)).rstrip()


def _cell(out: Text, cell: Cell | None, marked: bool, top: float, width: int) -> None:
    roomy = width >= ROOMY
    wide = ROOMY_HEAT if roomy else HEAT
    if cell is None:
        out.append(" " * (27 + wide + (11 if roomy else 0)))
        return
    out.append(f"{'*' if marked else ' '} {spread(cell.result):<15}", "bold" if marked else "")
    share = (cell.result.median_bps or 0) / top if top else 0.0
    out.append(f"{bar(share, wide)} ", "cyan")
    if roomy:
        out.append(f"{f'{cell.percent:.1f} %' if cell.percent is not None else '-':<11}")
    out.append(f"{cpu(cell.result):<9}")
