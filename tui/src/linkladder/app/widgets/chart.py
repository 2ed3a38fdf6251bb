"""Draws throughput per second as a strip of bars, with the ceiling and the contract as lines across it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from linkladder import units
from linkladder.app.error_handling import Guarded
from linkladder.app.terminal import Glyphs

Point = tuple[float, float, bool]  # second, b/s, counted
EIGHTHS = " ▁▂▃▄▅▆▇█"
GUTTER = 10  # columns for labels such as "9.41 Gb/s "


def nice_top(highest: float) -> float:
    """The smallest of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten that is not below the highest value."""
    if highest <= 0:
        return 1e6
    power = 10.0 ** math.floor(math.log10(highest))
    return next((power * m for m in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if power * m >= highest), power * 10)


def cell(level: float, tier: Glyphs) -> str:
    """The glyph of a cell that is filled to `level` (0..1)."""
    if level <= 0:
        return " "
    if tier is Glyphs.UNICODE:
        return EIGHTHS[max(1, min(8, round(level * 8)))]
    if tier is Glyphs.CP437:
        return "█" if level >= 0.75 else "▄" if level >= 0.25 else "_"
    return "#" if level >= 0.5 else "_"


Cell = tuple[str, str]  # a character and its style


def draw(
    points: list[Point],
    width: int,
    height: int,
    lines: list[tuple[str, float]],
    tier: Glyphs = Glyphs.UNICODE,
    seconds: float = 0.0,
    captions: Sequence[str] = (),
) -> list[list[Cell]]:
    """The chart's rows with axis and marks.

    `lines` are (word, bit/s), `seconds` is the time that the whole width shows, and the first of
    the captions that fits is put on the axis.
    """
    plot = max(10, width - GUTTER - 1)
    rows = max(4, height - 1)
    rows -= rows % 2  # so that the label in the middle is half of the top
    highest = max([bps for _, bps, _ in points] + [bps for _, bps in lines] + [0.0])
    top = nice_top(highest * 1.02)
    span = max(seconds, max((t + 1 for t, _, _ in points), default=0.0), 1.0)
    columns = _columns(points, plot, span)
    marks: dict[int, tuple[str, float]] = {}
    for word, bps in sorted(lines, key=lambda line: -line[1]):  # if two are in one row, the lower one moves down
        row = rows - 1 - min(rows - 1, int(bps / top * rows))
        while row in marks and row + 1 < rows:
            row += 1
        marks[row] = (word, bps)
    out = [_row(row, rows, top, columns, marks.get(row), tier) for row in range(rows)]
    axis = "└" + "─" * plot
    label = f" {span:.0f} s ─"
    room = plot - len(label)
    fitting = next((one for one in captions if len(one) + 4 <= room), captions[-1] if captions else "")
    said = f"└─ {fitting} "[:room] if fitting else ""
    axis = said + axis[len(said) : -len(label)] + label
    out.append([(char, "dim") for char in " " * GUTTER + axis])
    return out


def _columns(points: list[Point], plot: int, span: float) -> list[Point | None]:
    """The second that each column shows: a second may take several columns, or a column several seconds."""
    step = max(1, math.floor(plot / span))
    per_column = max(1.0, span / plot)
    columns: list[Point | None] = [None] * plot
    for point in points:
        column = int(point[0] * step) if span <= plot else int(point[0] / per_column)
        for offset in range(max(1, step - (1 if step > 2 else 0))):
            if 0 <= column + offset < plot:
                columns[column + offset] = point
    return columns


def _row(
    row: int,
    rows: int,
    top: float,
    columns: list[Point | None],
    mark: tuple[str, float] | None,
    tier: Glyphs,
) -> list[Cell]:
    label = units.rate(top) if row == 0 else units.rate(top / 2) if row == rows // 2 else ""
    out = [(char, "dim") for char in f"{label:>{GUTTER - 1}} │"]
    base = (rows - 1 - row) / rows * top
    for point in columns:
        glyph = cell((point[1] - base) / top * rows, tier) if point else " "
        if glyph == " " and mark:
            out.append(("=" if mark[0].startswith("contract") else "─", "yellow"))
        elif point and not point[2]:
            out.append(("░" if glyph not in " _" else glyph, "dim"))
        else:
            out.append((glyph, "cyan" if glyph != " " else ""))
    if mark:
        note = f" {mark[0]} {units.rate(mark[1])} "
        out[-len(note) :] = [(char, "bold yellow") for char in note]
    return out


class StripChart(Guarded, Widget):
    """The chart as a widget, which redraws only the columns that have changed, as serial lines are slow."""

    DEFAULT_CSS = "StripChart { height: 1fr; min-height: 5; }"

    def __init__(self, tier: Glyphs, *, key: str | None = None) -> None:
        super().__init__(id=key)
        self._tier = tier
        self._again: Callable[[], None] = lambda: None
        self._rows: list[list[Cell]] = []

    def show(
        self, points: list[Point], lines: list[tuple[str, float]], seconds: float, captions: Sequence[str] = ()
    ) -> None:
        def again() -> None:
            self._take(draw(points, self.size.width, self.size.height, lines, self._tier, seconds, captions))

        self._again = again
        again()

    def say(self, words: str) -> None:
        """Show words in place of the chart, while nothing with a throughput runs."""
        self._again = lambda: self._take([[(char, "") for char in line] for line in words.splitlines()])
        self._again()

    def on_resize(self) -> None:
        self._rows = []
        self._again()

    def _take(self, rows: list[list[Cell]]) -> None:
        """Keep the rows and redraw the columns in which they differ from what is shown."""
        width = self.size.width
        if not width:
            return
        blank = (" ", "")
        rows = [[*row[:width], *([blank] * (width - len(row)))] for row in rows[: self.size.height]]
        old, self._rows = self._rows, rows
        # A new size takes effect before its event arrives, so the rows shown may have the old one.
        if list(map(len, old)) != list(map(len, rows)):
            self.refresh()
            return
        differ = [x for a, b in zip(old, rows, strict=True) if a != b for x in range(width) if a[x] != b[x]]
        if differ:
            self.refresh(Region(min(differ), 0, max(differ) - min(differ) + 1, self.size.height))

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        if y >= len(self._rows):
            return Strip.blank(self.size.width, base)
        segments = [
            Segment("".join(char for char, _ in run), base + Style.parse(style) if style else base)
            for style, run in ((style, list(run)) for style, run in groupby(self._rows[y], key=itemgetter(1)))
        ]
        return Strip(segments, self.size.width)
