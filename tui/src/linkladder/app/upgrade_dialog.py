"""Runs the dialogs of an upgrade: where the file is, what it contains, and how far the writing is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from linkladder import __version__, units
from linkladder.app.dialogs import Ask, Dialog, Question
from linkladder.upgrading import line

if TYPE_CHECKING:
    from linkladder.app.services import ServicesApp
    from linkladder.upgrade import Manifest

FROM = """{words}.

The new system comes in a file that ends in .upgrade and is signed for this one.
Type "stick" for a USB stick with it, an https address, or the file's path here."""
CONTENT = """Version {version}, built {built}, in place of {running}.

It is written beside the running system, and started once. If it does not come
up healthy, this one comes back by itself. State, keys, peers and runs are kept."""


async def upgrade(app: ServicesApp) -> bool:
    """Run the dialogs; True if a new system was written."""
    now = await app.ask(app.backend.upgrade_status)
    if now is None:
        return False
    words = now.words[:1].upper() + now.words[1:]
    source = await app.push_screen_wait(Ask("Update", FROM.format(words=words), "stick"))
    if not source:
        return False
    error = await app.push_screen_wait(Upgrading(source))
    if isinstance(error, Exception):
        app.complain(error)
    return error is True


class Upgrading(Dialog):
    """Verifies the file, asks, and writes it; its result is True if written, None if not wanted, or the error."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source, self._quiet_until = source, 0.0
        self._writes = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static("Update", classes="heading", markup=False)
            yield Static("The signature is verified first.", id="what", markup=False)
            yield Static("looking ...", id="passed", classes="line", markup=False)

    def on_mount(self) -> None:
        self.go()

    def action_decline(self) -> None:
        if self._writes:
            self.query_one("#passed", Static).update("It goes on: leave the machine on. This system stays as it is.")
            self._quiet_until = time.monotonic() + 5.0
        else:
            self.workers.cancel_node(self)
            self.dismiss(None)

    def show_progress(self, what: str, done: int, total: int, seconds: float) -> None:
        self.app.call_later(self._show, line(what, done, total, seconds))

    def _show(self, text: str) -> None:
        if time.monotonic() < self._quiet_until:  # asked here, as it may have been on its way when a key was pressed
            return
        for static in self.query("#passed").results(Static):
            static.update(text)

    async def agreed(self, manifest: Manifest) -> bool:
        text = CONTENT.format(version=manifest.version, built=manifest.built or "?", running=__version__)
        answer = await self.app.push_screen_wait(Question("Write this system?", text, "Write it", "No", safe=True))
        self._writes = bool(answer)
        if answer:
            self.query_one("#what", Static).update(
                f"Writing {manifest.version}, {units.size(manifest.image_size)}, and reading it back."
            )
        return self._writes

    @work
    async def go(self) -> None:
        app = cast("ServicesApp", self.app)
        try:
            said = await app.backend.upgrade(self._source, self.show_progress, self.agreed)
        except Exception as error:
            self.dismiss(error)
        else:
            self.dismiss(True if said else None)
