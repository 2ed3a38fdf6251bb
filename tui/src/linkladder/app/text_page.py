"""Defines the base of screens with a text to scroll and read, which is gathered in a thread."""

from __future__ import annotations

from typing import ClassVar

from rich.console import RenderableType
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from linkladder.app.page import Page


class TextPage(Page):
    """A screen with a text; subclasses make it in `gather`, which runs in another thread."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark", "app.help", "Help", key_display="?")]

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body", id="scroll") as scroll:
            scroll.can_focus = True
            yield Static("looking ...", id="page", markup=False)

    def on_mount(self) -> None:
        self.load()

    def gather(self) -> RenderableType:
        raise NotImplementedError

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        text = await self.ladder_app.ask(self.gather)
        if text is not None:
            self.query_one("#page", Static).update(text)
