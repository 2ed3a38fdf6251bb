"""Defines the base of every full screen: title line, line of keys, Esc to go back, hjkl as arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.await_remove import AwaitRemove
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker

from linkladder.app.error_handling import Guarded
from linkladder.app.widgets.key_line import KeyLine

if TYPE_CHECKING:
    from linkladder.app.services import ServicesApp


SHORT = 20  # lines; a screen with fewer is short, as when two consoles share a window


class TitleBar(Static):
    """The first line, which names the screen."""


class Page(Guarded, Screen[Any]):
    """A full screen of the application."""

    NAME = "linkladder"
    HELP = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", key_display="Esc", show=True),
        Binding("down,j", "step(1)", "Next", show=False),
        Binding("up,k", "step(-1)", "Previous", show=False),
        Binding("l", "sideways(1)", "Right", show=False),
        Binding("h", "sideways(-1)", "Left", show=False),
    ]

    @property
    def ladder_app(self) -> ServicesApp:
        return cast("ServicesApp", self.app)

    def compose(self) -> ComposeResult:
        yield TitleBar(self.title_line(), id="title", markup=False)
        yield from self.body()
        yield KeyLine()

    def body(self) -> ComposeResult:
        yield from ()

    def title_line(self) -> str:
        return f"linkladder   {self.NAME}"

    def set_title(self, text: str) -> None:
        self.query_one(TitleBar).update(text)

    _left = False
    _resumed = False

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Skip Textual's refresh of the styles when the screen is first shown, as they are right already."""
        event.refresh_styles = event.refresh_styles and self._resumed
        self._resumed = True

    def remove(self) -> AwaitRemove:
        """Cancel this screen's workers before it is removed, so that none updates a half-removed screen."""
        self._left = True
        self.workers.cancel_node(self)
        return super().remove()

    def run_worker(self, *args: Any, **options: Any) -> Worker[Any]:
        """Start a worker, and cancel it at once if a late message starts it after the screen was left."""
        worker = super().run_worker(*args, **options)
        if self._left:
            worker.cancel()
        return worker

    def on_resize(self) -> None:
        """Set the CSS class for short screens; Textual's breakpoints would apply all styles twice."""
        self.set_class(self.size.height < SHORT, "-short")

    def action_back(self) -> None:
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()

    def action_step(self, step: int) -> None:
        """Move the cursor of the focused widget, scroll it, or else move the focus (keys j and k)."""
        name = "action_cursor_down" if step > 0 else "action_cursor_up"
        focused = self.focused
        if focused is not None and (move := getattr(focused, name, None)):
            move()
        elif focused is not None and focused.allow_vertical_scroll and focused.max_scroll_y:
            focused.scroll_relative(y=step, animate=False)
        elif step > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def action_sideways(self, step: int) -> None:
        name = "action_cursor_right" if step > 0 else "action_cursor_left"
        if self.focused is not None and (move := getattr(self.focused, name, None)):
            move()
