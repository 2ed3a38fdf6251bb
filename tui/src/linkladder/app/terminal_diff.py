"""Only what differs goes to the terminal: on a serial line of 115200 baud a whole screen takes a third of a second.

Textual paints the whole screen whenever anything is laid out anew, several times while a place is opened.  Here its
updates are drawn on a picture of what the terminal shows, and the cells that came out different are sent.
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
NEAR = 8  # cells: to send them again takes no more bytes than to move the cursor past them
TAIL = 4  # blanks at the end of a line from which erasing is shorter
ERASE = "\x1b[K"


class TerminalPicture:
    """What the terminal shows."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell | None]] = {}  # None: nobody knows
        self._width = 0

    def forget(self) -> None:
        """The terminal may show anything: the next update is sent whole."""
        self._rows.clear()

    def update(self, update: CompositorUpdate) -> CompositorUpdate:
        """An update reduced to what differs from what the terminal shows."""
        if isinstance(update, LayoutUpdate):
            self._width = update.region.width
        return _Difference(self, update)

    def take(self, update: CompositorUpdate, console: Console) -> str:
        """Take an update in, and return what to send to the terminal for it."""
        before = {y: list(row) for y, row in self._rows.items()}
        touched = self._draw(update, console)
        return "".join(self._line(y, before.get(y, []), self._rows[y], console) for y in sorted(touched))

    def _draw(self, update: CompositorUpdate, console: Console) -> set[int]:
        """Draw on the picture; returns the lines that were drawn on."""
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
            if (
                erased
            ):  # from the second cell on: a blank that is written takes the other half of a wide character along
                del cells[max(1, len(cells) - _blank(cells)) :]
            same = groupby(cells, key=lambda cell: cell[1])
            segments = [Segment("".join(char for char, _ in run), style) for style, run in same]
            parts.append(Control.move_to(first, y).segment.text + Strip(segments).render(console))
            parts.append(ERASE if erased else "")
        return "".join(parts)


class DifferenceApp(App[int]):
    """Writes to its terminal what differs from what that shows."""

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
        """Somebody else has written on the terminal."""
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
    if text.isascii():
        return [(char, style) for char in text]
    cells: list[Cell | None] = []
    for char in text:
        wide = get_character_cell_size(char)
        if wide:
            cells += [(char, style), *[("", style)] * (wide - 1)]
        elif cells and cells[-1]:
            cells[-1] = (cells[-1][0] + char, style)
    return cells


def _break(row: list[Cell | None], x: int) -> None:
    """A wide character of which a half is written over is gone."""
    if 0 < x < len(row) and (half := row[x]) and half[0] == "":
        row[x - 1] = row[x] = None


def _ranges(before: list[Cell | None], now: list[Cell | None]) -> list[tuple[int, int]]:
    """From where to where something is to be sent; never half of a wide character."""
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
    """How many cells at the end of a line show nothing."""
    count = 0
    for char, style in reversed(cells):
        ground = style.bgcolor is not None and not style.bgcolor.is_default
        if char != " " or ground or style.reverse or style.underline or style.strike:
            break
        count += 1
    return count
