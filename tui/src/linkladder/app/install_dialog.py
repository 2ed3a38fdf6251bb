"""Runs the dialogs that install a live medium onto a disk: choose one, confirm twice, wait until it is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from linkladder import units
from linkladder.app.dialogs import Dialog, Question
from linkladder.app.form_dialog import Entry, Form
from linkladder.errors import LinkladderError

if TYPE_CHECKING:
    from linkladder.app.services import ServicesApp
    from linkladder.host.disks import Disk

NO_DISK = LinkladderError(
    "there is no disk to install onto",
    "every disk here is in use: the running system lies on it, or it is mounted",
    "attach another one and open this again",
)


async def install(app: ServicesApp) -> bool:
    """Run the dialogs; True if the system was installed."""
    found = await app.ask(app.backend.disks) or ()
    free = [disk for disk in found if not disk.used]
    if not free:
        app.complain(NO_DISK)
        return False
    text = f"This system is put onto it and starts from it.\n\n{_listed(free)}"
    fields = [Entry("disk", "Disk", free[0].name, tuple((disk.name, disk.name) for disk in free))]
    values = await app.push_screen_wait(Form("Install onto a disk", text, fields, lambda _: "", "Go on"))
    if not values:
        return False
    disk = next(one for one in free if one.name == values["disk"])
    first = f"{disk.title}.\nOn it: {disk.content}.\n\nAll of it is lost."
    if not await app.push_screen_wait(Question(f"Erase {disk.name}?", first, "Erase it", "No", safe=True)):
        return False
    again = f"{disk.title}, with {disk.content}.\n\nThis is the last question. It cannot be undone."
    if not await app.push_screen_wait(Question(f"Really erase {disk.name}?", again, "Install", "No", safe=True)):
        return False
    error = await app.push_screen_wait(Installing(disk))
    if error is not None:
        app.complain(error)
    return error is None


def _listed(disks: list[Disk]) -> str:
    return "\n".join(f"{disk.title}\n  {disk.content}" for disk in disks)


class Installing(Dialog):
    """Waits for the installation, and cannot be left before its end; its result is None or the error."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self._disk, self._began = disk, time.monotonic()
        self._quiet_until = 0.0  # until when a message is shown in place of the time

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(f"Installing onto {self._disk.title}", classes="heading", markup=False)
            yield Static("This takes minutes. Leave the machine on and the medium in.")
            yield Static("", id="passed", classes="line")

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self.go()

    def _tick(self) -> None:
        if time.monotonic() > self._quiet_until:
            self.query_one("#passed", Static).update(units.duration(time.monotonic() - self._began))

    def action_decline(self) -> None:
        self.query_one("#passed", Static).update("It goes on: half an installation would not start.")
        self._quiet_until = time.monotonic() + 5.0

    @work
    async def go(self) -> None:
        app = cast("ServicesApp", self.app)
        try:
            await app.backend.system("install", self._disk.name)
        except Exception as error:
            self.dismiss(error)
        else:
            self.dismiss(None)
