"""Runs the dialogs that keep a staircase's winning settings: show them, try them on loan, ask for confirmation."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from linkladder import keeping
from linkladder.app.dialogs import Dialog, Question, Words

if TYPE_CHECKING:
    from linkladder.app.services import ServicesApp
    from linkladder.model import Document

TRY = (
    "{what} won, and is tried here now on loan. You are then asked whether it is to be kept, now and after every "
    "boot. If you do not say so within a minute, or are cut off by the change, it is put back by itself."
)
THERE = "\n\nFor the other end, to type there:\n{lines}"
IN_FORCE = "In force now, on loan: {changes}.\n\nIt is put back by itself in {left}."


async def keep(app: ServicesApp, document: Document) -> None:
    """Run the dialogs for the settings that won in this document; errors are shown by the app."""
    found = keeping.winners(document)
    there = THERE.format(lines="\n".join(f"  {line}" for line in found.elsewhere)) if found.elsewhere else ""
    if not found.of_machines:
        there = f"{keeping.NOT_THE_MACHINE.capitalize()}:\n" + "\n".join(found.for_application)
    if not found.settings:
        await app.push_screen_wait(Words("Nothing is to be kept here", there.strip()))
        return
    what = " and ".join([f"{one.kind.upper()} {one.value}" for one in found.settings])
    if await app.push_screen_wait(Question("Keep what won?", TRY.format(what=what) + there, "Try it", "No")):
        done = await app.push_screen_wait(Trying(found))
        if isinstance(done, Exception):
            app.complain(done)
        elif done is not None:
            kept = "Kept, now and after every boot.\n\n" + "\n".join(done) if done else "Put back: nothing is kept."
            await app.push_screen_wait(Words("What won", kept + there))


class Trying(Dialog):
    """Tries the settings on loan, asks, and keeps or restores them; its result is what is kept, or the error."""

    def __init__(self, found: keeping.Winners) -> None:
        super().__init__()
        self._found = found

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static("Keep what won", classes="heading", markup=False)
            yield Static("changing the adapter, and waiting for its link ...", markup=False)

    def on_mount(self) -> None:
        self.go()

    def action_decline(self) -> None:
        """Do nothing: the dialog cannot be left, as a question follows that can be answered with no."""

    @work
    async def go(self) -> None:
        app = cast("ServicesApp", self.app)
        try:
            self.dismiss(await app.backend.keep(self._found, self.confirmed))
        except Exception as error:
            self.dismiss(error)

    async def confirmed(self, changes: tuple[str, ...], seconds: float) -> bool:
        return bool(await self.app.push_screen_wait(LastWord(changes, seconds)))


class LastWord(Question):
    """A question that answers itself with no when the time is up."""

    def __init__(self, changes: tuple[str, ...], seconds: float) -> None:
        self._changes, self._ends = "; ".join(changes), time.monotonic() + seconds
        super().__init__("Keep it?", self._words(), "Keep it", "Put it back", safe=True)

    def on_mount(self) -> None:
        self.set_interval(1.0, self._count)

    def _words(self) -> str:
        left = max(0.0, self._ends - time.monotonic())
        return IN_FORCE.format(changes=self._changes, left=f"{left:.0f} s")

    def _count(self) -> None:
        if time.monotonic() > self._ends:
            self.dismiss(False)
        else:
            self.query_one("#text", Static).update(self._words())
