"""The Home screen: this machine and its health, its peers, the last run, and what to do next."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder import __version__
from linkladder.app.backend import HomeView, PairStage, PeerView
from linkladder.app.home_text import PEERS, health_line, host_lines, last_lines, loan_line, peer_lines, time_of_day
from linkladder.app.next_steps import offered, step
from linkladder.app.page import Page
from linkladder.app.places import keys, keys_in_words
from linkladder.app.widgets.menu import Menu
from linkladder.findings import Finding, Health

if TYPE_CHECKING:
    from linkladder.app.backend import PairingState, Session
    from linkladder.settings.overview import OnLoan

LOAN = 2  # ticks between two checks for settings on loan
PEEK = 4  # ticks between two checks for a run that was started elsewhere
ASK = 5 * PEEK  # ticks between two probes of the peers
SPARE = 4.0  # seconds within which no peer is probed twice, however often a person comes back to Home


class HomeScreen(Page):
    NAME = "Home"
    HELP = """
The highlighted line at the bottom is the next step. Press Enter to do it.
From the first start: open pairing on both appliances, compare the code, describe
the link, climb the ladder, read the report.

""" + keys_in_words()
    BINDINGS: ClassVar[list[BindingType]] = [
        *keys(),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("q", "app.leave", "Quit"),
        Binding("escape", "back", "Back", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.view: HomeView | None = None
        self._used = False  # whether this machine was in use since the doctor looked
        self._looked_in: Session | None = None  # the run that was watched last when it did
        self._steps: list[str] = []
        self._ticks = 0
        self._answered: dict[str, PeerView] = {}  # by name, what each peer answered last
        self._asked = 0.0  # when the peers were last probed, on the monotonic clock
        self._asking = False
        self._most_peers = PEERS  # lines for which there is room
        self._code_waits = False
        self._said = ""  # the last error that was shown
        self._user = ""  # who measures with this machine
        self._loan: OnLoan | None = None  # what an experiment has changed here
        self._starting = False  # whether a run is being started, which may take a minute on a busy small machine

    def title_line(self) -> str:
        return f"linkladder {__version__}"

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body", can_focus=False):
            yield Static("This appliance", classes="heading")
            yield Static("looking ...", id="host", classes="nowrap", markup=False)
            yield Static("", id="health", classes="nowrap", markup=False)
            yield Static("", id="loan", classes="nowrap", markup=False)
            yield Static("Peers", classes="heading")
            yield Static("", id="peers", classes="nowrap", markup=False)
            yield Static("Last run", classes="heading")
            yield Static("", id="last", classes="nowrap", markup=False)
        with Vertical(id="steps-box"):
            yield Static("Next step: press Enter", classes="heading")
            yield Menu("steps")

    DEFAULT_CSS = "#steps-box { height: auto; padding: 0 1; border-top: solid $secondary; } #loan { display: none; }"

    def on_mount(self) -> None:
        self.query_one("#steps").focus()

    def on_screen_resume(self) -> None:
        self.look()

    def on_resize(self) -> None:
        self._show()

    @work(exclusive=True, group="home")
    async def look(self) -> None:
        """Gather what is known in a thread and show it, then ask the doctor and the peers."""
        app = self.ladder_app
        await app.loaded.wait()
        if not self._measuring() and (found := await app.ask(app.backend.current)) and not self._known(found):
            app.watch_run(found)
        self._user = await app.ask(app.backend.used_by) or ""
        try:
            view = await app.run_blocking(app.backend.home)
        except Exception as error:
            if str(error) != self._said:  # shown once, as this runs whenever Home comes back
                self._said = str(error)
                app.complain(error)
            return
        self.view, self._said = view, ""
        self._show()
        self.examine()
        self.ask_peers()

    @work(exclusive=True, group="examine")
    async def examine(self) -> None:
        """Get the doctor's findings, but not during a run, as the doctor needs CPU time; after one get new ones."""
        app = self.ladder_app
        if self._in_use():
            self._used = True
            return
        due = self._due()
        if not app.examining:  # one that began earlier, perhaps before the run, does not do
            self._used, self._looked_in = False, app.session
        try:
            await app.examined(due)
        except Exception as error:
            app.found, app.found_at = (
                (Finding("the doctor", Health.BAD, str(error), "the log screen has more"),),
                app.now(),
            )
        self._show_health()
        if self._due():
            self.examine()

    def _due(self) -> bool:
        """Whether the doctor has to look again, as there was a run since it did."""
        return self._used or self.ladder_app.session is not self._looked_in

    @work(group="peers")
    async def ask_peers(self) -> None:
        """Probe all peers at once, but not during a run, which that could disturb."""
        peers = self.view.peers if self.view else ()
        now = time.monotonic()
        fresh = now - self._asked < SPARE and all(p.name in self._answered for p in peers)
        if self._asking or self._in_use() or fresh:
            return
        self._asking, self._asked = True, now
        try:
            await asyncio.gather(*map(self._ask, peers))
        finally:
            self._asking = False

    async def _ask(self, peer: PeerView) -> None:
        self._answered[peer.name] = await self.ladder_app.backend.probe(peer)
        self._show_peers()

    def _known(self, found: Session) -> bool:
        session = self.ladder_app.session
        return session is not None and session.log == found.log

    @work(exclusive=True, group="peek")
    async def peek(self, ask: bool) -> None:
        """Check whether another screen, a command or the far end started a run; else probe the peers if `ask`."""
        app = self.ladder_app
        found, user = await app.ask(app.backend.current), self._user
        self._user = await app.ask(app.backend.used_by) or ""
        if (found and not self._known(found)) or user != self._user:
            self.look()
        elif ask:
            self.ask_peers()

    @work(exclusive=True, group="loan")
    async def look_for_loan(self) -> None:
        """Check for settings on loan, also during a run, as that is when there are some."""
        app = self.ladder_app
        before, self._loan = self._loan, await app.ask(app.backend.on_loan)
        if self._loan or before:
            self._show()

    def _measuring(self) -> bool:
        return self.ladder_app.measuring

    def _in_use(self) -> bool:
        """Whether a run is going on, started here or at the far end, which nothing may disturb."""
        return self._measuring() or bool(self._user)

    def _show(self) -> None:
        view = self.view
        if view is None:
            return
        title = f"linkladder {__version__}   {view.host.name}"
        if self._starting:
            title = f"{title}   the run is being started ..."
        elif self._user and not self._measuring():
            used = f"{title}   {self._user} measures with this machine"
            title = used if len(used) <= self.size.width - 2 else f"{title}   {self._user} measures here"
        self.set_title(title)
        steps = self._offered(view)
        self._show_health()
        self._most_peers = PEERS
        peers, last = self._show_peers(), self._show_last()
        # The 10 are lines always there: title, three headings, machine, health, rest of cards, border, heading, footer.
        most = self.size.height - (10 + peers + last + len(steps) + self._show_loan())
        if most < -1:  # the body cannot be scrolled: peers give way to the last run's verdicts
            self._most_peers = max(1, peers + most + 1)
            self._show_peers()
        most += len([n for n in view.host.nics if not n.loopback]) == most + 1  # shows it instead of counting it
        lines = Text("\n".join(host_lines(view.host, most)), no_wrap=True, overflow="ellipsis")
        self.query_one("#host", Static).update(lines)
        if steps != self._steps:
            self._steps = steps
            box = self.query_one("#steps", OptionList)
            box.clear_options()
            box.add_options([Option("", id=name) for name in steps])
            box.highlighted = 0
        self._mark()

    def _offered(self, view: HomeView) -> list[str]:
        waits = self.ladder_app.backend.pairing().waits
        self._code_waits = self._code_waits or waits
        return offered(view, self._measuring(), waits)

    def on_option_list_option_highlighted(self) -> None:
        self._mark()

    def _mark(self) -> None:
        """Mark the highlighted step with a character too, so that it can be told without colour."""
        box = self.query_one("#steps", OptionList)
        wide = max(len(step(s).label) for s in self._steps)
        for index, name in enumerate(self._steps):
            box.replace_option_prompt_at_index(index, self._step_text(name, wide, index == box.highlighted))

    def _step_text(self, name: str, wide: int, marked: bool) -> Text:
        label, words = step(name).label, step(name).words
        if name == "report" and self.view and self.view.last:
            words = f"run {self.view.last.id}"
        if name == "resume" and self.view and self.view.resumable:
            words = f"run {self.view.resumable.id} stopped early"
        return Text(f"{'>' if marked else ' '} {label:<{wide}}   {words}", no_wrap=True, overflow="ellipsis")

    def _show_health(self) -> None:
        if self.view:
            app, used = self.ladder_app, self._in_use()
            as_of = time_of_day(app.found_at, app.now()) if used else ""
            text = health_line(self.view.troubles, app.found, used, self.size.width - 2, as_of)
            self.query_one("#health", Static).update(text)

    def _show_loan(self) -> int:
        """Show what is on loan, if anything, and return the number of lines that this takes."""
        line = self.query_one("#loan", Static)
        line.display = self._loan is not None
        if self._loan:
            line.update(loan_line(self._loan))
        return int(line.display)

    def _show_peers(self) -> int:
        """Show the peers, with their last answers unless a run is going on, and return the number of lines."""
        assert self.view
        measuring = self._in_use()
        peers = [p if measuring else self._answered.get(p.name, p) for p in self.view.peers]
        lines = peer_lines(peers, measuring, self.view.lost_peers, self._most_peers)
        self.query_one("#peers", Static).update(Text("\n").join(lines))
        return len(lines)

    def _show_last(self) -> int:
        assert self.view
        out = last_lines(self.view)
        self.query_one("#last", Static).update(out)
        return out.plain.count("\n") + 1

    def on_tick(self) -> None:
        if self.view is None:
            return
        self._follow(self.ladder_app.backend.pairing())
        self._ticks += 1
        if self._ticks % LOAN == 0:
            self.look_for_loan()
        if self.ladder_app.starting != self._starting:
            self._starting = self.ladder_app.starting
            self._show()
        if self._offered(self.view) != self._steps:
            self._show()
            self.look()
        elif not self._measuring() and self._ticks % PEEK == 0:
            self.peek(self._ticks % ASK == 0)

    def _follow(self, pairing: PairingState) -> None:
        """Show the result of a pairing that went on in the background."""
        if self._code_waits and pairing.stage in (PairStage.PAIRED, PairStage.FAILED):
            paired = pairing.stage is PairStage.PAIRED
            said = pairing.message if paired else f"Not paired: {pairing.message}"
            self.notify(said, severity="information" if paired else "warning", markup=False)
            self.close_pairing()
        self._code_waits = pairing.waits

    @work(exclusive=True, group="pairing")
    async def close_pairing(self) -> None:
        try:
            await self.ladder_app.backend.close_pairing()
        except Exception as error:
            self.ladder_app.complain(error)

    # --- keys -------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        self.open(str(event.option_id))

    async def action_open(self, name: str) -> None:
        await self.ladder_app.loaded.wait()  # a key pressed before that takes effect then
        self.open(name)

    def open(self, name: str) -> None:
        match name:
            case "watch":
                self.ladder_app.open("ladder")
            case "resume":
                self.resume_last()
            case "confirm":
                self.ladder_app.open("pair")
            case "climb":
                self.ladder_app.open("link")
            case "report":
                if self.view and self.view.last:
                    self.ladder_app.open("results", self.view.last.id)
            case place:
                self.ladder_app.open(place)

    @work(exclusive=True, group="resume")
    async def resume_last(self) -> None:
        from linkladder.app.resume_dialog import offer_to_resume

        app, view = self.ladder_app, self.view
        if (
            view
            and view.resumable
            and not await offer_to_resume(app, view.resumable, "Go on with the last run?", "Start anew")
        ):
            app.open("link")
