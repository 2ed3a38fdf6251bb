"""The Experiments screen: chooses one by its question, and tells what it changes and takes before Enter starts it."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from linkladder import units
from linkladder.app.experiment_text import about, question
from linkladder.app.form_dialog import Entry, Form
from linkladder.app.page import Page
from linkladder.app.widgets.menu import Menu
from linkladder.model import Plan, RungName
from linkladder.plan import SHORT, THOROUGH, Asked, longest, rungs_to_try
from linkladder.verdicts import LEAST_PAIRS

ALSO = "Each is one more step after the others, and kept only if it won. Left and right choose."


class ExperimentsScreen(Page):
    NAME = "Experiments"
    HELP = """
Each answers a question by measuring with and without a change, in pairs whose
order drift cannot fool. Below the list stands what the chosen one would do.

  up, down   choose
  PgDn PgUp  read on, and back
  r          on the next rung of the link, if it measures on one alone
  t          thorough: ten pairs of everything compared, or back
  a          what else to try, after the steps that it has
  Enter      begin it, and watch it on the Ladder screen
  Esc        leave; nothing is changed before Enter

Every change is on loan: it comes back after each trial, and if this machine,
the other one or linkladder dies, a process of its own puts it back.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "next_rung", "Rung"),
        Binding("t", "thorough", "Pairs", show=False),  # the line shows six keys at most
        Binding("a", "also", "Also"),
        Binding("pagedown", "read_on(1)", "More", key_display="PgDn", priority=True),
        Binding("pageup", "read_on(-1)", "Read back", show=False, priority=True),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    ExperimentsScreen #choices { height: auto; padding: 0 1; border-bottom: solid $secondary; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.plans: dict[str, Plan] = {}
        self.soonest: dict[str, float] = {}  # seconds that each takes at best
        self.vain: dict[str, str] = {}  # why this machine can measure nothing of it; '' if it can
        self.shown: Plan | None = None  # whose text stands below the list
        self.rungs: tuple[RungName, ...] = ()  # that have a path, the one to measure on first
        self.pairs = LEAST_PAIRS
        self.also: tuple[str, ...] = ()  # what a staircase tries after its own steps
        self.reading = False  # what stands here is not what was asked for last: nothing begins until it is

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Another rung can be chosen if the link has several and the plan names none; more steps, of what has steps."""
        rungs = self.shown.rungs if self.shown else ()
        if action == "also":
            return any(rung.stairs for rung in rungs)
        return action != "next_rung" or (len(self.rungs) > 1 and len(rungs) == 1)

    def body(self) -> ComposeResult:
        with Vertical(id="choices"):
            yield Static("What do you want to know?", classes="heading")
            yield Menu("experiments")
        with VerticalScroll(classes="body", id="text", can_focus=False):
            yield Static("reading ...", id="about", markup=False)

    def on_mount(self) -> None:
        self.query_one("#experiments").focus()
        self.read()

    def on_screen_resume(self) -> None:
        """Show the experiment again, as after a run that could not be started."""
        if self.shown:
            self._tell(self.shown)

    def read(self) -> None:
        self.reading = True
        self._read()

    @work(exclusive=True, group="experiments")
    async def _read(self) -> None:
        app = self.ladder_app
        await app.loaded.wait()
        link = await app.ask(app.backend.link)
        if link is None:
            self.reading = False
            return
        self.rungs = self.rungs or rungs_to_try(link)
        self.refresh_bindings()
        plans: dict[str, Plan] = {}  # what cannot be read as it is asked for now is not offered as it was before
        for name in SHORT:
            plan = await app.ask(app.backend.plan, name, link, Asked(self.rungs[:1], pairs=self.pairs, also=self.also))
            soonest = await app.ask(app.backend.soonest, plan) if plan else None
            vain = await app.ask(app.backend.vain, plan) if plan else None
            if plan and soonest is not None and vain is not None:
                plans[name], self.soonest[name], self.vain[name] = plan, soonest, vain
        self.plans = plans
        box = self.query_one("#experiments", OptionList)
        chosen = box.highlighted or 0
        box.clear_options()
        wide = max((len(question(p.title)) for p in self.plans.values()), default=0)
        for name, plan in self.plans.items():
            least, most = self.soonest[name], longest(plan)
            time = units.duration(least) + (f" to {units.duration(most)}" if most > least else "")
            takes = "not on this machine" if self.vain[name] else time if plan.rungs else "no address"
            box.add_option(Option(Text(f"{question(plan.title):<{wide}}  {takes}", no_wrap=True), id=name))
        box.highlighted = chosen
        self.reading = False

    def action_next_rung(self) -> None:
        self.rungs = (*self.rungs[1:], *self.rungs[:1])
        self.read()

    def action_thorough(self) -> None:
        self.pairs = LEAST_PAIRS if self.pairs == THOROUGH else THOROUGH
        self.read()

    @work(exclusive=True, group="also")
    async def action_also(self) -> None:
        app = self.ladder_app
        machine = await app.ask(app.backend.facts)
        if machine is None:
            return
        known = {f"congestion={name}": name for name in machine.congestion_controls[1:]}  # the first is in force
        offered = {"LRO": {"lro": "yes"}, "TSO": {"tso": "yes"}, "Congestion control": known}
        entries = [
            Entry(f"also-{n}", label, next((s for s in self.also if s in options), ""), (("", "no"), *options.items()))
            for n, (label, options) in enumerate(offered.items())
            if options
        ]
        if (values := await app.push_screen_wait(Form("Also try", ALSO, entries, lambda _: ""))) is not None:
            self.also = tuple(filter(None, values.values()))
            self.read()

    @on(OptionList.OptionHighlighted)
    def looked_at(self, event: OptionList.OptionHighlighted) -> None:
        self.shown = self.plans[str(event.option_id)]
        self._tell(self.shown)
        self.query_one("#text").scroll_home(animate=False)
        self.refresh_bindings()

    def _tell(self, plan: Plan) -> None:
        why = self.vain[plan.name]
        said = [f"Not on this machine: {why}."] if why else about(plan, self.soonest[plan.name])
        self.query_one("#about", Static).update(Text("\n\n".join([plan.title, *said])))

    def action_read_on(self, step: int) -> None:
        text = self.query_one("#text")
        text.scroll_relative(y=step * max(1, text.size.height - 1), animate=False)

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        app, plan = self.ladder_app, self.plans[str(event.option_id)]
        if self.reading:
            self.notify("Nothing was started: what it would do is still being read")
        elif app.measuring:
            self.notify("A run is going on: it has to end first")
        elif why := self.vain[plan.name]:
            self.notify(f"Nothing was started: {why}", markup=False)
        elif not plan.rungs:
            app.open("link")
        else:
            self.query_one("#about", Static).update("The run is being started ...")
            app.climb(plan)
