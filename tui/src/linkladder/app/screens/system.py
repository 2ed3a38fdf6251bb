"""System: what is in force on this machine, what the doctor found, the log, and the switches of an appliance."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder.app.backend import Finding, Health, Setting
from linkladder.app.screens.base import Page
from linkladder.app.screens.dialogs import Ask, Question
from linkladder.app.widgets.menu import Menu

ACTIONS = [
    ("hostname", "Host name", "give the appliance another name"),
    ("address", "Address", "set an interface's address"),
    ("ssh", "ssh access", "off until you give a key"),
    ("timezone", "Time zone", "for what the screen shows; records stay in UTC"),
    ("reboot", "Reboot", "start anew"),
    ("shutdown", "Shut down", "power off"),
]
ASKS = {
    "hostname": "Letters, digits and dashes",
    "address": "INTERFACE dhcp, or INTERFACE static ADDRESS/PREFIX [ROUTER]",
    "ssh": "on, off, or: key TYPE BASE64 COMMENT",
    "timezone": "Such as Europe/Prague or UTC",
}
STYLE = {Health.OK: "green", Health.WARN: "yellow", Health.BAD: "bold red", Health.UNKNOWN: "dim"}


def settings_page(rows: tuple[Setting, ...]) -> Text:
    """Shipped, in force, and why they differ."""
    out = Text()
    if not rows:
        return Text("nothing could be read")
    out.append(f"{'setting':<36}{'shipped':<12}{'now':<14}in force\n", "bold underline")
    for s in rows:
        word = {True: "yes", False: "no", None: "-"}[s.in_force]
        out.append(f"{s.name:<36}{s.shipped or '-':<12}{s.current or '-':<14}")
        out.append(word, "bold red" if s.in_force is False else "")
        out.append(f"  {s.why}\n" if s.why else "\n")
    return out


def findings_page(found: tuple[Finding, ...]) -> Text:
    """What is wrong first, each with what to do."""
    order = [Health.BAD, Health.WARN, Health.UNKNOWN, Health.OK]
    out = Text()
    for f in sorted(found, key=lambda f: order.index(f.health)):
        out.append(f"{f.health.value:<13}", STYLE[f.health])
        out.append(f.title, "bold" if f.health is not Health.OK else "")
        out.append(f": {f.detail}\n" if f.detail else "\n")
        if f.hint and f.health is not Health.OK:
            out.append(f"{'':<13}do: {f.hint}\n")
    return out if found else Text("nothing was looked at")


class Reading(Page):
    """A page of text that a thread gathers."""

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body") as scroll:
            scroll.can_focus = True
            yield Static("looking ...", id="page", markup=False)

    def on_mount(self) -> None:
        self.load()

    def gather(self) -> Text:
        raise NotImplementedError

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        text = await self.ladder_app.ask(self.gather)
        if text is not None:
            self.query_one("#page", Static).update(text)


class DoctorScreen(Reading):
    NAME = "Doctor"
    HELP = "What linkladder needs of this machine, what it found, and what to do about it."

    def gather(self) -> Text:
        return findings_page(self.ladder_app.backend.findings())


class LogScreen(Reading):
    NAME = "Log"
    HELP = "What linkladder wrote down, newest last."

    def gather(self) -> Text:
        lines = self.ladder_app.backend.log_lines(500)
        return Text("\n".join(lines) or "nothing was written down yet")


class SettingsScreen(Reading):
    NAME = "Tunables"
    HELP = "Each setting of the image: what it ships, what is in force now, and why they differ."

    def gather(self) -> Text:
        return settings_page(self.ladder_app.backend.settings())


class SystemScreen(Page):
    NAME = "System"
    HELP = """
  t   tunables and offloads: shipped, in force, why not     g   the log
  d   what the doctor found
The changes below go through one helper that allows only these.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "tunables", "Tunables"),
        Binding("d", "doctor", "Doctor"),
        Binding("g", "log_screen", "Log"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body", can_focus=False):
            yield Static("This machine", classes="heading")
            yield Static("looking ...", id="host", markup=False)
            yield Static("")
            yield Static("Change", classes="heading")
            box = Menu("actions")
            box.add_options([Option(f"{label:<14} {words}", id=key) for key, label, words in ACTIONS])
            yield box
            yield Static("")
            yield Static("", id="said", markup=False)

    def on_mount(self) -> None:
        self.query_one("#actions").focus()
        self.load()

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        from linkladder.app.screens.home import host_lines

        app = self.ladder_app
        host = await app.ask(app.backend.facts)
        if host:
            lines = host_lines(host, 6)
            tools = ", ".join(f"{t} {v}" for t, v in host.tools.items()) or "none"
            self.query_one("#host", Static).update("\n".join([*lines, f"tools: {tools}"]))

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.change(str(event.option_id))

    @work(exclusive=True, group="change")
    async def change(self, verb: str) -> None:
        app = self.ladder_app
        value = ""
        if verb in ASKS:
            value = await app.push_screen_wait(Ask(verb.capitalize(), ASKS[verb])) or ""
            if not value:
                return
        elif not await app.push_screen_wait(
            Question(f"{verb.capitalize()} now?", "A run that goes on ends as incomplete.", "Yes", "No", safe=True)
        ):
            return
        try:
            said = await app.backend.system(verb, value)
        except Exception as error:
            app.complain(error)
            return
        self.query_one("#said", Static).update(said)
        self.load()

    def action_tunables(self) -> None:
        self.app.push_screen(SettingsScreen())

    def action_doctor(self) -> None:
        self.app.push_screen(DoctorScreen())

    def action_log_screen(self) -> None:
        self.app.push_screen(LogScreen())
