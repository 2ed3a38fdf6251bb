"""Defines a dialog with a form: fields and choices whose values are checked before they are accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from linkladder.app.dialogs import Dialog
from linkladder.app.widgets.form import Action, Choice, Field

Values = dict[str, str]


@dataclass(frozen=True)
class Entry:
    """One line of a form: a choice if it has options, else a field."""

    key: str
    label: str
    value: str = ""
    options: tuple[tuple[str, str], ...] = ()
    width: int = 30
    hidden: bool = False  # a password


class Form(Dialog):
    """A form whose result is the values by key, or None if declined; `check` says what is wrong with them, or ''."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "onward", "Next", key_display="Enter"),
    ]

    def __init__(
        self, title: str, text: str, entries: Sequence[Entry], check: Callable[[Values], str], yes: str = "Take it"
    ) -> None:
        super().__init__()
        self._title, self._text, self._entries, self._check, self._yes = title, text, entries, check, yes

    def compose(self) -> ComposeResult:
        wide = max(len(e.label) for e in self._entries)
        with Vertical(classes="box"):
            yield Static(self._title, classes="heading", markup=False)
            yield Static(self._text, markup=False)
            for e in self._entries:
                if e.options:
                    yield Choice(e.label.ljust(wide), list(e.options), e.value, key=e.key)
                else:
                    yield Field(e.label, e.value, e.width, key=e.key, label_width=wide)
            yield Static("", id="wrong", markup=False)
            with Horizontal(classes="buttons"):
                yield Action(self._yes, key="yes")
                yield Action("Leave it", key="no")

    def on_mount(self) -> None:
        self.query_one("#wrong").display = False
        for e in self._entries:
            if e.hidden:
                self.query_one(f"#{e.key}", Input).password = True

    def values(self) -> Values:
        found = {}
        for e in self._entries:
            widget = self.query_one(f"#{e.key}")
            found[e.key] = widget.value.strip() if isinstance(widget, (Input, Choice)) else ""
        return found

    @on(Input.Submitted)
    def action_onward(self) -> None:
        """Go to the next line, or press the button if an earlier Enter has already led there."""
        if isinstance(self.focused, Action):
            self.focused.action_press()
        else:
            self.focus_next()

    @on(Action.Pressed)
    def answered(self, event: Action.Pressed) -> None:
        if event.action.id == "no":
            self.dismiss(None)
            return
        values = self.values()
        wrong = self._check(values)
        if not wrong:
            self.dismiss(values)
            return
        line = self.query_one("#wrong", Static)
        line.update(f"! {wrong}")
        line.display = True
        self.query_one(f"#{self._entries[0].key}").focus()
