"""The Runs screen: earlier runs, to filter, open, compare, resume, export and delete."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from linkladder import units
from linkladder.app.dialogs import Question
from linkladder.app.names import DEFAULT, fitted
from linkladder.app.page import Page
from linkladder.app.resume_dialog import offer_to_resume
from linkladder.app.widgets.form import Line
from linkladder.app.widgets.rows import Rows
from linkladder.app.widgets.verdict import verdict
from linkladder.errors import LinkladderError, in_a_line
from linkladder.model import RungName, RunState
from linkladder.store import RunSummary

WIDE = 110  # columns of a screen with room for trials and failures
LADDER = [name.value for name in RungName]


def outcome(run: RunSummary) -> str:
    """The run's verdict if it is complete, else its state."""
    if run.state is RunState.COMPLETE:
        return verdict(run.verdict.word, run.verdict.provisional).plain if run.verdict else "not judged"
    if run.state is RunState.RUNNING:
        return "running"
    return "INCOMPLETE, cancelled" if run.cancelled else "INCOMPLETE"


class Columns:
    """The widths of the columns: a peer's name fits whole if possible, and the verdict has what is left."""

    def __init__(self, runs: list[RunSummary], width: int) -> None:
        longest = max((len(run.peer) for run in runs), default=0)
        self.peer = max(9, min(longest, DEFAULT))
        tight = self.peer > 9 and width < WIDE
        self.plan, self.best = (7, 9) if tight else (9, 10)
        self.more = width >= WIDE
        self.verdict = width - 2 - 21 - (self.plan + 1) - (self.peer + 1) - (self.best + 1) - (17 if self.more else 0)

    def head(self) -> str:
        more = f"{'trials':>7} {'failed':>7}  " if self.more else ""
        plan, peer = f"{'plan':<{self.plan}}", f"{'peer':<{self.peer}}"
        return f"  {'run':<21}{plan} {peer} {'top rung':<{self.best}} {more}verdict"

    def row(self, run: RunSummary, marked: bool) -> str:
        """The row of a run, with a mark if it is chosen for comparison."""
        top = [run.best_bps[name] for name in LADDER if name in run.best_bps]
        best = units.rate(top[-1]) if top else "-"
        more = f"{run.trials:>7} {run.failed:>7}  " if self.more else ""
        word = outcome(run)
        if len(word) > self.verdict:
            word = word.replace("(provisional)", "(prov.)")
        plan, peer = fitted(run.plan, self.plan), fitted(run.peer or "-", self.peer)
        row = f"{run.id:<21.20}{plan:<{self.plan}} {peer:<{self.peer}} {best:<{self.best}} {more}{word}"
        return f"{'*' if marked else ' '} {row}"


class RunsScreen(Page):
    NAME = "Runs"
    HELP = """
  Enter   open the run
  /       filter: words of id, plan, peer, state, verdict; Esc: all again
  Space   mark it
  c       compare the two marked runs
  x       export
  g       go on with a run that ended early
  d       delete, after a question

The rate is that of the best setting on the highest rung that was measured, in
the direction that carries less.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("space", "mark", "Mark", key_display="Space"),
        Binding("c", "compare", "Compare"),
        Binding("x", "export", "Export", show=False),
        Binding("d", "delete", "Delete", show=False),
        Binding("g", "go_on", "Go on", show=False),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    RunsScreen #filter { display: none; height: 1; padding: 0 1; }
    RunsScreen #filter Static { width: auto; }
    RunsScreen #words { width: 1fr; }
    RunsScreen #count { padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[RunSummary] = []
        self.marked: list[str] = []
        self._measuring = False  # whether a run went on when the runs were read

    def body(self) -> ComposeResult:
        with Horizontal(id="filter"):
            yield Static("Filter: ")
            yield Line(key="words", placeholder="words to look for, then Enter")
        yield Static("", id="head", classes="heading", markup=False)
        yield Rows("runs")
        yield Static("", id="count", markup=False)

    def on_mount(self) -> None:
        self.query_one("#runs").focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Offer what there are runs for; the key / is a letter while the filter's field has the focus."""
        if action == "filter":
            return not isinstance(self.focused, Input) and (bool(self.found) or self._filtered())
        return action not in ("mark", "compare", "export", "delete", "go_on") or bool(self.found)

    def _filtered(self) -> bool:
        return bool(self.is_mounted and self.query_one("#words", Input).value)

    def on_screen_resume(self) -> None:
        self.load()

    def on_resize(self) -> None:
        self._show()

    def on_tick(self) -> None:
        """Read the runs anew when the one that goes on has ended, or one has begun."""
        if self.ladder_app.measuring != self._measuring:
            self.load()

    @work(exclusive=True, group="runs")
    async def load(self, others: bool = False) -> None:
        """Read the runs; `others`: by another filter, of which the newest comes first."""
        app = self.ladder_app
        words = self.query_one("#words", Input).value
        self._measuring = app.measuring
        try:
            found = await app.run_blocking(app.backend.runs, words)
        except LinkladderError as error:  # shown on the page, as a dialog would come up again and again
            self.found = []
            self._show()
            self.query_one("#count", Static).update(in_a_line(error))
            return
        rows = self.query_one("#runs", Rows)
        kept = one.id if (one := self._current()) else ""
        self.found = found
        at = 0 if others else next((n for n, run in enumerate(self.found) if run.id == kept), rows.cursor)
        self._show()
        rows.cursor = min(at, max(0, len(self.found) - 1))
        self._count()
        if not self.found and not words and (home := await app.ask(app.backend.home)) and home.lost_runs:
            self.query_one("#count", Static).update(f"{home.lost_runs}; Doctor has more")

    def _show(self) -> None:
        columns, rows = Columns(self.found, self.size.width), self.query_one("#runs", Rows)
        self.query_one("#head", Static).update(columns.head())
        rows.show([columns.row(run, run.id in self.marked) for run in self.found])
        self.refresh_bindings()

    def _count(self) -> None:
        count = len(self.found)
        words = self.query_one("#words", Input).value
        if words and not count:
            said = f"no run has the words {words}; / changes them"
        elif self.marked:
            more = "; c compares them" if len(self.marked) == 2 else "; mark another with Space, then c"
            said = f"{units.plural(count, 'run')}, {len(self.marked)} of 2 marked{more}"
        elif count:
            said = units.plural(count, "run")
        else:
            said = "nothing was measured yet"
        self.query_one("#count", Static).update(said)

    def _current(self) -> RunSummary | None:
        at = self.query_one("#runs", Rows).cursor
        return self.found[at] if at < len(self.found) else None

    @on(Rows.Chosen)
    def opened(self, event: Rows.Chosen) -> None:
        self.ladder_app.open("results", self.found[event.index].id)

    # --- filter

    def action_filter(self) -> None:
        self.query_one("#filter").display = True
        self.set_focus(self.query_one("#words", Input))  # at once, so that the next keys go to the field

    @on(Input.Submitted)
    def filtered(self, event: Input.Submitted) -> None:
        self.set_focus(self.query_one("#runs"))
        self.query_one("#filter").display = bool(event.value)
        self.load(others=True)

    def action_back(self) -> None:
        """Close the filter if it is open, which shows every run again; else leave the screen."""
        line = self.query_one("#filter")
        if not line.display:
            super().action_back()
            return
        self.set_focus(self.query_one("#runs"))
        self.query_one("#words", Input).value, line.display = "", False
        self.load(others=True)

    # --- one run, or two

    def action_mark(self) -> None:
        run = self._current()
        if run is None:
            return
        if run.id in self.marked:
            self.marked.remove(run.id)
        else:
            self.marked = [*self.marked[-1:], run.id]
        self._show()
        self._count()

    @work(exclusive=True, group="compare")
    async def action_compare(self) -> None:
        if len(self.marked) != 2:
            self.notify("Mark two runs with Space first")
            return
        app = self.ladder_app
        first, second = sorted(self.marked)
        found = await app.ask(app.backend.compare, first, second)
        if found:
            app.open("compare", found)

    def action_export(self) -> None:
        if run := self._current():
            self.ladder_app.open("export", run.id)

    @work(exclusive=True, group="go on")
    async def action_go_on(self) -> None:
        app, run = self.ladder_app, self._current()
        if run is None:
            return
        if run.state is not RunState.INCOMPLETE:
            self.notify("Only a run that ended early can be gone on with")
            return
        await offer_to_resume(app, run, "Go on with this run?", "No")

    @work(exclusive=True, group="delete")
    async def action_delete(self) -> None:
        app, run = self.ladder_app, self._current()
        if run is None:
            return
        if run.state is RunState.RUNNING:
            self.notify("This run goes on; cancel it first")
            return
        question = Question(
            "Delete this run?", f"{run.id} and its raw output will be gone.", "Delete", "Keep", safe=True
        )
        if await app.push_screen_wait(question):
            await app.ask(app.backend.delete, run.id)
            self.marked = [m for m in self.marked if m != run.id]
            self.load()
