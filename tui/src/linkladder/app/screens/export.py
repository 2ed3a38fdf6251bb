"""Export: to disk, to a USB stick, over ssh, or by an address that works once."""

from __future__ import annotations

import getpass
import shutil
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder import units
from linkladder.app import qr
from linkladder.app.download import Download
from linkladder.app.screens.base import Page
from linkladder.app.terminal import Glyphs
from linkladder.app.widgets.menu import Menu

WAYS = [
    ("html", "HTML report", "one file to read, print and send"),
    ("json", "JSON", "everything measured, for machines"),
    ("csv", "CSV", "one row a trial, for a spreadsheet"),
    ("usb", "USB stick", "the HTML report on a stick that is mounted"),
    ("scp", "Over ssh", "shows the command to type on your computer"),
    ("link", "Download link", "an address and a QR code, good for one download within ten minutes"),
]


class ExportScreen(Page):
    NAME = "Export"
    HELP = """
Files are written to the appliance's disk. For people who have only a hypervisor console:
the download link opens a small web server for ten minutes and one download; type the
address into a browser in the same network, or point a phone at the code.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = "ExportScreen #said { height: auto; margin: 1 0 0 0; }"

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.download: Download | None = None

    def title_line(self) -> str:
        return f"linkladder   Export   {self.run_id}"

    def body(self) -> ComposeResult:
        box = Menu("ways")
        box.add_options([Option(f"{label:<14} {words}", id=key) for key, label, words in WAYS])
        yield box
        yield Static("", id="said", markup=False)

    def on_mount(self) -> None:
        self.query_one("#ways").focus()

    def on_unmount(self) -> None:
        if self.download:
            self.download.close()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.do(str(event.option_id))

    @work(exclusive=True, group="export")
    async def do(self, way: str) -> None:
        app = self.ladder_app
        path = await app.ask(app.backend.export, self.run_id, way if way in ("html", "json", "csv") else "html")
        if path is None:
            return
        said: str | Text = f"Written: {path}"
        match way:
            case "usb":
                said = await app.ask(self._to_stick, path) or ""
            case "scp":
                host = next(
                    (a for n in app.backend.facts().nics if not n.loopback for a in n.addresses), "THIS-ADDRESS"
                )
                said = f"On your computer:\n\n  scp {getpass.getuser()}@{host}:{path} .\n\nssh must be on: System, ssh."
            case "link":
                said = await app.ask(self._offer, path) or ""
        self.query_one("#said", Static).update(said)

    def _to_stick(self, path: str) -> str:
        folder = self.ladder_app.backend.usb_folder()
        if not folder:
            return "No USB stick is mounted. Put one in (FAT or UFS), wait a few seconds and try again."
        target = shutil.copy(path, folder)
        return f"Written: {target}. Safe to pull out."

    def _offer(self, path: str) -> Text:
        facts = self.ladder_app.backend.facts()
        host = next((a for n in facts.nics if not n.loopback and n.up for a in n.addresses), "127.0.0.1")
        if self.download:
            self.download.close()
        self.download = Download(Path(path), host)
        url = self.download.url
        words = f"{url}\nGood for one download, for {units.duration(self.download.seconds)}; Esc closes it.\n"
        picture = qr.picture(url)
        ascii_only = self.ladder_app.glyphs is Glyphs.ASCII
        room = self.size.height - len(WAYS) - 6
        if ascii_only or len(picture) > room + len(WAYS):
            return Text(words + "(the code needs a larger screen)")
        if len(picture) > room:  # the code first: who needs it has a phone in hand
            self.app.call_from_thread(self._only_code)
        return Text.assemble(words, ("\n".join(picture), "bright_white on black"))

    def _only_code(self) -> None:
        self.query_one("#ways").display = False

    def action_back(self) -> None:
        ways = self.query_one("#ways")
        if not ways.display:
            ways.display = True
            self.query_one("#said", Static).update("")
            if self.download:
                self.download.close()
            ways.focus()
            return
        super().action_back()
