"""A form that works with Enter, arrows and hjkl alone, one row a line, no boxes."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static


class Form(VerticalScroll, inherit_bindings=False):
    """Rows that scroll with the focus: where not all fit, arrows step from field to field all the same."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page_up", "Up", show=False),
        Binding("pagedown", "page_down", "Down", show=False),
    ]
    can_focus = False


class Field(Widget, inherit_bindings=False):
    """A label and an input between brackets: it draws the label itself, as each part of a form costs time to put up."""

    DEFAULT_CSS = """
    Field { height: 1; layout: horizontal; }
    Field > Input { border: none; height: 1; padding: 0; background: transparent; }
    Field > Input:focus { border: none; color: $block-cursor-foreground; background: $block-cursor-background; }
    """

    def __init__(self, label: str, value: str = "", width: int = 10, *, key: str, label_width: int = 0) -> None:
        super().__init__()
        self._before = f"{label.ljust(label_width)} ["
        self._value, self._width, self._key = value, width, key
        self.styles.width = cell_len(self._before) + width + 1

    def compose(self) -> ComposeResult:
        box = line_to_type(self._value, key=self._key)
        box.styles.width = self._width
        box.styles.margin = (0, 0, 0, cell_len(self._before))
        yield box

    def render(self) -> Text:
        return Text(f"{self._before}{' ' * self._width}]", no_wrap=True, end="")


def line_to_type(value: str = "", *, key: str, **more: Any) -> Input:
    """A line to type in, whose cursor stands still: its blinking would be traffic on a serial line."""
    box = Input(value, id=key, **more)
    box.cursor_blink = False
    return box


class Choice(Static):
    """One of several words; left, right, h, l or space change it."""

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
        """Other choices or other words for them; `value` is taken if it is among them, else the first."""
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
    """A thing to do, on Enter."""

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
