"""Home: who am I, in what shape, whom do I know, what came out last, and what to do next."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder import __version__, units
from linkladder.app.backend import Finding, Health, HomeView, PeerView
from linkladder.app.screens.base import Page, verdict
from linkladder.app.widgets.menu import Menu

if TYPE_CHECKING:
    from linkladder.app.backend import Session
    from linkladder.model import HostFacts, Nic

STEPS = {
    "watch": ("Watch the run", "a run is going on"),
    "resume": ("Go on with the last run", "it stopped early; what it measured is kept"),
    "pair": ("Open pairing", "find the other appliance and compare a code"),
    "link": ("Describe the link", "rate, MTU, addresses, plan"),
    "climb": ("Climb the ladder", "measure every rung that has addresses"),
    "report": ("Read the report", "what the last run showed"),
    "runs": ("Earlier runs", "open, compare, export, delete"),
    "system": ("This appliance", "tunables, host name, ssh, shutdown"),
}


PEEK = 4  # ticks between two looks for a run that was started elsewhere


def next_step(view: HomeView, running: bool) -> str:
    """The one thing a newcomer should do now."""
    if running:
        return "watch"
    if view.resumable:
        return "resume"
    if not view.peers:
        return "pair"
    if view.link.contract is None:
        return "link"
    return "report" if view.last else "climb"


def offered(view: HomeView, running: bool) -> list[str]:
    """The steps that make sense now, the next one first."""
    first = next_step(view, running)
    rest = ["climb", "report", "pair", "link", "runs", "system"]
    if not view.last:
        rest.remove("report")
    return [first, *(s for s in rest if s != first and not (running and s == "climb"))]


def nic_line(nic: Nic) -> str:
    """'vmx0  10.7.0.1  10.0 Gb/s  MTU 9000  vmxnet3, 4 queues, tso lro'."""
    speed = units.rate(nic.speed_bps) if nic.speed_bps else "speed unknown"
    queues = f", {nic.rx_queues} queue{'s' if nic.rx_queues != 1 else ''}" if nic.rx_queues else ""
    flags = " ".join(name for name, on in sorted(nic.offloads.items()) if on and name in ("tso", "lro", "gso", "gro"))
    state = "" if nic.up else "  down"
    address = nic.addresses[0] if nic.addresses else "no address"
    return f"{nic.name:<8} {address:<15} {speed}, MTU {nic.mtu}{state}  {nic.driver}{queues}  {flags}".rstrip()


def host_lines(host: HostFacts, most: int = 4) -> list[str]:
    """The machine, then its interfaces, those that are up with an address first."""
    where = host.virtual or "bare metal"
    system = host.release if host.os in host.release else f"{host.os} {host.release}"
    cores = f"{host.cores} core{'' if host.cores == 1 else 's'}"
    first = f"{host.name}  {system}, {cores}, {units.size(host.memory)} memory, {where}"
    nics = sorted((n for n in host.nics if not n.loopback), key=lambda n: (not n.up, not n.addresses, n.name))
    lines = [first, *(nic_line(n) for n in nics[:most])]
    if len(nics) > most:
        more = len(nics) - most
        lines.append(f"and {more} more interface{'' if more == 1 else 's'}  (m: all of them)")
    if not nics:
        lines.append("no network interface was found")
    return lines


class HomeScreen(Page):
    NAME = "Home"
    HELP = """
The highlighted line at the bottom is the next step. Press Enter to do it.
From the first start: open pairing on both appliances, compare the code, describe
the link, climb the ladder, read the report.

  d   what the doctor found, in detail     p   pair        s   system
  m   this machine, every interface        e   link        r   earlier runs
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "doctor", "Doctor"),
        Binding("r", "open('runs')", "Runs"),
        Binding("s", "open('system')", "System"),
        Binding("m", "open('machine')", "Machine", show=False),
        Binding("p", "open('pair')", "Pair", show=False),
        Binding("e", "open('link')", "Link", show=False),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("q", "app.leave", "Quit"),
        Binding("escape", "back", "Back", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.view: HomeView | None = None
        self.found: tuple[Finding, ...] | None = None  # by the doctor, who may still be at it
        self._steps: list[str] = []
        self._ticks = 0
        self._said = ""  # the last complaint

    def title_line(self) -> str:
        return f"linkladder {__version__}"

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body", can_focus=False):
            yield Static("This appliance", classes="heading")
            yield Static("looking ...", id="host", classes="nowrap", markup=False)
            yield Static("", id="health", classes="nowrap", markup=False)
            yield Static("Peers", classes="heading")
            yield Static("", id="peers", classes="nowrap", markup=False)
            yield Static("Last run", classes="heading")
            yield Static("", id="last", classes="nowrap", markup=False)
        with Vertical(id="steps-box"):
            yield Static("Next step: press Enter", classes="heading")
            yield Menu("steps")

    DEFAULT_CSS = "#steps-box { height: auto; padding: 0 1; border-top: solid $secondary; }"

    def on_mount(self) -> None:
        self.query_one("#steps").focus()
        self.look()

    def on_screen_resume(self) -> None:
        self.look()

    def on_resize(self) -> None:
        self._show()

    @work(exclusive=True, group="home")
    async def look(self) -> None:
        """Gather what is known in a thread and show it; then let the doctor look, and ask the peers."""
        app = self.ladder_app
        await app.loaded.wait()
        if not self._measuring() and (found := await app.ask(app.backend.current)) and not self._known(found):
            app.watch_run(found)
        try:
            view = await app.run_blocking(app.backend.home)
        except Exception as error:
            if str(error) != self._said:  # once: this is looked at again whenever Home is on top
                self._said = str(error)
                app.complain(error)
            return
        self.view, self._said = view, ""
        self._show()
        self.examine()
        if view.peers:
            probed = await asyncio.gather(*(app.backend.probe(p) for p in view.peers))
            self.view = replace(view, peers=tuple(probed))
            self._show_peers()

    @work(exclusive=True, group="examine")
    async def examine(self) -> None:
        """The doctor takes its time on a small machine, and while a run goes on that time is the run's."""
        if self._measuring():
            return
        try:
            self.found = await self.ladder_app.examined()
        except Exception as error:
            self.found = (Finding("the doctor", Health.BAD, str(error), "the log screen has more"),)
        self._show_health()

    def _known(self, found: Session) -> bool:
        session = self.ladder_app.session
        return session is not None and session.log == found.log

    @work(exclusive=True, group="peek")
    async def peek(self) -> None:
        """A run that another screen or a command has started is seen here too."""
        app = self.ladder_app
        found = await app.ask(app.backend.current)
        if found and not self._known(found):
            self.look()

    def _measuring(self) -> bool:
        app = self.ladder_app
        return app.session is not None and not (app.progress and app.progress.over)

    def _show(self) -> None:
        view = self.view
        if view is None:
            return
        self.set_title(f"linkladder {__version__}   {view.host.name}")
        steps = offered(view, self._measuring())
        self._show_health()
        self._show_peers()
        last = self._show_last()
        # What is always there: title, three headings, machine, health, the line of the rest, border, heading, footer.
        taken = 10 + max(1, min(4, len(view.peers))) + last + len(steps)
        most = max(1, self.size.height - taken)
        most += len([n for n in view.host.nics if not n.loopback]) == most + 1  # in place of the line that counts it
        lines = Text("\n".join(host_lines(view.host, most)), no_wrap=True, overflow="ellipsis")
        self.query_one("#host", Static).update(lines)
        if steps != self._steps:
            self._steps = steps
            box = self.query_one("#steps", OptionList)
            box.clear_options()
            box.add_options([Option("", id=step) for step in steps])
            box.highlighted = 0
        self._mark()

    def on_option_list_option_highlighted(self) -> None:
        self._mark()

    def _mark(self) -> None:
        """The mark goes with the bar: a step is told by more than its colour."""
        box = self.query_one("#steps", OptionList)
        wide = max(len(STEPS[s][0]) for s in self._steps)
        for index, step in enumerate(self._steps):
            box.replace_option_prompt_at_index(index, self._step_text(step, wide, index == box.highlighted))

    def _step_text(self, step: str, wide: int, marked: bool) -> Text:
        label, words = STEPS[step]
        if step == "report" and self.view and self.view.last:
            words = f"run {self.view.last.id}"
        if step == "resume" and self.view and self.view.resumable:
            words = f"run {self.view.resumable.id} stopped early"
        return Text(f"{'>' if marked else ' '} {label:<{wide}}   {words}", no_wrap=True, overflow="ellipsis")

    def _show_health(self) -> None:
        if self.view:
            text = health_line(self.view.troubles, self.found, self._measuring())
            self.query_one("#health", Static).update(text)

    def _show_peers(self) -> None:
        assert self.view
        if not self.view.peers:
            self.query_one("#peers", Static).update("none yet: pair with the appliance at the other end")
            return
        self.query_one("#peers", Static).update(Text("\n").join(peer_line(p) for p in self.view.peers[:4]))

    def _show_last(self) -> int:
        """The last whole run with its verdicts, and a newer one that stopped early; how many lines that takes."""
        assert self.view
        last, judged, broken = self.view.last, self.view.judged, self.view.resumable
        out = Text(no_wrap=True)
        if broken:
            out.append(f"{broken.id}  plan {broken.plan}, {broken.trials} trials, stopped early")
        if last is None:
            none = f"cannot be read: {self.view.unread}" if self.view.unread else "none yet"
            self.query_one("#last", Static).update(out if broken else none)
            return 1
        out.append("\n" if broken else "")
        out.append(f"{last.id}  plan {last.plan}, {last.trials} trials, {last.failed} failed")
        for rung in reversed(judged.rungs) if judged else ():
            best = units.rate(rung.best_bps) if rung.best_bps else ""
            out.append(f"\n  {rung.rung:<10} {best:>10}  ")
            out.append_text(verdict(str(rung.verdict), rung.provisional))
        self.query_one("#last", Static).update(out)
        return out.plain.count("\n") + 1

    def on_tick(self) -> None:
        if self.view and self._steps and (self._steps[0] == "watch") != self._measuring():
            self.look()
        elif self.view and not self._measuring():
            self._ticks += 1
            if self._ticks % PEEK == 0:
                self.peek()

    # --- keys -------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.open(str(event.option_id))

    async def action_open(self, step: str) -> None:
        await self.ladder_app.loaded.wait()  # a key pressed before then counts when it can
        self.open(step)

    def open(self, step: str) -> None:
        from linkladder.app.screens.ladder import LadderScreen
        from linkladder.app.screens.link import LinkScreen
        from linkladder.app.screens.pair import PairScreen
        from linkladder.app.screens.reading import MachineScreen
        from linkladder.app.screens.results import ResultsScreen
        from linkladder.app.screens.runs import RunsScreen
        from linkladder.app.screens.system import SystemScreen

        app = self.ladder_app
        match step:
            case "watch":
                app.push_screen(LadderScreen())
            case "resume":
                self.resume_last()
            case "pair":
                app.push_screen(PairScreen())
            case "link" | "climb":
                app.push_screen(LinkScreen())
            case "report" if self.view and self.view.last:
                app.push_screen(ResultsScreen(self.view.last.id))
            case "runs":
                app.push_screen(RunsScreen())
            case "machine":
                app.push_screen(MachineScreen())
            case "system":
                app.push_screen(SystemScreen())

    @work(exclusive=True, group="resume")
    async def resume_last(self) -> None:
        from linkladder.app.screens.link import LinkScreen
        from linkladder.app.screens.resume import offer

        app, view = self.ladder_app, self.view
        if view and view.resumable and not await offer(app, view.resumable, "Go on with the last run?", "Start anew"):
            app.push_screen(LinkScreen())

    async def action_doctor(self) -> None:
        from linkladder.app.screens.reading import DoctorScreen

        await self.ladder_app.loaded.wait()
        self.app.push_screen(DoctorScreen())


def health_line(troubles: tuple[Finding, ...], found: tuple[Finding, ...] | None, measuring: bool) -> Text:
    """What is wrong in one line; `found` is None while the doctor has not spoken."""
    all_found = (*troubles, *(found or ()))
    bad = [f for f in all_found if f.health is Health.BAD]
    wrong = bad + [f for f in all_found if f.health is Health.WARN]
    out = Text("Health   ", no_wrap=True, overflow="ellipsis")
    if wrong:
        one = len(wrong) == 1
        word = f"need{'s' if one else ''} you" if bad else f"want{'s' if one else ''} a look"
        of = (
            f"{len(wrong)} of {len(all_found)} checks"
            if found is not None
            else f"{len(wrong)} thing{'' if one else 's'}"
        )
        out.append(f"{of} {word}", "bold red" if bad else "yellow")
        out.append(f": {wrong[0].title}{'' if one else ', ...'}  ")
    if found is None:
        out.append("not looked at while a run goes on  (d: look now)" if measuring else "looking at this machine ...")
    elif wrong:
        out.append("(d: details)")
    else:
        out.append("good", "green").append(f": all {len(found)} checks are right")
    return out


def peer_line(peer: PeerView) -> Text:
    """'beta  10.7.0.2  reachable, 0.21 ms'."""
    out = Text(f"{peer.name:<12} {peer.addresses[0] if peer.addresses else 'no address':<16} ", no_wrap=True)
    if peer.reachable is None:
        out.append("asking ...", "dim")
    elif peer.reachable:
        out.append("reachable", "green")
        if peer.rtt_ms is not None:
            out.append(f", round trip {units.milliseconds(peer.rtt_ms)}")
    else:
        out.append("out of reach", "bold red")
        out.append(f": {peer.reason}" if peer.reason else "")
    return out
