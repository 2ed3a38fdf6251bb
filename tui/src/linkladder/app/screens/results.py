"""The Results screen: a run's verdicts, and for each rung the matrix of streams and window and what limits."""

from __future__ import annotations

import contextlib
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from linkladder import phrases, units
from linkladder.app.page import Page
from linkladder.app.widgets.matrix import matrix
from linkladder.app.widgets.verdict import verdict
from linkladder.errors import LinkladderError
from linkladder.judge import proven, won
from linkladder.model import Document, Evidence, RungName, RungResult, RunState, best_rate
from linkladder.store import RunSummary
from linkladder.verdicts import Cause, DocumentJudgement, RungJudgement

LOOK = 6  # ticks between two looks whether the run was gone on with elsewhere
MANY = 200  # trials; reading more takes so long that a summary is shown first


def limiter_line(rung: RungResult, judged: RungJudgement) -> str:
    """As 'What limits (far to near): ...', for the direction that carries less; '' if nothing was carried."""
    if judged.limiter is None:
        return ""
    if not judged.limiter.known:
        return judged.limiter.sentence  # the sentence says what is not known
    slow = best_rate.worse_way(judged.by_direction)
    where = f" ({phrases.way(slow, rung.paths)})" if len(judged.by_direction) > 1 and slow else ""
    return f"What limits{where}: {judged.limiter.sentence}"


def rung_page(rung: RungResult, judged: RungJudgement | None, width: int) -> Text:
    """The page of a rung: verdict, what limits, the matrix, then what else was seen and what to do."""
    out = Text()
    if rung.unavailable:
        out.append(f"Not measured: {rung.unavailable}\n")
    elif judged:
        out.append_text(sentence(judged))
        if judged.ceiling:
            out.append(f" Ceiling {units.rate(judged.ceiling.bps)}, set by the {judged.ceiling.which}.")
        if said := limiter_line(rung, judged):
            out.append(f"\n{said}", "bold")
        out.append("\n\n")
    out.append_text(matrix(rung, judged, width))
    failed = [(e, t) for e in rung.experiments for t in e.trials if not t.ok]
    if failed:
        out.append(f"\n\nFailed trials: {len(failed)}", "bold")
        for e, t in failed:
            out.append(f"\n  {phrases.trial(e.parameters, t.repeat, paths=rung.paths)}: {t.reason}")
    for line in (
        line for e in rung.experiments for line in phrases.besides_the_rates(e.parameters, e.trials, rung.paths)
    ):
        out.append(f"\n{line}")
    if rung.evidence:
        out.append("\n\n")
        out.append_text(evidence_text(rung.evidence))
    if judged and not rung.unavailable:
        evidence = {c.sentence for c in judged.judgement.concerns if c.cause is Cause.ELSEWHERE}  # already shown above
        seen = [f for f in judged.judgement.findings if f not in evidence and f not in judged.sentence]
        lines = [*(f"Seen: {text}" for text in seen), *(f"To do: {text}" for text in judged.judgement.remedies)]
        out.append("\n\n" + "\n".join(lines) if lines else "")
    return out


def evidence_text(found: Evidence) -> Text:
    """What was claimed about where the machines stand, what the operator said, and what the facts say."""
    out = Text(f"Claimed: {found.claim}.")
    if found.asked:
        out.append(f" Asked: {found.asked}. The operator: {found.word}.")
    return out.append(" ").append(phrases.checked(found), "bold red" if found.contradicts else "")


def sentence(judged: RungJudgement | DocumentJudgement) -> Text:
    """The verdict's word, then the rest of the sentence without what limits, which has a line of its own."""
    word = verdict(judged.word, judged.provisional)
    said = judged.judgement.text
    if isinstance(judged, RungJudgement) and judged.limiter:
        said = said.replace(judged.limiter.sentence, "").rstrip()
    return Text.assemble(word, ": ", said)


def started_at(started: str) -> str:
    """The time at which a run started, such as '2026-11-21 07:42:05 UTC'."""
    return started.replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC")


def summary_page(document: Document, judged: DocumentJudgement | None) -> Text:
    """The page of the run: answers, the verdict, each rung's verdict, and the diagnosis."""
    run = document.run
    contract = run.plan.contract
    out = Text()
    if contract.circuit:
        out.append(f"Circuit {contract.circuit}\n")
    out.append(f"Plan {run.plan.name}, begun {started_at(run.started)}, {run.state}\n\n")
    if judged:
        asked = [answer for rung in judged.rungs for answer in rung.answers]  # what the run was for comes first
        # Above the answers, as those may fill the screen.
        if any(arm.settings for rung in document.rungs for arm in won(proven(rung, document), run.plan)):
            out.append("w keeps what won on this appliance, once you have seen that it works.\n")
        out.append("".join(f"{answer}\n" for answer in asked), "bold")
        out.append("\n" if asked else "")
        out.append_text(sentence(judged))
        out.append("\n\n")
        for rung in reversed(judged.rungs):
            best = units.rate(rung.best_bps) if rung.best_bps is not None else "-"
            out.append(f"  {rung.rung:<11}{best:>10}   ")
            out.append_text(verdict(rung.word, rung.provisional))
            out.append("\n")
        for line in judged.diagnosis:
            out.append(f"\n{line}")
        for f in judged.follow_up:
            out.append(f"\nNot settled: {f.question}.", "bold")
        if judged.follow_up and run.state is RunState.COMPLETE:
            out.append("\nf measures what would settle it, within this run.")
    for note in run.notes:
        out.append(f"\nNote: {note}")
    return out


def figures_known_at_once(run: RunSummary) -> Text:
    """What the list of runs knows about a run."""
    out = Text(
        f"Plan {run.plan}, begun {run.started.replace('T', ' ')}, {run.state}\n\n{run.verdict or 'not judged'}\n\n"
    )
    for name in reversed(RungName):
        if best := run.best_bps.get(name.value):
            out.append(f"  {name.value:<11}{units.rate(best):>10}   best\n")
    out.append(f"\nreading {units.plural(run.trials, 'trial')} ...")
    return out


def unsettled(document: Document, judged: DocumentJudgement | None) -> bool:
    """Whether the verdict asks for something that this run does not have, and that can be added to it."""
    from linkladder import plan as plans

    if judged is None or document.run.state is not RunState.COMPLETE or not judged.follow_up:
        return False
    return bool(plans.follow_up(document.run.plan, judged).rungs)


def stage(run: RunSummary) -> tuple[object, ...]:
    """What changes when the run is gone on with and when it ends, but not with each of its trials."""
    return run.state, run.ended, run.trials if run.state is not RunState.RUNNING else 0


class ResultsScreen(Page):
    NAME = "Results"
    HELP = """
The first tab is the run, then one tab a rung. The matrix has a row for every setting of
streams and window: for each direction the range over its repeats, a bar (of the best
of TCP on this rung) and the CPU of the near and the far end. A wide screen adds how
much of the ceiling that is.

  left, right  another tab
  up, down     scroll              f   measure what would settle the verdict
  m            of several paths: each alone and all at once
  w            of a staircase: keep here what won, once you agreed
  x            export: HTML, JSON, CSV; to disk, stick, over ssh, by a link
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "next_tab", "Next rung", key_display="Enter"),
        Binding("x", "export", "Export"),
        Binding("left,h", "tab(-1)", "Previous tab", show=False),
        Binding("right,l", "tab(1)", "Next tab", show=False),
        Binding("f", "follow_up", "Settle it"),
        Binding("w", "keep", "Keep what won", show=False),
        Binding("m", "mesh", "Mesh"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    ResultsScreen #tabs { height: 1; padding: 0 1; }
    """

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id = run_id
        self.document: Document | None = None
        self.judged: DocumentJudgement | None = None
        self._unsettled = False  # whether the verdict asks for trials that this run can be given
        self._ticks = 0
        self._read: tuple[object, ...] = ()  # the stage in which the run was read last
        self.at = 0

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Offer what has an effect for this run."""
        document = self.document
        if action == "mesh":
            return document is not None and any(len(r.paths) > 1 for r in document.rungs)
        if action == "follow_up":
            return self._unsettled
        return True

    def title_line(self) -> str:
        return f"linkladder   Results   {self.run_id}"

    def body(self) -> ComposeResult:
        yield Static("", id="tabs", markup=False)
        with VerticalScroll(classes="body", id="scroll") as scroll:
            scroll.can_focus = True
            yield Static("reading ...", id="page", markup=False)

    def on_mount(self) -> None:
        self.query_one("#scroll").focus()
        self.load()

    def on_tick(self) -> None:
        self._ticks += 1
        if self.document and self._ticks % LOOK == 0 and all(w.is_finished for w in self.workers if w.node is self):
            self.look()

    @work(exclusive=True, group="results")
    async def load(self) -> None:
        app = self.ladder_app
        for run in await app.ask(app.backend.runs, self.run_id) or ():
            if run.id == self.run_id:
                self._read = stage(run)
            if run.trials > MANY:
                self.query_one("#page", Static).update(figures_known_at_once(run))
        await self._load()

    @work(exclusive=True, group="results")
    async def look(self) -> None:
        """Read the run again if a follow-up or another screen has gone on with it since."""
        app = self.ladder_app
        found: list[RunSummary] = []
        with contextlib.suppress(LinkladderError):  # what was read stays, and a dialog would come up again and again
            found = await app.run_blocking(app.backend.runs, self.run_id)
        now = next((stage(run) for run in found if run.id == self.run_id), self._read)  # one that was deleted stays
        if now != self._read:
            self._read = now
            await self._load()

    async def _load(self) -> None:
        app, before = self.ladder_app, self.document
        document = await app.ask_long(app.backend.load, self.run_id)
        if document is None:
            return
        self.judged = await app.ask_long(app.backend.judge, document)
        if before and self.at:  # a rung may have been added before the one that is shown
            name = before.rungs[self.at - 1].name
            self.at = next((n for n, rung in enumerate(document.rungs, 1) if rung.name is name), 0)
        self.document = document
        self._show(stay=before is not None)
        self._unsettled = await app.ask_long(unsettled, document, self.judged) or False
        self.refresh_bindings()

    def on_resize(self) -> None:
        self._show()

    def _show(self, stay: bool = False) -> None:
        """Show the tab from its first line, or to `stay`, from the line that is the first now."""
        document = self.document
        if document is None:
            return
        names = ["run", *(r.name.value for r in document.rungs)]
        tabs = Text(no_wrap=True)
        for index, name in enumerate(names):
            tabs.append(f"[{name}]" if index == self.at else f" {name} ", "bold reverse" if index == self.at else "")
            tabs.append(" ")
        self.query_one("#tabs", Static).update(tabs)
        page = self.query_one("#page", Static)
        if self.at == 0:
            page.update(summary_page(document, self.judged))
        else:
            rung = document.rungs[self.at - 1]
            judged = next((r for r in self.judged.rungs if r.rung == rung.name), None) if self.judged else None
            page.update(rung_page(rung, judged, self.size.width - 2))
        if not stay:
            self.query_one("#scroll").scroll_home(animate=False)

    def action_tab(self, step: int) -> None:
        if self.document:
            self.at = (self.at + step) % (len(self.document.rungs) + 1)
            self._show()

    def action_next_tab(self) -> None:
        self.action_tab(1)

    @work(exclusive=True, group="follow-up")
    async def action_follow_up(self) -> None:
        """Measure, within this run, what its verdict asks for."""
        from linkladder import plan as plans
        from linkladder.app.dialogs import Question

        app, document, judged = self.ladder_app, self.document, self.judged
        if document is None or judged is None:
            return
        plan = plans.follow_up(document.run.plan, judged)
        asked = "; ".join(f.question for f in judged.follow_up)
        stored = {
            (r.name.value, e.parameters.id, t.repeat) for r in document.rungs for e in r.experiments for t in e.trials
        }
        done, spent = plans.measured(plan, stored)
        takes = (
            f"{units.plural(plans.trials(plan) - done, 'trial')}, about {units.duration(plans.seconds(plan) - spent)}"
        )
        text = f"Not settled: {asked}.\n\n{takes}, added to this run."
        if await app.push_screen_wait(Question("Measure what would settle it?", text, "Measure", "Leave it")):
            app.climb(plan, self.run_id)

    @work(exclusive=True, group="keep")
    async def action_keep(self) -> None:
        from linkladder.app import keep_dialog

        if self.document:
            try:
                await keep_dialog.keep(self.ladder_app, self.document)
            except LinkladderError as error:
                self.ladder_app.complain(error)

    def action_mesh(self) -> None:
        self.ladder_app.open("mesh", self.run_id)

    def action_export(self) -> None:
        self.ladder_app.open("export", self.run_id)
