"""Defines a form that works with Enter, arrows and hjkl alone, with rows of one line and no boxes."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Key
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static


class Form(VerticalScroll, inherit_bindings=False):
    """Rows that scroll with the focus; arrows step from field to field even if not all rows fit."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page_up", "Up", show=False),
        Binding("pagedown", "page_down", "Down", show=False),
    ]
    can_focus = False


class Line(Input):
    """A line to type in; its cursor does not blink, as that would be traffic on a serial line."""

    def __init__(self, value: str = "", *, key: str, **more: Any) -> None:
        super().__init__(value, id=key, **more)
        self.cursor_blink = False

    async def _on_key(self, event: Key) -> None:
        """Run Enter and editing keys here at once, so that letters typed after them do not take effect first."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return


class Field(Line):
    """A line to type in, with its label and brackets; all one widget, as each widget takes time to set up."""

    DEFAULT_CSS = """
    Field { border: none; height: 1; background: transparent; }
    Field:focus { border: none; color: $block-cursor-foreground; background: $block-cursor-background; }
    """

    def __init__(self, label: str, value: str = "", width: int = 10, *, key: str, label_width: int = 0) -> None:
        super().__init__(value, key=key)
        self._before = f"{label.ljust(label_width)} ["
        self._room = cell_len(self._before)
        self.styles.padding = (0, 1, 0, self._room)
        self.styles.width = self._room + width + 1

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw label and brackets where Input has its padding."""
        line = self.outer_size.width
        whole = super().render_lines(Region(0, crop.y, line, crop.height))
        style = self.parent.rich_style if isinstance(self.parent, Widget) else None
        before, after = Strip([Segment(self._before, style)]), Strip([Segment("]", style)])
        drawn = (Strip.join([before, strip.crop(self._room, line - 1), after]) for strip in whole)
        return [strip.crop(crop.x, crop.right) for strip in drawn]


class Choice(Static):
    """Shows one of several words; left, right, h, l or space change it."""

    class Changed(Message):
        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> Choice:
            return self.choice

    DEFAULT_CSS = """
    Choice { height: 1; width: auto; padding: 0 1 0 0; }
    Choice:focus { color: $block-cursor-foreground; background: $block-cursor-background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", "Previous", show=False),
        Binding("right,l,space", "turn(1)", "Next", show=False),
    ]
    can_focus = True

    def __init__(self, label: str, options: list[tuple[str, str]], value: str, *, key: str) -> None:
        super().__init__(id=key)
        self._label = label
        self.options = options
        self._at = next((i for i, (key, _) in enumerate(options) if key == value), 0)

    @property
    def value(self) -> str:
        return self.options[self._at][0] if self.options else ""

    def on_mount(self) -> None:
        self._draw()

    def set_options(self, options: list[tuple[str, str]], value: str) -> None:
        """Set other choices, or other words for them; `value` is chosen if it is among them, else the first."""
        self.options = options
        self._at = next((i for i, (key, _) in enumerate(options) if key == value), 0)
        self._draw()

    def action_turn(self, step: int) -> None:
        if self.options:
            self._at = (self._at + step) % len(self.options)
            self._draw()
            self.post_message(self.Changed(self))

    def _draw(self) -> None:
        word = self.options[self._at][1] if self.options else "-"
        self.update(Text(f"{self._label} < {word} >".lstrip()))


class Action(Static):
    """A button, pressed by Enter, space or a click."""

    class Pressed(Message):
        def __init__(self, action: Action) -> None:
            super().__init__()
            self.action = action

        @property
        def control(self) -> Action:
            return self.action

    DEFAULT_CSS = """
    Action { height: 1; width: auto; padding: 0 1; margin: 0 2 0 0; }
    Action:focus { color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "press", "Do it", key_display="Enter"),
        Binding("space", "press", "Do it", show=False),
        Binding("left,h", "app.focus_previous", "Previous", show=False),
        Binding("right,l", "app.focus_next", "Next", show=False),
    ]
    can_focus = True

    def __init__(self, label: str, *, key: str) -> None:
        super().__init__(Text(f"[ {label} ]"), id=key)
        self.label = label

    def action_press(self) -> None:
        self.post_message(self.Pressed(self))

    def on_click(self) -> None:
        self.action_press()
