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
from linkladder.app.page import Page
from linkladder.app.widgets.menu import Menu
from linkladder.model import Plan, RungName
from linkladder.plan import SHORT, THOROUGH, Asked, longest, rungs_to_try, soonest
from linkladder.verdicts import LEAST_PAIRS


class ExperimentsScreen(Page):
    NAME = "Experiments"
    HELP = """
Each answers a question by measuring with and without a change, in pairs whose
order drift cannot fool. Below the list stands what the chosen one would do.

  up, down   choose
  r          on the next rung that the link's description has
  t          thorough: ten pairs of everything compared, or back
  Enter      begin it, and watch it on the Ladder screen
  Esc        leave; nothing is changed before Enter

Every change is on loan: it comes back after each trial, and if this machine,
the other one or linkladder dies, a process of its own puts it back.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "next_rung", "Rung"),
        Binding("t", "thorough", "Thorough"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    ExperimentsScreen #choices { height: auto; padding: 0 1; border-bottom: solid $secondary; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.plans: dict[str, Plan] = {}
        self.rungs: tuple[RungName, ...] = ()  # that have a path, the one to measure on first
        self.pairs = LEAST_PAIRS

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Another rung can be chosen if the link's description has several."""
        return action != "next_rung" or len(self.rungs) > 1

    def body(self) -> ComposeResult:
        with Vertical(id="choices"):
            yield Static("What do you want to know?", classes="heading")
            yield Menu("experiments")
        with VerticalScroll(classes="body", can_focus=False):
            yield Static("reading ...", id="about", markup=False)

    def on_mount(self) -> None:
        self.query_one("#experiments").focus()
        self.read()

    @work(exclusive=True, group="experiments")
    async def read(self) -> None:
        app = self.ladder_app
        await app.loaded.wait()
        link = await app.ask(app.backend.link)
        if link is None:
            return
        self.rungs = self.rungs or rungs_to_try(link)
        self.refresh_bindings()
        for name in SHORT:
            plan = await app.ask(app.backend.plan, name, link, Asked(self.rungs[:1], pairs=self.pairs))
            if plan:
                self.plans[name] = plan
        box = self.query_one("#experiments", OptionList)
        chosen = box.highlighted or 0
        box.clear_options()
        wide = max((len(question(p.title)) for p in self.plans.values()), default=0)
        for name, plan in self.plans.items():
            least, most = soonest(plan), longest(plan)
            time = units.duration(least) + (f" to {units.duration(most)}" if most > least else "")
            takes = time if plan.rungs else "no address"
            box.add_option(Option(Text(f"{question(plan.title):<{wide}}  {takes}", no_wrap=True), id=name))
        box.highlighted = chosen

    def action_next_rung(self) -> None:
        self.rungs = (*self.rungs[1:], *self.rungs[:1])
        self.read()

    def action_thorough(self) -> None:
        self.pairs = LEAST_PAIRS if self.pairs == THOROUGH else THOROUGH
        self.read()

    @on(OptionList.OptionHighlighted)
    def looked_at(self, event: OptionList.OptionHighlighted) -> None:
        plan = self.plans[str(event.option_id)]
        self.query_one("#about", Static).update(Text("\n\n".join([plan.title, *about(plan)])))

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        app, plan = self.ladder_app, self.plans[str(event.option_id)]
        if app.measuring:
            self.notify("A run is going on: it has to end first")
        elif not plan.rungs:
            app.open("link")
        else:
            self.query_one("#about", Static).update("The run is being started ...")
            app.climb(plan)
