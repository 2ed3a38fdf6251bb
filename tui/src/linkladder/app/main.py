"""The application: which screen is open, the run that goes on, and what every screen shares."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import work
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.filter import LineFilter
from textual.screen import Screen

from linkladder.app.aside import Aside
from linkladder.app.frugal import Frugal
from linkladder.app.glyphs import GlyphFilter, MonoFilter
from linkladder.app.sturdy import Sturdy
from linkladder.app.terminal import Glyphs
from linkladder.errors import LinkladderError

if TYPE_CHECKING:  # the first frame waits for Textual alone; the rest of linkladder is loaded behind it
    from linkladder.app.backend import Backend, Finding, Session
    from linkladder.model import Plan
    from linkladder.run.progress import Progress

T = TypeVar("T")
TICK = 0.5  # seconds: at most two updates a second, so that a serial line keeps up


class LadderApp(Frugal, Sturdy):
    """linkladder on a terminal."""

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
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # short: half a window, as two consoles share one

    backend: Backend  # there once `loaded` is set

    def __init__(self, backend: Backend | Callable[[], Backend], glyphs: Glyphs = Glyphs.UNICODE) -> None:
        self.glyphs = glyphs
        super().__init__()
        # The same objects every time: Textual keeps each line's filtered form by the filter that made it.
        self._before, self._after = MonoFilter(), GlyphFilter(glyphs)
        self.theme = "ansi-dark"
        self.loaded = asyncio.Event()
        self.failed: LinkladderError | None = None  # why there is nothing to show
        self._make = backend
        if not callable(backend):
            self.backend = backend
            self.loaded.set()
        self.session: Session | None = None
        self.progress: Progress | None = None
        self.starting = False  # a run that is not there yet
        self._unreadable = False
        self._doctor: Aside[tuple[Finding, ...]] = Aside()

    def get_line_filters(self) -> Sequence[LineFilter]:
        mono = [self._before] if self.no_color else []  # before Textual's own filter takes the colours away
        glyphs = [self._after] if self._after.enabled else []
        return [*mono, *super().get_line_filters(), *glyphs]

    def on_mount(self) -> None:
        from linkladder.app.screens.home import HomeScreen

        self.push_screen(HomeScreen())
        self.set_interval(TICK, self._tick)
        if not self.loaded.is_set():
            self._load()

    @work(group="load")
    async def _load(self) -> None:
        """Get the backend in a thread, behind the first frame."""
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
        gc.freeze()  # what the start made stays: looking for garbage in it would hold the screen up to 50 ms
        self.loaded.set()

    # --- the run ----------------------------------------------------------------------

    async def _tick(self) -> None:
        """Take in what the run said since the last look, then let the screen on top redraw."""
        if not self.screen_stack:  # the console is being left
            return
        if self.session is not None and self.progress is not None and not self.progress.over:
            try:
                await self._take(self.session, self.progress)
            except Exception as error:  # a log that cannot be read must not end the watching
                if not self._unreadable:
                    self.complain(error)
                self._unreadable = True
        top = next(reversed(self.screen_stack), None)
        if refresh := getattr(top, "on_tick", None):
            with contextlib.suppress(NoMatches):  # of a screen that is being put up or taken down
                refresh()

    async def _take(self, session: Session, progress: Progress) -> None:
        from linkladder import events

        entries = await session.poll()
        said = len(progress.notices)
        for at, event in entries:
            progress.apply(event, at)
        progress.at = max(progress.at, await session.now())
        if not getattr(self.screen, "SHOWS_RUN", False):  # it says so itself, where nothing is covered
            for text in progress.notices[said:][-3:]:
                self.notify(text, severity="warning", markup=False)
        if any(isinstance(e, events.WaitingForOperator) for _, e in entries):
            self.bell()

    def watch_run(self, session: Session) -> Progress:
        """Follow a run from its beginning."""
        from linkladder.run.progress import Progress

        self._unreadable = False
        self.session = session
        self.progress = Progress()
        return self.progress

    def climb(self, plan: Plan, resume: str = "") -> None:
        """Start a run and open the Ladder on it; one more Enter while it comes up does not start another."""
        if not self.starting:
            self.starting = True
            self._climb(plan, resume)

    @work(group="start")
    async def _climb(self, plan: Plan, resume: str) -> None:
        from linkladder.app.screens.ladder import LadderScreen

        try:
            session = await self.backend.start(plan, resume)
        except Exception as error:
            self.complain(error)
            return
        finally:
            self.starting = False
        self.watch_run(session)
        self.back_home()
        self.push_screen(LadderScreen())

    def back_home(self) -> None:
        while len(self.screen_stack) > 2:
            self.pop_screen()

    async def examined(self, anew: bool = False) -> tuple[Finding, ...]:
        """What the doctor finds."""
        return await self._doctor.ask(partial(self.backend.findings, anew))

    # --- for the screens --------------------------------------------------------------

    async def ask(self, call: Callable[..., T], *args: Any) -> T | None:
        """The answer of a blocking call, made in a thread; None after an error that was shown."""
        try:
            return await asyncio.to_thread(call, *args)
        except Exception as error:
            self.complain(error)
            return None

    async def ask_long(self, call: Callable[..., T], *args: Any) -> T | None:
        """The same of a call that may take long and only reads: leaving the program does not wait for it."""
        try:
            return await Aside[T]().ask(partial(call, *args))
        except Exception as error:
            self.complain(error)
            return None

    async def run_blocking(self, call: Callable[..., T], *args: Any) -> T:
        """A blocking call in a thread; its errors are the caller's."""
        return await asyncio.to_thread(call, *args)

    def complain(self, error: BaseException) -> None:
        """Say what happened and what to do, and go on."""
        from linkladder import codec
        from linkladder.app.screens.dialogs import Trouble

        if isinstance(error, LinkladderError):
            shown = error
        elif isinstance(error, OSError):
            shown = LinkladderError("the system refused", str(error), "what was measured before is kept")
        elif isinstance(error, codec.CodecError):
            shown = LinkladderError("a record cannot be read", str(error), "the run itself goes on")
        else:
            shown = LinkladderError(
                "something went wrong inside linkladder",
                f"{type(error).__name__}: {error}",
                "go on; a run goes on by itself and what is stored is kept. The log (System, then g) has more",
            )
        self.push_screen(Trouble(shown))

    def action_help(self) -> None:
        from linkladder.app.screens.help import HelpScreen

        top = self.screen
        self.push_screen(HelpScreen(getattr(top, "NAME", "linkladder"), getattr(top, "HELP", "")))

    @work(exclusive=True, group="leave")
    async def action_leave(self) -> None:
        from linkladder.app.screens.dialogs import Question

        running = self.session is not None and self.progress is not None and not self.progress.over
        if running:
            text = "A run is going on. It goes on without this screen; start linkladder again to watch it."
            if not await self.push_screen_wait(Question("Leave linkladder?", text, "Leave", "Stay")):
                return
        self.exit(0)

    def end(self, code: int) -> None:
        """Leave without a question, asked from another thread."""
        self.call_later(partial(self.exit, return_code=code))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        from linkladder.app.screens import places

        for name, words, make in places() if self.loaded.is_set() else ():
            yield SystemCommand(name, words, lambda make=make: self.push_screen(make()))
        yield SystemCommand("Help", "The keys of this screen", self.action_help)
        yield SystemCommand("Quit", "Leave linkladder", self.action_leave)
