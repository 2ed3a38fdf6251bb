"""Draws a list of any length; only the visible lines are drawn, so that even 10,000 rows open at once."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from linkladder.app.error_handling import Guarded


class Rows(Guarded, ScrollView, can_focus=True):
    """A list of plain lines with a cursor."""

    class Chosen(Message):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    DEFAULT_CSS = """
    Rows { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; overflow-x: hidden; }
    Rows > .rows--cursor {
        color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", key_display="Enter"),
        Binding("up,k", "cursor_up", "Up", show=False),
        Binding("down,j", "cursor_down", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "edge(0)", "First", show=False),
        Binding("end", "edge(1)", "Last", show=False),
    ]
    cursor: reactive[int] = reactive(0)

    def __init__(self, key: str) -> None:
        super().__init__(id=key)
        self.lines: list[str] = []

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Without lines there is nothing to open."""
        return action != "choose" or bool(self.lines)

    def show(self, lines: list[str]) -> None:
        """Show other lines; the cursor stays on its line number if there is such a line."""
        self.lines = lines
        self.virtual_size = Size(max((len(line) for line in lines[:200]), default=1), len(lines))
        self.cursor = max(0, min(self.cursor, len(lines) - 1))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        style = self.rich_style
        text = ""
        if index < len(self.lines):
            text = self.lines[index]
            if index == self.cursor:
                style = self.get_component_rich_style("rows--cursor")
        width = self.size.width
        return Strip([Segment(f"{text:<{width}.{width}}", style)], width)

    def watch_cursor(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False)
        self.refresh()

    def action_cursor_up(self) -> None:
        self.cursor = max(0, self.cursor - 1)

    def action_cursor_down(self) -> None:
        self.cursor = max(0, min(len(self.lines) - 1, self.cursor + 1))

    def action_page(self, step: int) -> None:
        self.cursor = max(0, min(len(self.lines) - 1, self.cursor + step * max(1, self.size.height - 1)))

    def action_edge(self, end: int) -> None:
        self.cursor = max(0, len(self.lines) - 1) if end else 0

    def action_choose(self) -> None:
        if self.lines:
            self.post_message(self.Chosen(self.cursor))
