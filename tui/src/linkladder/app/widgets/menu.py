"""A list to choose from by arrows and Enter."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList


class Menu(OptionList):
    """Textual's list, with Enter among the keys that the footer shows."""

    DEFAULT_CSS = "Menu { text-wrap: nowrap; text-overflow: ellipsis; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Do it", key_display="Enter")]

    def __init__(self, key: str) -> None:
        super().__init__(id=key)

    def on_focus(self) -> None:
        if self.highlighted is None and self.option_count:
            self.highlighted = 0
