"""The screens to read: Doctor, Machine, Log and Tunables."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType
from textual.widgets import Static

from linkladder import phrases, units
from linkladder.app.backend import Setting
from linkladder.app.text_page import TextPage
from linkladder.findings import Finding, Health
from linkladder.model import HostFacts, Nic

SAID = {Health.BAD: "wrong", Health.WARN: "look at this", Health.OK: "ok"}  # the worst first
STYLE = {Health.OK: "green", Health.WARN: "yellow", Health.BAD: "bold red"}
WORDS = {True: ("yes", ""), False: ("NO", "bold red"), None: ("-", "")}


def settings_page(rows: tuple[Setting, ...]) -> Text:
    """A table of settings: shipped and current value, whether in force, and a line with the reason if not."""
    if not rows:
        return Text("Nothing could be read on this machine.")
    shipped = [s for s in rows if s.shipped]
    wrong = [s for s in shipped if s.in_force is False]
    out = Text()
    if not shipped:
        out.append("This machine is no appliance: it ships no settings, and these are as its owner has them.\n\n")
    elif wrong:
        out.append(f"{len(wrong)} of {len(shipped)} settings are not in force.\n\n", "bold")
    else:
        out.append("Every setting that this machine can take is in force.\n\n", "bold")
    wide = min(44, max(len(s.name) for s in rows)) + 1
    out.append(f"{'setting':<{wide}}{'shipped':<13}{'now':<13}in force\n", "bold underline")
    for s in rows:
        word, style = WORDS[s.in_force]
        values = (s.shipped or "-", s.current or "-")
        narrow = all(len(value) <= 12 for value in values)
        out.append(f"{s.name:<{wide}}" + "".join(f"{value if narrow else '':<13}" for value in values))
        out.append(f"{word}\n", style)
        if not narrow:
            out.append(f"  shipped {values[0]}\n  now     {values[1]}\n")
        reason = "; ".join(text for text in (s.why, s.purpose if s.in_force is not True else "") if text)
        if reason and s.shipped:
            out.append(f"  {reason}\n", "dim" if s.in_force is None else "")
    return out


def findings_page(found: tuple[Finding, ...]) -> Table | Text:
    """A table of the doctor's findings, the worst first, each with what to do about it."""
    if not found:
        return Text("nothing was looked at")
    order = list(SAID)
    out = Table.grid(padding=(0, 1))
    out.add_column(width=max(map(len, SAID.values())))
    out.add_column()
    for f in sorted(found, key=lambda f: order.index(f.state)):
        said = Text(f.title, "bold" if f.state is not Health.OK else "").append(f": {f.detail}" if f.detail else "", "")
        out.add_row(Text(SAID[f.state], STYLE[f.state]), said)
        if f.remedy and f.state is not Health.OK:
            out.add_row("", Text(f"do: {f.remedy}"))
    return out


def machine_page(host: HostFacts) -> Table:
    """What is known about the machine, then about each interface, those that are up and have an address first."""
    out = Table.grid(padding=(0, 1))
    out.add_column(no_wrap=True)
    out.add_column()
    system = host.release if host.os in host.release else f"{host.os} {host.release}"
    for name, said in (
        ("name", host.name),
        ("linkladder", host.version),
        ("system", f"{system}, {host.kernel}" if host.kernel else system),
        ("machine", host.virtual or "bare metal"),
        ("CPU", f"{units.plural(host.cores, 'core')}, {host.cpu or host.machine or 'unknown'}"),
        ("memory", units.size(host.memory)),
        ("buffers", f"at most {units.size(host.window_limit)} a socket" if host.window_limit else ""),
        ("tools", ", ".join(f"{tool} {version}" for tool, version in host.tools.items())),
    ):
        if said:
            out.add_row(name, Text(said))
    for nic in sorted(host.nics, key=lambda n: (n.loopback, not n.up, not n.addresses, n.name)):
        out.add_row("")
        out.add_row(Text(nic.name, "bold"), Text(nic_words(nic)))
        if nic.bundle:
            out.add_row("", Text(phrases.bundle(nic.bundle)))
        out.add_row("", Text(", ".join(nic.addresses) or "no address"))
        if nic.offloads:
            flags = (f"{flag} {'on' if on else 'off'}" for flag, on in sorted(nic.offloads.items()))
            out.add_row("", Text(f"offloads: {', '.join(flags)}"))
    return out


def nic_words(nic: Nic) -> str:
    """An interface, such as 'up, vmxnet3, 10.0 Gb/s, MTU 1500, 4 receive and 4 send queues, 00:50:56:...'."""
    queues = [f"{n} {way}" for n, way in ((nic.rx_queues, "receive"), (nic.tx_queues, "send")) if n]
    plural = "" if (nic.tx_queues or nic.rx_queues) == 1 else "s"  # agrees with the last number
    parts = [
        phrases.card_state(nic),
        nic.driver,
        phrases.card_speed(nic),
        f"MTU {nic.mtu}" if nic.mtu else "",
        f"{' and '.join(queues)} queue{plural}" if queues else "",
        nic.mac,
    ]
    return ", ".join(part for part in parts if part)


class DoctorScreen(TextPage):
    NAME = "Doctor"
    HELP = "What linkladder needs of this machine, what it found, and what to do about it. r looks again."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "again", "Look again")]

    @work(exclusive=True, group="read")
    async def load(self, anew: bool = False) -> None:
        app, page = self.ladder_app, self.query_one("#page", Static)
        page.update("looking at this machine ...")
        try:
            troubles = (await app.run_blocking(app.backend.home)).troubles  # of which Home leads here for details
            page.update(findings_page((*troubles, *await app.examined(anew))))
        except Exception as error:
            page.update("")
            self.ladder_app.complain(error)

    def action_again(self) -> None:
        self.load(True)


class MachineScreen(TextPage):
    NAME = "Machine"
    HELP = "What this machine is, and each of its interfaces with driver, speed, MTU, queues, addresses and offloads."

    def gather(self) -> Table:
        return machine_page(self.ladder_app.backend.facts())


class LogScreen(TextPage):
    NAME = "Log"
    HELP = "What linkladder wrote down, newest last. r reads it again."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "again", "Read again")]

    def gather(self) -> Text:
        lines = self.ladder_app.backend.log_lines(500)
        return Text("\n".join(lines) or "nothing was written down yet")

    @work(exclusive=True, group="read")
    async def load(self) -> None:
        text = await self.ladder_app.ask(self.gather)
        if text is not None:
            self.query_one("#page", Static).update(text)
            self.call_after_refresh(self.query_one("#scroll").scroll_end, animate=False)

    def action_again(self) -> None:
        self.load()


class SettingsScreen(TextPage):
    NAME = "Tunables"
    HELP = """
Each setting that the image ships: the value it ships, the value in force now,
whether that is so, and why where it is not ("not on this NIC", "kernel lacks
it", "refused", "needs 4 GB of memory", "this machine's own choice"). TSO, LRO
and checksums are turned on wherever an adapter can. Last come its other
offloads, which stay as the driver has them.
"""

    def gather(self) -> Text:
        return settings_page(self.ladder_app.backend.settings())
