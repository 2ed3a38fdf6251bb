"""Defines the application: how it starts, what it does at every tick, and how it is left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen

from linkladder.app import places
from linkladder.app.glyphs import GlyphFilter, MonoFilter
from linkladder.app.keyboard import KeyboardDriver
from linkladder.app.services import ServicesApp
from linkladder.app.terminal import Glyphs
from linkladder.errors import LinkladderError

if TYPE_CHECKING:  # the rest of linkladder is loaded after the first frame
    from linkladder.app.backend import Backend, Session
    from linkladder.run.progress import Progress

TICK = 0.5  # seconds between updates, so that a serial line keeps up


class LadderApp(ServicesApp):
    """The linkladder application on a terminal."""

    TITLE = "linkladder"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "Help", show=False, id="help"),
        Binding("q", "leave", "Quit", show=False, id="quit"),
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+l", "redraw", "Draw anew", show=False, priority=True),
    ]

    def __init__(self, backend: Backend | Callable[[], Backend], glyphs: Glyphs = Glyphs.UNICODE) -> None:
        super().__init__(glyphs)
        # The same objects every time, as Textual caches each filtered line by its filter.
        self._before, self._after = MonoFilter(), GlyphFilter(glyphs)
        self.theme = "ansi-dark"
        self.failed: LinkladderError | None = None  # why there is nothing to show
        self._make = backend
        if not callable(backend):
            self.backend = backend
            self.loaded.set()
        self._unreadable = ""  # the log that could not be read and for which an error was shown

    def get_driver_class(self) -> type[Driver]:
        return KeyboardDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        mono = [self._before] if self.no_color else []  # before Textual's own filter takes the colours away
        glyphs = [self._after] if self._after.enabled else []
        return [*mono, *super().get_line_filters(), *glyphs]

    def on_mount(self) -> None:
        self.open("home")
        self.set_interval(TICK, self._tick)
        if not self.loaded.is_set():
            self._load()

    @work(group="load")
    async def _load(self) -> None:
        """Load the backend in a thread after the first frame."""
        assert callable(self._make)
        try:
            self.backend = await asyncio.to_thread(self._make)
        except LinkladderError as error:
            self.failed = error
        except OSError as error:
            self.failed = LinkladderError(
                "linkladder cannot keep its state", str(error), "LINKLADDER_STATE names a folder"
            )
        except Exception as error:
            self.failed = LinkladderError("linkladder cannot start", f"{type(error).__name__}: {error}")
        if self.failed:
            self.exit(return_code=self.failed.exit_code)
            return
        gc.freeze()  # objects of the start are kept anyway; collecting garbage among them would block for up to 50 ms
        self.loaded.set()
        await asyncio.to_thread(import_module, "linkladder.judge")  # Home has no use for it, and nearly every place has
        gc.freeze()

    # --- the run ----------------------------------------------------------------------

    async def _tick(self) -> None:
        """Apply the run's new events, then let the top screen redraw."""
        if not self.screen_stack:  # the console is being left
            return
        if self.session is not None and self.progress is not None and not self.progress.over:
            try:
                await self._take(self.session, self.progress)
            except Exception as error:  # go on watching even if the log cannot be read
                if self._unreadable != self.session.log:
                    self._unreadable = self.session.log
                    self.complain(error)
        top = next(reversed(self.screen_stack), None)
        if refresh := getattr(top, "on_tick", None):
            with contextlib.suppress(NoMatches):  # if the screen is just being set up or removed
                refresh()

    async def _take(self, session: Session, progress: Progress) -> None:
        from linkladder import events

        entries = await session.poll()
        said = len(progress.notices)
        for at, event in entries:
            progress.apply(event, at)
        progress.at = max(progress.at, await session.now())
        if not any(getattr(shown, "SHOWS_RUN", False) for shown in self.screen_stack):  # that one shows notices itself
            for notice in progress.notices[said:][-3:]:
                self.notify(notice.text, severity="warning", markup=False)
        if any(isinstance(e, events.WaitingForOperator) for _, e in entries):
            self.bell()

    # --- keys -------------------------------------------------------------------------

    def action_help(self) -> None:
        top = self.screen
        self.open("help", getattr(top, "NAME", "linkladder"), getattr(top, "HELP", ""))

    @work(exclusive=True, group="leave")
    async def action_leave(self) -> None:
        from linkladder.app.dialogs import Question

        if self.measuring:
            text = "A run is going on. It goes on without this screen; start linkladder again to watch it."
            if not await self.push_screen_wait(Question("Leave linkladder?", text, "Leave", "Stay")):
                return
        self.exit(0)

    def end(self, code: int) -> None:
        """Leave the application without asking; safe to call from another thread."""
        self.call_later(partial(self.exit, return_code=code))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for name, place in places.PLACES.items() if self.loaded.is_set() else ():
            if place.title:
                yield SystemCommand(place.title, place.words, partial(self.open, name))
        yield SystemCommand("Help", "The keys of this screen", self.action_help)
        yield SystemCommand("Quit", "Leave linkladder", self.action_leave)
