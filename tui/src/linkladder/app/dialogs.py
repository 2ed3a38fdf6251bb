"""Defines small dialogs: a question, a line of text to type, an error, a text to read."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from linkladder.app.error_handling import Guarded
from linkladder.app.widgets.form import Action, Line
from linkladder.errors import LinkladderError


class Dialog(Guarded, ModalScreen[Any]):
    """A box over the screen; left and right choose, Enter answers, Esc declines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "decline", "Back", key_display="Esc"),
        Binding("left,h,up,k", "app.focus_previous", "Previous", show=False),
        Binding("right,l,down,j", "app.focus_next", "Next", show=False),
    ]

    def action_decline(self) -> None:
        self.dismiss(None)


class Question(Dialog):
    """A question to answer with yes or no, by its buttons or by y and n; `safe` puts the focus on no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n", "answer(False)", "No", show=False),
    ]

    def __init__(self, title: str, text: str, yes: str = "Yes", no: str = "No", safe: bool = False) -> None:
        super().__init__()
        self._title, self._text, self._yes, self._no = title, text, yes, no
        self.AUTO_FOCUS = "#no" if safe else "#yes"  # type: ignore[misc]  # set before the first key arrives

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(self._title, classes="heading", markup=False)
            yield Static(self._text, id="text", markup=False)
            with Horizontal(classes="buttons"):
                yield Action(self._yes, key="yes")
                yield Action(self._no, key="no")

    @on(Action.Pressed)
    def answered(self, event: Action.Pressed) -> None:
        self.action_answer(event.action.id == "yes")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)

    def action_decline(self) -> None:
        self.action_answer(False)


class Ask(Dialog):
    """Asks for one line of text; its result is None if the person declines."""

    def __init__(self, title: str, text: str, value: str = "") -> None:
        super().__init__()
        self._title, self._text, self._value = title, text, value

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(self._title, classes="heading", markup=False)
            yield Static(self._text, markup=False)
            yield Line(self._value, key="answer", compact=True)
            yield Static("Enter to take it, Esc to leave it", classes="line")

    @on(Input.Submitted)
    def answered(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


class Trouble(Dialog):
    """Shows an error: what happened, why, and what to do."""

    def __init__(self, error: LinkladderError) -> None:
        super().__init__()
        self.error = error

    def compose(self) -> ComposeResult:
        title = self.error.title[:1].upper() + self.error.title[1:]
        with Vertical(classes="box"):
            yield Static(title, classes="heading", markup=False)
            if self.error.cause:
                yield Static(f"Why: {self.error.cause}", markup=False)
            if self.error.hint:
                yield Static(f"What to do: {self.error.hint}", markup=False)
            with Horizontal(classes="buttons"):
                yield Action("Go on", key="ok")

    @on(Action.Pressed)
    def answered(self) -> None:
        self.dismiss(None)


class Words(Dialog):
    """A text to read, such as a command or an address with its QR code; the arrows scroll it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "decline", "Close", key_display="Enter"),
        Binding("down,j", "scroll_box(1)", "Down", show=False),
        Binding("up,k", "scroll_box(-1)", "Up", show=False),
    ]
    DEFAULT_CSS = "Words > .box { overflow-y: auto; width: 95%; } "

    def __init__(self, title: str, text: Any) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(classes="box", id="box"):
            yield Static(self._title, classes="heading", markup=False)
            yield Static(self._text, markup=False)

    def action_scroll_box(self, step: int) -> None:
        self.query_one("#box").scroll_relative(y=step, animate=False)
