"""Draws the matrix of several paths with a cursor, which is on a cell or on a row's name."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from linkladder.app.widgets.verdict import STYLES
from linkladder.phrases import company as words
from linkladder.verdicts import CompanyJudgement

COLUMN, NAME = 8, 9  # columns of the screen for a cell and for a name, so that eight by eight fit into eighty
RUNNING = "*"


def grid_text(grid: words.Grid, view: str, cursor: tuple[int, int], running: frozenset[int], width: int) -> Text:
    """Rows and columns of figures; the cell at the cursor is in brackets, and paths measured now have a star."""
    wide = max(COLUMN, min(14, (width - NAME) // max(1, len(grid.columns))))
    out = Text(no_wrap=True, overflow="ellipsis")
    heads, rows = words.shortened(grid.columns, wide - 1), words.shortened(grid.rows, NAME - 2)
    out.append(f"{'from / to':<{NAME}}" + "".join(f"{name:>{wide}}" for name in heads), "bold")
    for r, row in enumerate(grid.rows):
        at = cursor == (r, -1)
        out.append("\n")
        out.append(f"{'>' if at else ' '}{rows[r]:<{NAME - 1}}", "bold reverse" if at else "bold")
        for c, column in enumerate(grid.columns):
            cell = grid.cells.get((row, column))
            figure = words.figure(cell, view)
            path = cell.path if cell else grid.asked.get((row, column))
            mark = RUNNING if path in running else words.MARKS[cell.judgement.verdict] if cell else ""
            text = f"{figure}{mark}" or "·"
            here = cursor == (r, c)
            style = STYLES.get(str(cell.judgement.verdict), "") if cell else "dim"
            out.append(f"{f'[{text}]' if here else f'{text} ':>{wide}}", f"{style} reverse" if here else style)
    return out


def explained(seen: CompanyJudgement | None, grid: words.Grid, cursor: tuple[int, int]) -> list[str]:
    """Sentences on the cell at the cursor, or on everything that the row's end sends."""
    r, c = cursor
    row = grid.rows[r]
    if c >= 0:
        column = grid.columns[c]
        cell = grid.cells.get((row, column))
        if cell is None and (row, column) in grid.asked:
            return [f"{row} to {column} was not measured yet."]
        if cell is None or seen is None:
            return [f"{row} to {column}: no path between them was asked for." if row != column else f"{row} itself."]
        lines = [words.cell_line(f"{cell.sender} to {cell.receiver}", cell), cell.judgement.sentence]
        lines += [one.sentence for one in seen.sharing if cell.path in one.paths and one.direction == cell.direction]
        return lines
    mine = [cell for (name, _), cell in grid.cells.items() if name == row]
    if seen is not None and mine and all(row != cell.sender for cell in mine):  # a row is a path, and both its ways
        return [words.cell_line(f"{cell.sender} to {cell.receiver}", cell) for cell in mine]
    if not mine or seen is None:
        return [
            f"Of {row} nothing was measured yet." if row in (name for name, _ in grid.asked) else words.row(row, mine)
        ]
    ways = {(cell.path, cell.direction) for cell in mine}
    shared = [one for one in seen.sharing if ways & {(path, one.direction) for path in one.paths}]
    own = [one.sentence for one in seen.own_limits if one.end == row]
    return [words.row(row, mine), *own, *(one.sentence for one in shared)]


class MeshGrid(Static, can_focus=True):
    """A grid of paths with a cursor; each move of it sends `Moved`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor_down", show=False),
        Binding("up,k", "cursor_up", show=False),
        Binding("left,h", "cursor_left", show=False),
        Binding("right,l", "cursor_right", show=False),
    ]

    class Moved(Message):
        """Sent when the cursor has moved to another cell."""

    def __init__(self) -> None:
        super().__init__("", id="grid", markup=False)
        self.cursor = (0, -1)
        self.rows, self.columns = 1, 0

    def fit(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.cursor = (min(self.cursor[0], rows - 1), min(self.cursor[1], columns - 1))

    def _move(self, down: int, right: int) -> None:
        r, c = self.cursor
        self.cursor = ((r + down) % self.rows, max(-1, min(self.columns - 1, c + right)))
        self.post_message(self.Moved())

    def action_cursor_down(self) -> None:
        self._move(1, 0)

    def action_cursor_up(self) -> None:
        self._move(-1, 0)

    def action_cursor_left(self) -> None:
        self._move(0, -1)

    def action_cursor_right(self) -> None:
        self._move(0, 1)


def running(paths: tuple[int, ...], all_of: int) -> frozenset[int]:
    """The numbers of the paths that a trial loads; all if it names none."""
    return frozenset(paths or range(all_of))
