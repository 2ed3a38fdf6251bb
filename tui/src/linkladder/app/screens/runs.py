"""Runs: what was measured before; filter, open, compare, export, delete."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from linkladder import units
from linkladder.app.screens.base import Page
from linkladder.app.screens.dialogs import Question
from linkladder.app.widgets.rows import Rows
from linkladder.store import RunSummary
from linkladder.verdicts import Comparison

HEAD = f"  {'run':<21} {'plan':<9} {'peer':<10} {'state':<11} {'best of top rung':<17} verdict"


def run_line(run: RunSummary, marked: bool) -> str:
    """One row; the mark is for comparing."""
    best = units.rate(list(run.best_bps.values())[-1]) if run.best_bps else "-"
    verdict = run.verdict.splitlines()[0] if run.verdict else ""
    peer = run.peer or "-"
    return f"{'*' if marked else ' '} {run.id:<21} {run.plan:<9.9} {peer:<10.10} {run.state:<11} {best:<17} {verdict}"


def comparison_page(found: Comparison) -> Text:
    """Difference, and whether it is beyond the noise."""
    out = Text(f"{found.a}  against  {found.b}\n\n")
    out.append(f"{found.sentence}\n", "bold")
    for d in found.differences:
        word = "differs" if d.beyond_noise else "same within the noise"
        out.append(
            f"\n{d.rung:<10} {d.experiment:<26} {units.rate(d.a_bps):>10} {units.rate(d.b_bps):>10}  "
            f"{d.change_percent:+.1f}% of the first  "
        )
        out.append(word, "bold yellow" if d.beyond_noise else "dim")
    if found.environment:
        out.append("\n\nWhat is not the same about the machines:", "bold")
        for line in found.environment:
            out.append(f"\n  {line}")
    for line in found.only_in_one:
        out.append(f"\nOnly in one run: {line}")
    return out


class CompareScreen(Page):
    NAME = "Compare"
    HELP = "Two runs side by side. A difference counts only if it is beyond the noise of the repeats."

    def __init__(self, found: Comparison) -> None:
        super().__init__()
        self._found = found

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body") as scroll:
            scroll.can_focus = True
            yield Static(comparison_page(self._found), markup=False)


class RunsScreen(Page):
    NAME = "Runs"
    HELP = """
  Enter   open the run                  /   filter: words of id, plan, peer, state, verdict
  Space   mark it; two marks, then c    c   compare the two marked runs
  x       export                        d   delete, after a question
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("space", "mark", "Mark", key_display="Space"),
        Binding("c", "compare", "Compare"),
        Binding("x", "export", "Export"),
        Binding("d", "delete", "Delete", show=False),
        Binding("question_mark", "app.help", "Help", key_display="?", show=False),
    ]
    DEFAULT_CSS = """
    RunsScreen #words { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[RunSummary] = []
        self.marked: list[str] = []

    def body(self) -> ComposeResult:
        yield Input(placeholder="words to look for, Enter", id="words", compact=True)
        yield Static(HEAD, classes="heading", markup=False)
        yield Rows("runs")
        yield Static("", id="count", markup=False)

    def on_mount(self) -> None:
        self.query_one("#runs").focus()

    def on_screen_resume(self) -> None:
        self.load()

    @work(exclusive=True, group="runs")
    async def load(self) -> None:
        app = self.ladder_app
        words = self.query_one("#words", Input).value
        self.found = await app.ask(app.backend.runs, words) or []
        self._show()

    def _show(self) -> None:
        rows = [run_line(r, r.id in self.marked) for r in self.found]
        self.query_one("#runs", Rows).show(rows)
        none = "nothing was measured yet" if not self.query_one("#words", Input).value else "no run has these words"
        count = f"{len(rows)} run{'s' if len(rows) != 1 else ''}" if rows else none
        marks = f", {len(self.marked)} of 2 marked to compare" if self.marked else ""
        self.query_one("#count", Static).update(count + marks)

    def _current(self) -> str:
        at = self.query_one("#runs", Rows).cursor
        return self.found[at].id if at < len(self.found) else ""

    @on(Rows.Chosen)
    def opened(self, event: Rows.Chosen) -> None:
        from linkladder.app.screens.results import ResultsScreen

        self.app.push_screen(ResultsScreen(self.found[event.index].id))

    def action_filter(self) -> None:
        box = self.query_one("#words", Input)
        box.display = True
        box.focus()

    @on(Input.Submitted)
    def filtered(self, event: Input.Submitted) -> None:
        event.input.display = bool(event.value)
        self.query_one("#runs").focus()
        self.load()

    def action_mark(self) -> None:
        run = self._current()
        if run in self.marked:
            self.marked.remove(run)
        elif run:
            self.marked = [*self.marked[-1:], run]
        self._show()

    @work(exclusive=True, group="compare")
    async def action_compare(self) -> None:
        if len(self.marked) != 2:
            self.notify("Mark two runs with Space first")
            return
        app = self.ladder_app
        first, second = sorted(self.marked)
        found = await app.ask(app.backend.compare, first, second)
        if found:
            app.push_screen(CompareScreen(found))

    def action_export(self) -> None:
        from linkladder.app.screens.export import ExportScreen

        if run := self._current():
            self.app.push_screen(ExportScreen(run))

    @work(exclusive=True, group="delete")
    async def action_delete(self) -> None:
        app = self.ladder_app
        run = self._current()
        if not run:
            return
        question = Question("Delete this run?", f"{run} and its raw output will be gone.", "Delete", "Keep", safe=True)
        if await app.push_screen_wait(question):
            await app.ask(app.backend.delete, run)
            self.marked = [m for m in self.marked if m != run]
            self.load()
