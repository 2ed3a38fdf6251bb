"""The System screen: shows this machine, and has forms to change an appliance."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder import units
from linkladder.app import input_checks
from linkladder.app.dialogs import Ask, Question
from linkladder.app.form_dialog import Entry, Form, Values
from linkladder.app.home_text import host_lines
from linkladder.app.install_dialog import install
from linkladder.app.page import Page
from linkladder.app.upgrade_dialog import upgrade
from linkladder.app.widgets.menu import Menu
from linkladder.errors import LinkladderError

if TYPE_CHECKING:
    from linkladder.host.switches import Appliance
    from linkladder.model import HostFacts
    from linkladder.settings.overview import OnLoan

ACTIONS = [
    ("hostname", "Host name", "give the appliance another name"),
    ("address", "Addresses", "an interface's address: DHCP, fixed or none"),
    ("timezone", "Time zone", "for the clock on this screen; records stay in UTC"),
    ("ssh", "ssh access", "off until you give a key or a password"),
    ("kernel", "Kernel", "boot another one, once"),
    ("mtu", "Frame size", "jumbo frames for a test adapter, or ordinary ones"),
    ("upgrade", "Update", "a new system by a signed file; kept if it is healthy"),
    ("reboot", "Reboot", "start anew"),
    ("shutdown", "Shut down", "power off"),
]
INSTALL = ("install", "Install", "put this system onto a disk")
ACCEPT = ("accept-settings", "Settings", "an experiment left some changed: take them as they are")
ENDS = "A run that goes on ends early: what it measured is kept, and it can be gone on with."
SSH = (
    ("key", "add a public key"),
    ("password", "set a password"),
    ("on", "switch on"),
    ("off", "switch off"),
    ("forget", "switch off, and forget keys and password"),
)


def ssh_words(state: Appliance) -> str:
    if state.ssh is None:
        return "as the system's owner has set it"
    keys = units.plural(state.keys, "key")
    doors = " and ".join([*([keys] if state.keys else []), *(["a password"] if state.password else [])])
    if not state.ssh:
        return f"off; {doors} kept" if doors else "off; neither key nor password was given"
    return f"on, for admin, by {doors or 'nobody: no key and no password'}"


def switch_lines(state: Appliance) -> list[str]:
    """Lines on the clock, ssh and the kernel."""
    clock = f"{time.strftime('%d %b %H:%M')}, time zone {state.zone or 'unknown'}; records are in UTC"
    lines = [f"{'clock':<9}{clock}", f"{'ssh':<9}{ssh_words(state)}"]
    if state.kernel:
        after = f"; the next boot, once: {state.next_kernel}" if state.next_kernel else ""
        lines.append(f"{'kernel':<9}{state.kernel}{after}")
    return lines


class SystemScreen(Page):
    NAME = "System"
    HELP = """
  t   tunables and offloads: shipped, in force, why not
  d   what the doctor found
  m   this machine: every interface, with driver, addresses and offloads
  g   the log
The changes go through one helper that allows only these. ssh lets the user
admin in, with a key or a password that you give, and is off until then.
Another kernel is booted once: if it does not come up, the next power cycle
brings the old one back. So does an upgrade that does not come up healthy.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "tunables", "Tunables"),
        Binding("d", "doctor", "Doctor"),
        Binding("g", "log_screen", "Log"),
        Binding("m", "machine", "Machine", show=False),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.host: HostFacts | None = None
        self.state: Appliance | None = None
        self.loan: OnLoan | None = None  # what an experiment left changed

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body", can_focus=False):
            yield Static("This machine", classes="heading")
            yield Static("looking ...", id="host", classes="nowrap", markup=False)
            yield Static("", id="why", markup=False)
            yield Static("Change", classes="heading")
            box = Menu("actions")
            box.add_options([_option(*action) for action in ACTIONS])
            yield box
            yield Static("", id="said", markup=False)

    def on_mount(self) -> None:
        self.query_one("#actions").focus()
        self.load()

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        app = self.ladder_app
        self.host = await app.ask(app.backend.facts)
        self.state = await app.ask(app.backend.appliance)
        if self.host and self.state:
            tools = ", ".join(f"{t} {v}" for t, v in self.host.tools.items())
            lines = [*host_lines(self.host, 3), *switch_lines(self.state), *([f"{'tools':<9}{tools}"] if tools else [])]
            self.query_one("#host", Static).update("\n".join(lines))
            why = self.state.why_not
            # Only a live medium has something to install.
            self._offer(INSTALL, not why and bool(await app.ask(app.backend.disks)))
            self.loan = await app.ask(app.backend.on_loan)
            self._offer(ACCEPT, not why and bool(self.loan and (self.loan.left_behind or self.loan.notice)))
            self.query_one("#why", Static).update(f"Nothing below can be changed: {why}.\n" if why else "")

    def _offer(self, action: tuple[str, str, str], wanted: bool) -> None:
        """Add an action that is not always there to the menu, or take it away again."""
        menu = self.query_one("#actions", Menu)
        there = action[0] in [one.id for one in menu.options]
        if wanted and not there:
            menu.add_option(_option(*action))
        elif there and not wanted:
            menu.remove_option(action[0])

    # --- changing

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.change(str(event.option_id))

    @work(exclusive=True, group="change")
    async def change(self, verb: str) -> None:
        if self.host is None or self.state is None:
            return
        if self.state.why_not:
            label = next(label for key, label, _ in ACTIONS if key == verb)
            hint = "on an appliance this asks and does it"
            self.ladder_app.complain(LinkladderError(f"{label}: not on this machine", self.state.why_not, hint))
            return
        asked = {
            "hostname": self._ask_name,
            "address": self._ask_address,
            "timezone": self._ask_zone,
            "ssh": self._ask_ssh,
            "kernel": self._ask_kernel,
            "mtu": self._ask_frames,
            "install": self._install,
            "upgrade": self._upgrade,
            "accept-settings": self._accept,
        }.get(verb)
        if asked:
            await asked(self.host, self.state)
        else:
            title = "Start anew now?" if verb == "reboot" else "Power off now?"
            if await self.app.push_screen_wait(Question(title, ENDS, "Yes", "No", safe=True)):
                await self._do(verb)

    async def _do(self, verb: str, *words: str, said: str = "", done: str = "") -> None:
        """Run a verb of the helper, and show the result below the menu."""
        line = self.query_one("#said", Static)
        line.update("working ...")
        try:
            answer = await self.ladder_app.backend.system(verb, *words, said=said)
        except Exception as error:
            line.update("")
            self.ladder_app.complain(error)
            return
        line.update(done or answer or f"Done: {verb}.")
        self.load()

    async def _accept(self, _host: HostFacts, _: Appliance) -> None:
        loan = self.loan
        what = "; ".join(filter(None, (loan.failed or ", ".join(loan.changes), loan.notice))) if loan else ""
        if await self.app.push_screen_wait(Question("Are these right as they are?", what, "Yes", "No", safe=True)):
            await self._do("accept-settings", done="They are taken as they are.")

    async def _ask_name(self, host: HostFacts, _: Appliance) -> None:
        fields = [Entry("name", "Name", host.name)]
        text = "Letters, digits, dashes and dots. Peers know this appliance by its key, not by its name."
        form = Form("Host name", text, fields, lambda v: input_checks.wrong_name(v["name"]))
        if values := await self._filled(form):
            await self._do("hostname", values["name"], done=f"The name is {values['name']}.")

    async def _ask_address(self, host: HostFacts, _: Appliance) -> None:
        nics = [n for n in host.nics if not n.loopback]
        if not nics:
            self.notify("No network interface was found")
            return
        fields = [
            Entry("nic", "Interface", nics[0].name, tuple((n.name, _nic_words(n.name, n.addresses)) for n in nics)),
            Entry("how", "Address", "dhcp", (("dhcp", "by DHCP"), ("static", "fixed"), ("none", "none"))),
            Entry("address", "Fixed address"),
            Entry("router", "Router"),
        ]
        text = (
            "A fixed address is written with its prefix, such as 10.1.0.2/24. The router may be left empty: one that "
            "is given becomes the default router, in place of the management adapter's too."
        )
        form = Form("Address", text, fields, lambda v: input_checks.wrong_address(v["how"], v["address"], v["router"]))
        if not (values := await self._filled(form)):
            return
        nic, fixed = values["nic"], values["how"] == "static"
        words = [nic, values["how"], *([values["address"]] if fixed else [])]
        router = values["router"] if fixed else ""
        words += [router] if router else []
        what = values["address"] if fixed else "DHCP" if values["how"] == "dhcp" else "no address"
        question = f"{nic} gets {what}. Connections over it end, a run and an ssh session among them."
        if router:
            question += f" {router} becomes the default router: whoever comes in by another one is cut off."
        if await self.app.push_screen_wait(Question(f"Change {nic} now?", question, "Change it", "No", safe=True)):
            await self._do("address", *words, done=f"{nic} has {what} now, and after every boot.")

    async def _ask_zone(self, _: HostFacts, state: Appliance) -> None:
        zone = state.zone
        while True:
            text = "A city or a zone, such as Europe/Prague or UTC."
            zone = await self.app.push_screen_wait(Ask("Time zone", text, zone)) or ""
            if not zone:
                return
            wrong = await self.ladder_app.ask(input_checks.wrong_zone, zone)
            if wrong == "":
                break
            self.notify(wrong or "The time zones could not be read", severity="warning", markup=False)
        await self._do("timezone", zone, done=f"The clock shows the time of {zone}.")
        time.tzset()

    async def _ask_ssh(self, _: HostFacts, state: Appliance) -> None:
        ready = bool(state.keys or state.password)
        first = "on" if ready and not state.ssh else "off" if state.ssh else "password"
        text = f"ssh is {ssh_words(state)}.\nOn a console without paste a password is the easier way."
        options = tuple(o for o in SSH if ready or o[0] in ("key", "password"))
        values = await self._filled(Form("ssh access", text, [Entry("what", "Do", first, options)], lambda _: ""))
        match values["what"] if values else "":
            case "key":
                await self._key()
            case "password":
                await self._password()
            case "on":
                await self._do("ssh", "on", done="ssh is on: admin comes in on port 22.")
            case "off":
                await self._do("ssh", "off", done="ssh is off; keys and password are kept.")
            case "forget":
                text = "Nobody can come in by ssh until a key or a password is given again."
                if await self.app.push_screen_wait(
                    Question("Forget keys and password?", text, "Forget", "No", safe=True)
                ):
                    await self._do("ssh", "forget", done="ssh is off, and nobody is known.")

    async def _key(self) -> None:
        fields = [Entry("key", "Key", width=50)]
        form = Form("Add a public key", input_checks.KEY_FORM, fields, lambda v: input_checks.wrong_key(v["key"]))
        if values := await self._filled(form):
            key = input_checks.key_words(values["key"])
            await self._do("ssh", "key", *key, done="The key is kept. ssh, on lets it in.")

    async def _password(self) -> None:
        fields = [Entry("first", "Password", hidden=True), Entry("again", "Once more", hidden=True)]
        text = "For the user admin, at least eight letters, digits and signs."
        form = Form("Set a password", text, fields, lambda v: input_checks.wrong_password(v["first"], v["again"]))
        if values := await self._filled(form):
            await self._do(
                "ssh", "password", said=f"{values['first']}\n", done="The password is set. ssh, on lets it in."
            )

    async def _ask_kernel(self, _: HostFacts, state: Appliance) -> None:
        others = [k for k in state.kernels if k != state.kernel]
        if not others:
            self.notify("There is no other kernel on this machine")
            return
        fields = [Entry("kernel", "Kernel", others[0], tuple((k, k) for k in others))]
        text = f"{state.kernel} runs now. The other one is booted once; the boot after that is as before."
        if not (
            values := await self._filled(Form("Kernel for the next boot", text, fields, lambda _: "", "Boot it once"))
        ):
            return
        name = values["kernel"]
        await self._do("kernel", name, done=f"The next boot, and only that, takes {name}.")
        if await self.app.push_screen_wait(Question("Start anew now?", ENDS, "Yes", "Later", safe=True)):
            await self._do("reboot")

    async def _ask_frames(self, host: HostFacts, state: Appliance) -> None:
        nics = [n for n in host.nics if not n.loopback and n.name != state.management]
        if not nics:
            self.notify("There is no adapter besides the management adapter, whose frames stay ordinary")
            return
        fields = [
            Entry("nic", "Adapter", nics[-1].name, tuple((n.name, f"{n.name}, MTU {n.mtu} now") for n in nics)),
            Entry("size", "Frames", "9000", (("9000", "jumbo, MTU 9000"), ("1500", "ordinary, MTU 1500"))),
        ]
        text = "Both ends and every switch between them must carry the frames: set the other appliance alike."
        if values := await self._filled(Form("Frame size", text, fields, lambda _: "")):
            done = f"{values['nic']} has MTU {values['size']} now, and after every boot."
            await self._do("mtu", values["nic"], values["size"], done=done)

    async def _install(self, _: HostFacts, state: Appliance) -> None:
        if await install(self.ladder_app):
            self.query_one("#said", Static).update("Installed: the disk starts by itself once the medium is out.")
            text = "Take the medium out while the machine starts anew."
            if await self.app.push_screen_wait(Question("Installed. Start anew now?", text, "Yes", "Later", safe=True)):
                await self._do("reboot")

    async def _upgrade(self, _: HostFacts, state: Appliance) -> None:
        if await upgrade(self.ladder_app):
            said = "The new system is written, and starts once at the next boot."
            self.query_one("#said", Static).update(said)
            if await self.app.push_screen_wait(Question("Start it now?", ENDS, "Yes", "Later", safe=True)):
                await self._do("reboot")

    async def _filled(self, form: Form) -> Values | None:
        values: Values | None = await self.app.push_screen_wait(form)
        return values

    # --- pages

    def action_tunables(self) -> None:
        self.ladder_app.open("tunables")

    def action_machine(self) -> None:
        self.ladder_app.open("machine")

    def action_doctor(self) -> None:
        self.ladder_app.open("doctor")

    def action_log_screen(self) -> None:
        self.ladder_app.open("log")


def _option(key: str, label: str, words: str) -> Option:
    return Option(f"{label:<12} {words}", id=key)


def _nic_words(name: str, addresses: tuple[str, ...]) -> str:
    return f"{name}, {addresses[0] if addresses else 'no address'}"
