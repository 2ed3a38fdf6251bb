"""Defines a list to choose from with arrows and Enter."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList


class Menu(OptionList):
    """Textual's OptionList, with Enter among the keys in the footer."""

    DEFAULT_CSS = "Menu { text-wrap: nowrap; text-overflow: ellipsis; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Do it", key_display="Enter")]

    def __init__(self, key: str) -> None:
        super().__init__(id=key)

    def on_focus(self) -> None:
        if self.highlighted is None and self.option_count:
            self.highlighted = 0
