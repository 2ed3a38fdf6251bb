"""Sends only what has changed to the terminal, as a whole screen takes a third of a second at 115200 baud.

Textual paints the whole screen whenever anything gets a new layout, several times while a screen is opened. Here its
updates are drawn on a copy of what the terminal shows, and only the cells that differ are sent.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import Any

from rich.cells import get_character_cell_size
from rich.console import Console, RenderableType
from rich.control import Control
from rich.segment import ControlType, Segment
from rich.style import Style
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.screen import Screen
from textual.strip import Strip

Cell = tuple[str, Style]  # the right half of a wide character is ''
NEAR = 8  # cells; sending fewer again takes no more bytes than moving the cursor past them
TAIL = 4  # blanks at the end of a line; for more, erasing takes fewer bytes
ERASE = "\x1b[K"


class TerminalPicture:
    """A copy of what the terminal shows."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell | None]] = {}  # None for a cell that is not known
        self._width = 0

    def forget(self) -> None:
        """Forget the copy, so that the next update is sent as a whole."""
        self._rows.clear()

    def update(self, update: CompositorUpdate) -> CompositorUpdate:
        """An update that will send only what differs from the copy."""
        if isinstance(update, LayoutUpdate):
            self._width = update.region.width
        return _Difference(self, update)

    def take(self, update: CompositorUpdate, console: Console) -> str:
        """Apply an update to the copy, and return what to send to the terminal."""
        before = {y: list(row) for y, row in self._rows.items()}
        touched = self._draw(update, console)
        return "".join(self._line(y, before.get(y, []), self._rows[y], console) for y in sorted(touched))

    def _draw(self, update: CompositorUpdate, console: Console) -> set[int]:
        """Draw an update on the copy, and return the numbers of the lines that it touches."""
        x = y = 0
        touched = set()
        for text, style, control in update.__rich_console__(console, console.options):  # type: ignore[attr-defined]
            for code in control or ():
                if code[0] is ControlType.CURSOR_MOVE_TO:
                    x, y = code[1], code[2]
            if control or text == "\n":
                continue
            row = self._rows.setdefault(y, [])
            touched.add(y)
            cells = _cells(text, _plain(style))
            row += [None] * (x - len(row))
            _break(row, x)
            _break(row, x + len(cells))
            row[x : x + len(cells)] = cells
            x += len(cells)
        return touched

    def _line(self, y: int, before: list[Cell | None], now: list[Cell | None], console: Console) -> str:
        before = before + [None] * (len(now) - len(before))
        parts: list[str] = []
        for first, last in _ranges(before, now):
            cells = [cell for cell in now[first:last] if cell]
            erased = last == self._width and _blank(cells) > TAIL
            if erased:
                # The first cell is always written, as a written blank also clears the other half of a wide character.
                del cells[max(1, len(cells) - _blank(cells)) :]
            same = groupby(cells, key=lambda cell: cell[1])
            segments = [Segment("".join(char for char, _ in run), style) for style, run in same]
            parts.append(Control.move_to(first, y).segment.text + Strip(segments).render(console))
            parts.append(ERASE if erased else "")
        return "".join(parts)


class DifferenceApp(App[int]):
    """An application that sends only changes to its terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._terminal = TerminalPicture()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, CompositorUpdate):
            renderable = self._terminal.update(renderable)
        super()._display(screen, renderable)

    def on_resize(self) -> None:
        self._terminal.forget()

    def action_redraw(self) -> None:
        """Draw the whole screen again, as after another program has written on the terminal."""
        self._terminal.forget()
        self.screen.refresh(layout=True)


class _Difference(CompositorUpdate):
    def __init__(self, shown: TerminalPicture, update: CompositorUpdate) -> None:
        self.shown, self.whole = shown, update

    def render_segments(self, console: Console) -> str:
        return self.shown.take(self.whole, console)


@lru_cache(maxsize=1024)
def _plain(style: Style | None) -> Style:
    """The visible part of a style."""
    return style.clear_meta_and_links() if style else Style.null()


def _cells(text: str, style: Style) -> list[Cell | None]:
    """The cells of a text; what a terminal would obey rather than show is left out, as a peer's words are among it."""
    if text.isascii() and text.isprintable():
        return [(char, style) for char in text]
    from linkladder.printable import controls_terminal  # imported late, so that the first frame comes sooner

    cells: list[Cell | None] = []
    for char in text:
        wide = get_character_cell_size(char)
        if wide:
            cells += [(char, style), *[("", style)] * (wide - 1)]
        elif cells and cells[-1] and not controls_terminal(char):
            cells[-1] = (cells[-1][0] + char, style)
    return cells


def _break(row: list[Cell | None], x: int) -> None:
    """Mark both halves of a wide character as unknown if one of them is about to be overwritten at `x`."""
    if 0 < x < len(row) and (half := row[x]) and half[0] == "":
        row[x - 1] = row[x] = None


def _ranges(before: list[Cell | None], now: list[Cell | None]) -> list[tuple[int, int]]:
    """The ranges of cells to send; none ends within a wide character."""
    found: list[tuple[int, int]] = []
    for x, (old, new) in enumerate(zip(before, now, strict=True)):
        if new is None or old == new:
            continue
        first, last = x, x + 1
        while now[first] and now[first][0] == "" and first:  # type: ignore[index]
            first -= 1
        while last < len(now) and now[last] and now[last][0] == "":  # type: ignore[index]
            last += 1
        if found and first - found[-1][1] < NEAR and None not in now[found[-1][1] : first]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _blank(cells: list[Cell]) -> int:
    """How many cells at the end of a line are blank."""
    count = 0
    for char, style in reversed(cells):
        ground = style.bgcolor is not None and not style.bgcolor.is_default
        if char != " " or ground or style.reverse or style.underline or style.strike:
            break
        count += 1
    return count
