"""Defines what the application offers every screen: the watched run, calls in threads, and opening other screens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual import work

from linkladder.app import places
from linkladder.app.background import Background
from linkladder.app.error_handling import ErrorTolerantApp
from linkladder.app.terminal import Glyphs
from linkladder.app.terminal_diff import DifferenceApp
from linkladder.errors import EnvironmentFault, LinkladderError, disk_fault

if TYPE_CHECKING:  # the rest of linkladder is loaded after the first frame
    from linkladder.app.backend import Backend, Session
    from linkladder.findings import Finding
    from linkladder.model import Plan
    from linkladder.run.progress import Progress

T = TypeVar("T")


class ServicesApp(DifferenceApp, ErrorTolerantApp):
    """The application as screens use it: the backend, the watched run, and ways to open other screens."""

    backend: Backend  # set before `loaded` is
    now = staticmethod(time.time)  # the time of day

    def __init__(self, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        super().__init__()
        self.loaded = asyncio.Event()
        self.session: Session | None = None
        self.progress: Progress | None = None
        self.starting = False  # whether a run is being started
        self.found: tuple[Finding, ...] | None = None  # by the doctor; None until it has a result
        self.found_at = 0.0  # the time of day at which it looked
        self._doctor: Background[tuple[Finding, ...]] = Background()

    # --- other screens

    def open(self, name: str, *about: Any) -> None:
        """Open a screen, from which Esc leads back here."""
        self.push_screen(places.screen(name, *about))

    def open_instead(self, name: str, *about: Any) -> None:
        """Open a screen in place of this one."""
        self.switch_screen(places.screen(name, *about))

    def back_home(self) -> None:
        while len(self.screen_stack) > 2:
            self.pop_screen()

    # --- the run

    @property
    def measuring(self) -> bool:
        """Whether the watched run is still going on."""
        return self.session is not None and not (self.progress and self.progress.over)

    def watch_run(self, session: Session) -> Progress:
        """Watch a run, taking in its events from the beginning."""
        from linkladder.run.progress import Progress

        self.session = session
        self.progress = Progress()
        return self.progress

    def climb(self, plan: Plan, resume: str = "") -> None:
        """Start a run and open the Ladder screen; ignored while another run is being started."""
        if not self.starting:
            self.starting = True
            self._climb(plan, resume)

    @work(group="start")
    async def _climb(self, plan: Plan, resume: str) -> None:
        from linkladder.app.restart_question import restart_question
        from linkladder.plan import restarts

        try:
            await self._free()
            if why := await self.run_blocking(self.backend.vain, plan):
                raise EnvironmentFault(f"nothing of the plan {plan.name} can be measured on this machine", why)
            if missing := await self.run_blocking(self.backend.unpaired, plan, resume):
                raise await self.run_blocking(self._refusal, plan, resume, missing)
            if restarts(plan):
                here = await self.run_blocking(self.backend.appliance)
                if (question := restart_question(plan, here)) and not await self.push_screen_wait(question):
                    return
            session = await self.backend.start(plan, resume)
        except Exception as error:
            self.complain(error)
            return
        finally:
            self.starting = False
        self.watch_run(session)
        self.back_home()
        self.open("ladder")

    def _refusal(self, plan: Plan, resume: str, missing: tuple[str, ...]) -> LinkladderError:
        from linkladder.app.unpaired_ends import refusal

        paired = [peer.name for peer in self.backend.paired()]
        return refusal(plan.name, resume, missing, paired, self.backend.link())

    async def _free(self) -> None:
        """Raise if another appliance measures with this one; what a run of its own still holds is waited for later."""
        user = await self.run_blocking(self.backend.used_by)
        if user and user != (await self.run_blocking(self.backend.facts)).name:
            hint = f"wait for that run to end, or end it at {user}; nothing was started here"
            raise EnvironmentFault("this machine is busy", f"{user} measures with it", hint)

    # --- questions

    @property
    def examining(self) -> bool:
        return self._doctor.going

    async def examined(self, anew: bool = False) -> tuple[Finding, ...]:
        """The doctor's findings; `anew` asks for a new examination."""
        began = self.now()
        found = await self._doctor.ask(partial(self.backend.findings, anew))
        if found is not self.found:  # and not what the backend has kept from an earlier look
            self.found, self.found_at = found, began
        return found

    async def ask(self, call: Callable[..., T], *args: Any) -> T | None:
        """The result of a blocking call, made in a thread; None if there was an error, which is shown."""
        try:
            return await asyncio.to_thread(call, *args)
        except Exception as error:
            self.complain(error)
            return None

    async def ask_long(self, call: Callable[..., T], *args: Any) -> T | None:
        """The same for a long call that only reads; leaving the program does not wait for it."""
        try:
            return await Background[T]().ask(partial(call, *args))
        except Exception as error:
            self.complain(error)
            return None

    async def run_blocking(self, call: Callable[..., T], *args: Any) -> T:
        """The result of a blocking call, made in a thread; its errors are raised here."""
        return await asyncio.to_thread(call, *args)

    def complain(self, error: BaseException) -> None:
        """Show what happened and what to do, and go on."""
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
