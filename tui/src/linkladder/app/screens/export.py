"""The Export screen: writes a run to disk, to a USB stick, over ssh, or to an address that works once."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder import units
from linkladder.app import qr
from linkladder.app.dialogs import Question
from linkladder.app.download import Download
from linkladder.app.page import Page
from linkladder.app.terminal import Glyphs
from linkladder.app.widgets.form import Choice
from linkladder.app.widgets.menu import Menu

if TYPE_CHECKING:
    from linkladder.app.backend import Reach
    from linkladder.host.switches import Stick

WHAT = [
    ("html", "HTML report: one file to read, print and send"),
    ("json", "JSON: everything measured, for machines"),
    ("csv", "CSV: trials and intervals, for a spreadsheet"),
]
WHERE = [
    ("disk", "On this disk", "says where it lies"),
    ("usb", "USB stick", "mounts it, writes, and unmounts it again"),
    ("scp", "Over ssh", "shows the command to type on your computer"),
    ("link", "Download link", "an address and a QR code, for one download within ten minutes"),
]


class ExportScreen(Page):
    NAME = "Export"
    HELP = """
Up and down choose where the run goes, left and right what of it. For people
who have only a hypervisor console: the download link opens a small web server
for ten minutes and one download; type the address into a browser in the same
network, or point a phone at the code.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", "Previous", show=False),
        Binding("right,l", "turn(1)", "What", key_display="Right"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    ExportScreen #what { margin: 0 1; }
    ExportScreen #ways { margin: 1 1 0 1; }
    ExportScreen #said { height: auto; margin: 1 0 0 0; padding: 0 1; }
    """

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.download: Download | None = None
        self._offer: Text | None = None  # the address and its QR code, shown below the countdown

    def title_line(self) -> str:
        return f"linkladder   Export   {self.run_id}"

    def body(self) -> ComposeResult:
        what = Choice("What ", WHAT, "html", key="what")
        what.can_focus = False
        yield what
        box = Menu("ways")
        box.add_options([Option(f"{label:<14} {words}", id=key) for key, label, words in WHERE])
        yield box
        yield Static("", id="said", markup=False)

    def on_mount(self) -> None:
        self.query_one("#ways").focus()

    def on_unmount(self) -> None:
        if self.download:
            self.download.close()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Disable the choice of what to export while a download is open."""
        return action != "turn" or self.download is None

    def action_turn(self, step: int) -> None:
        self.query_one("#what", Choice).action_turn(step)

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.do(str(event.option_id))

    @work(exclusive=True, group="export")
    async def do(self, where: str) -> None:
        app = self.ladder_app
        self._close()
        self._say("writing ...")
        paths = await app.ask(app.backend.export, self.run_id, self.query_one("#what", Choice).value)
        reach = await app.ask(app.backend.reach) if where in ("scp", "link") else None
        self._say("")
        if paths is None:
            return
        match where:
            case "disk":
                self._say("\n".join(f"Written: {path}" for path in paths))
            case "usb":
                await self._to_stick(paths)
            case "scp" if reach:
                self._say(scp_words(paths, reach))
            case "link" if reach:
                await self._link(paths, reach)

    def _say(self, text: str | Text) -> None:
        self.query_one("#said", Static).update(text)

    # --- a stick

    async def _to_stick(self, paths: tuple[str, ...]) -> None:
        app = self.ladder_app
        stick: Stick | None = None
        there = await app.ask(app.backend.sticks) or ()
        for found in there:
            name = f"{found.name or 'A disk'}, {units.size(found.size)} ({found.device})"
            text = f"{name}\n\nWhat is on it stays; {units.plural(len(paths), 'file')} will be added."
            if await app.push_screen_wait(Question("Write to this stick?", text, "Write", "Not this one")):
                stick = found
                break
        if there and not stick:
            return
        self._say("writing to the stick ...")
        try:
            self._say(await app.backend.to_stick(paths, stick))
        except Exception as error:
            self._say("")
            app.complain(error)

    # --- an address that works once

    async def _link(self, paths: tuple[str, ...], reach: Reach) -> None:
        app = self.ladder_app
        path = await app.ask(zipped, paths)
        if path is None:
            return
        try:
            self.download = await app.run_blocking(Download, path, reach.address or "127.0.0.1")
        except OSError as error:
            app.complain(error)
            return
        url = self.download.url
        picture = code(url, app.glyphs, self.size.height - 7, not app.no_color)
        self._offer = Text.assemble(f"{url}\n", picture)
        for name in ("#ways", "#what"):  # leaves room for the code
            self.query_one(name).display = False
        self.refresh_bindings()
        self.on_tick()

    def on_tick(self) -> None:
        """Show the time that is left, and tell when the file was downloaded."""
        if self.download is None or self._offer is None:
            return
        if self.download.served:
            self._close()
            self._say("It was downloaded, and the address works no more.")
        elif not self.download.left:
            self._close()
            self._say("Nobody came within ten minutes; the address works no more.")
        else:
            left = units.duration(self.download.left)
            self._say(Text.assemble(f"Good for one download, {left} left; Esc closes it.\n", self._offer))

    def _close(self) -> None:
        if self.download:
            self.download.close()
        self.download = self._offer = None
        for name in ("#ways", "#what"):
            self.query_one(name).display = True
        self.query_one("#ways").focus()
        self.refresh_bindings()

    def action_back(self) -> None:
        if self.download:
            self._close()
            self._say("")
        else:
            super().action_back()


def scp_words(paths: tuple[str, ...], reach: Reach) -> str:
    """The command to type on the other computer, and what it needs."""
    if not reach.address:
        return "This machine has no address that another computer could use."
    at = f"[{reach.address}]" if ":" in reach.address else reach.address
    lines = "\n".join(f"  scp {reach.user}@{at}:{path} ." for path in paths)
    need = {True: "", False: "\n\nssh is off: System, ssh access, switches it on.", None: "\n\nssh must be on here."}
    return f"On your computer:\n\n{lines}{need[reach.ssh]}"


def zipped(paths: tuple[str, ...]) -> Path:
    """The files in one zip file if there are several, since an address works once."""
    first = Path(paths[0])
    if len(paths) == 1:
        return first
    together = first.with_suffix(".zip")
    with zipfile.ZipFile(together, "w", zipfile.ZIP_DEFLATED) as file:
        for path in paths:
            file.write(path, Path(path).name)
    return together


def code(url: str, glyphs: Glyphs, room: int, colour: bool = True) -> Text:
    """The QR code in half blocks, or in reverse video if the terminal has none; words if it is too tall.

    Its light parts must be lighter than the others; without colours a dark terminal is assumed.
    """
    ground = "bright_white on black" if colour else ""
    if glyphs is Glyphs.ASCII:
        rows = qr.wide(url)
        if len(rows) > room:
            return Text(f"(its QR code needs a terminal of {len(rows) + 7} lines)")
        return Text("\n").join(_reversed(row, ground) for row in rows)
    lines = qr.picture(url)
    if len(lines) > room:
        return Text(f"(its QR code needs a terminal of {len(lines) + 7} lines)")
    return Text("\n".join(lines), ground)


def _reversed(row: str, ground: str) -> Text:
    out = Text()
    for cell in row:
        out.append(" ", f"{ground} reverse".strip() if cell == "1" else ground)
    return out
