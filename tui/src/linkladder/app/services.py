"""What the application does for every screen: the run that is watched, calls in threads, the way to others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual import work

from linkladder.app import places
from linkladder.app.background import Background
from linkladder.app.error_handling import ErrorTolerantApp
from linkladder.app.terminal import Glyphs
from linkladder.app.terminal_diff import DifferenceApp
from linkladder.errors import LinkladderError, disk_fault

if TYPE_CHECKING:  # the first frame waits for Textual alone; the rest of linkladder is loaded behind it
    from linkladder.app.backend import Backend, Finding, Session
    from linkladder.model import Plan
    from linkladder.run.progress import Progress

T = TypeVar("T")


class ServicesApp(DifferenceApp, ErrorTolerantApp):
    """What every screen may use of the application: the backend, the run that is watched, ways to other places."""

    backend: Backend  # there once `loaded` is set

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        super().__init__()
        self.loaded = asyncio.Event()
        self.session: Session | None = None
        self.progress: Progress | None = None
        self.starting = False  # a run that is not there yet
        self._doctor: Background[tuple[Finding, ...]] = Background()

    # --- the way

    def open(self, name: str, *about: Any) -> None:
        """Go to a place, from where Esc leads back."""
        self.push_screen(places.screen(name, *about))

    def open_instead(self, name: str, *about: Any) -> None:
        """Go to a place that takes the place of this one."""
        self.switch_screen(places.screen(name, *about))

    def back_home(self) -> None:
        while len(self.screen_stack) > 2:
            self.pop_screen()

    # --- the run

    @property
    def measuring(self) -> bool:
        """Whether the run that is watched goes on."""
        return self.session is not None and not (self.progress and self.progress.over)

    def watch_run(self, session: Session) -> Progress:
        """Follow a run from its beginning."""
        from linkladder.run.progress import Progress

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
        try:
            session = await self.backend.start(plan, resume)
        except Exception as error:
            self.complain(error)
            return
        finally:
            self.starting = False
        self.watch_run(session)
        self.back_home()
        self.open("ladder")

    # --- questions

    async def examined(self, anew: bool = False) -> tuple[Finding, ...]:
        """What the doctor finds."""
        return await self._doctor.ask(partial(self.backend.findings, anew))

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
            return await Background[T]().ask(partial(call, *args))
        except Exception as error:
            self.complain(error)
            return None

    async def run_blocking(self, call: Callable[..., T], *args: Any) -> T:
        """A blocking call in a thread; its errors are the caller's."""
        return await asyncio.to_thread(call, *args)

    def complain(self, error: BaseException) -> None:
        """Say what happened and what to do, and go on."""
        from linkladder import codec
        from linkladder.app.dialogs import Trouble

        if isinstance(error, LinkladderError):
            shown = error
        elif fault := disk_fault(error):
            shown = fault
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
