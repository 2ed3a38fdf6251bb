"""Throughput per second as a strip of bars, with the ceiling and the contract as lines across it."""

from __future__ import annotations

import math

from rich.text import Text
from textual.widgets import Static

from linkladder import units
from linkladder.app.terminal import Glyphs

Point = tuple[float, float, bool]  # second, b/s, counted
EIGHTHS = " ▁▂▃▄▅▆▇█"
GUTTER = 10  # "9.41 Gb/s "


def nice_top(highest: float) -> float:
    """The first of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten above the highest value."""
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


def draw(
    points: list[Point],
    width: int,
    height: int,
    lines: list[tuple[str, float]],
    tier: Glyphs = Glyphs.UNICODE,
    seconds: float = 0.0,
) -> Text:
    """The chart with axis and marks; `lines` are (word, b/s), `seconds` the time the whole width stands for."""
    plot = max(10, width - GUTTER - 1)
    rows = max(4, height - 1)
    rows -= rows % 2  # so that the label in the middle is half of the top
    highest = max([bps for _, bps, _ in points] + [bps for _, bps in lines] + [0.0])
    top = nice_top(highest * 1.02)
    span = max(seconds, max((t + 1 for t, _, _ in points), default=0.0), 1.0)
    step = max(1, math.floor(plot / span))
    per_column = max(1.0, span / plot)
    columns: list[Point | None] = [None] * plot
    for second, bps, counted in points:
        column = int(second * step) if step > 1 or span <= plot else int(second / per_column)
        for offset in range(max(1, step - (1 if step > 2 else 0))):
            if 0 <= column + offset < plot:
                columns[column + offset] = (second, bps, counted)
    marks: dict[int, tuple[str, float]] = {}
    for word, bps in sorted(lines, key=lambda line: line[1]):
        row = rows - 1 - min(rows - 1, int(bps / top * rows))
        while row in marks and row + 1 < rows:
            row += 1
        marks[row] = (word, bps)
    out = Text(no_wrap=True)
    for row in range(rows):
        _row(out, row, rows, top, columns, marks.get(row), tier)
    axis = "└" + "─" * plot
    out.append(" " * GUTTER + axis[: plot + 1], "dim")
    label = f" {span:.0f} s "
    text = out.plain
    if len(label) < plot:  # the end of the time axis, inside the axis line
        cut = len(text) - len(label) - 1
        out = Text.assemble(out[:cut], (label, "dim"), ("─", "dim"), no_wrap=True)
    return out


def _row(
    out: Text,
    row: int,
    rows: int,
    top: float,
    columns: list[Point | None],
    mark: tuple[str, float] | None,
    tier: Glyphs,
) -> None:
    if row == 0:
        label = units.rate(top)
    elif row == rows // 2:
        label = units.rate(top * (rows - row) / rows)
    else:
        label = ""
    out.append(f"{label:>{GUTTER - 1}} ", "dim")
    out.append("│", "dim")
    base = (rows - 1 - row) / rows * top
    text = ""
    styles: list[str] = []
    for point in columns:
        glyph = cell((point[1] - base) / top * rows, tier) if point else " "
        if point and glyph != " " and not point[2]:
            glyph = "░" if glyph != "_" else glyph
        if glyph == " " and mark:
            glyph, style = ("─" if mark[0] != "contract" else "="), "yellow"
        else:
            style = "cyan" if point and point[2] else "dim"
        text += glyph
        styles.append(style)
    note = f" {mark[0]} {units.rate(mark[1])} " if mark else ""
    start = len(columns) - len(note)
    for index, char in enumerate(text):
        if note and index >= start:
            out.append(note[index - start], "bold yellow")
        else:
            out.append(char, styles[index])
    out.append("\n")


class StripChart(Static):
    """Redraws at its own size; the screen gives it points at most twice a second."""

    DEFAULT_CSS = "StripChart { height: 1fr; min-height: 5; }"

    def __init__(self, tier: Glyphs, *, key: str | None = None) -> None:
        super().__init__(id=key)
        self._tier = tier
        self._points: list[Point] = []
        self._lines: list[tuple[str, float]] = []
        self._seconds = 0.0
        self._word = ""

    def show(self, points: list[Point], lines: list[tuple[str, float]], seconds: float) -> None:
        self._points, self._lines, self._seconds, self._word = points, lines, seconds, ""
        self._draw()

    def say(self, words: str) -> None:
        """Words in place of a chart: nothing runs that has a throughput."""
        self._word = words
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.size.width:
            return
        if self._word:
            self.update(Text(self._word))
        else:
            size = self.size
            self.update(draw(self._points, size.width, size.height, self._lines, self._tier, self._seconds))
