"""Results: a run's verdicts, and of a rung the matrix of streams and window with what limits."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from linkladder import units
from linkladder.app.progress import describe
from linkladder.app.screens.base import Page, verdict
from linkladder.app.widgets.bars import bar
from linkladder.model import Direction, Document, ExperimentResult, Protocol, RungResult
from linkladder.verdicts import DocumentJudgement, ExperimentJudgement, RungJudgement


def window_name(window: int | None) -> str:
    return "default" if window is None else units.size(window)


def spread(result: ExperimentResult) -> str:
    """'8.91 - 9.41 Gb/s', or one figure where there is one."""
    if result.min_bps is None or result.max_bps is None:
        return "no result"
    low, high = units.rate(result.min_bps), units.rate(result.max_bps)
    if low == high:
        return high
    return f"{low.rsplit(' ', 1)[0]} - {high}" if low.endswith(high.rsplit(" ", 1)[1]) else f"{low} - {high}"


def cpu(result: ExperimentResult, end: str) -> str:
    """Mean CPU of one end, of all its cores."""
    found = [t.cpu[end].percent for t in result.trials if t.ok and end in t.cpu]
    return f"{sum(found) / len(found):.0f}%" if found else "-"


ARROWS = {Direction.FORWARD: "to far", Direction.REVERSE: "to near", Direction.DUPLEX: "both", Direction.BOTH: "both"}


def matrix(rung: RungResult, judged: RungJudgement | None, width: int) -> Text:
    """One row a setting: streams, window, way, range with a heat bar, share of the ceiling, CPU at both ends."""
    rows = [e for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP)]
    out = Text(no_wrap=True)
    if not rows:
        return out
    best = max((e.median_bps or 0.0) for e in rows) or 1.0
    marks: dict[tuple[str, str], ExperimentJudgement] = {}
    for one in judged.experiments if judged else ():
        marks[(one.experiment, one.direction)] = one
    head = f"  {'streams':<8}{'window':<8}{'way':<8}{'min - max':<21}{'':<7}{'of ceiling':<11}CPU near far"
    out.append(head.rstrip() + "\n", "bold underline")
    for e in rows:
        p = e.parameters
        top = e.median_bps == best
        streams = f"{p.streams}{' UDP' if p.protocol == Protocol.UDP else ''}"
        share = marks.get((p.id, p.direction.value))
        percent = f"{share.percent_of_ceiling:.1f}%" if share and share.percent_of_ceiling is not None else "-"
        line = f"{'*' if top else ' '} {streams:<8}{window_name(p.window):<8}{ARROWS[p.direction]:<8}{spread(e):<21}"
        out.append(line, "bold" if top else "")
        out.append(f"{bar((e.median_bps or 0) / best, 6)} ", "cyan")
        out.append(f"{percent:<11}{cpu(e, 'near'):>8}{cpu(e, 'far'):>5}\n")
    out.append("* best setting   CPU: of all cores of that end together", "dim")
    return out


def other_rows(rung: RungResult) -> list[str]:
    """Round trips, path MTU and transactions in words."""
    lines = []
    for e in rung.experiments:
        for trial in e.trials[-1:]:
            if trial.rtt and trial.rtt.avg_ms is not None and e.parameters.protocol == Protocol.ECHO:
                r = trial.rtt
                lost = r.sent - r.received
                lines.append(
                    f"Round trip, idle: {units.milliseconds(r.min_ms)} least, {units.milliseconds(r.avg_ms)} mean, "
                    f"{units.milliseconds(r.max_ms)} most; {lost} of {r.sent} lost"
                )
            elif trial.path_mtu:
                m = trial.path_mtu
                hole = "; bigger packets vanish without a word" if m.black_hole else ""
                way = ARROWS[e.parameters.direction]
                lines.append(f"Largest packet {way}: {f'{m.mtu} bytes' if m.mtu else 'none passed'}{hole}")
            elif trial.transactions:
                x = trial.transactions
                tail = f", 99 of 100 within {x.p99_us:.0f} us" if x.p99_us else ""
                lines.append(f"{describe(e.parameters)}: {units.three(x.rate)} a second{tail}")
    return lines


def rung_page(rung: RungResult, judged: RungJudgement | None, width: int) -> Text:
    """All of a rung, verdict first."""
    out = Text()
    if rung.unavailable:
        out.append(f"Not measured: {rung.unavailable}\n")
    if judged and not rung.unavailable:
        out.append_text(sentence(judged))
        out.append("\n")
        if judged.ceiling:
            out.append(f"Ceiling {units.rate(judged.ceiling.bps)}, set by the {judged.ceiling.which}.\n")
        if judged.limiter:
            words = judged.limiter.sentence
            out.append(f"{words if words.startswith('What limits') else f'What limits: {words}'}\n", "bold")
        for remedy in judged.judgement.remedies:
            out.append(f"To do: {remedy}\n")
        out.append("\n")
    out.append_text(matrix(rung, judged, width))
    for line in other_rows(rung):
        out.append(f"\n{line}")
    failed = [(e, t) for e in rung.experiments for t in e.trials if not t.ok]
    if failed:
        out.append(f"\n\nFailed trials: {len(failed)}", "bold")
        for e, t in failed:
            out.append(f"\n  {describe(e.parameters)}, repeat {t.repeat + 1}: {t.reason}")
    if rung.evidence:
        word = "The facts contradict the claim" if rung.evidence.contradicts else "Checked"
        out.append(f"\n\n{word}: {'; '.join(rung.evidence.findings) or rung.evidence.claim}")
    return out


def sentence(judged: RungJudgement | DocumentJudgement) -> Text:
    """The verdict's word marked, then the rest of what the judge says."""
    word = verdict(str(judged.verdict), judged.provisional)
    said = judged.sentence.removeprefix(word.plain).removeprefix(str(judged.verdict)).lstrip(":, ")
    return Text.assemble(word, ": ", said)


def summary_page(document: Document, judged: DocumentJudgement | None) -> Text:
    """The verdict per rung, and the ladder's diagnosis."""
    run = document.run
    contract = run.plan.contract
    out = Text()
    if contract.circuit:
        out.append(f"Circuit {contract.circuit}\n")
    out.append(f"Plan {run.plan.name}, begun {run.started.replace('T', ' ')}, {run.state}\n\n")
    if judged:
        out.append_text(sentence(judged))
        out.append("\n\n")
        for rung in reversed(judged.rungs):
            best = units.rate(rung.best_bps) if rung.best_bps else "-"
            out.append(f"  {rung.rung:<11}{best:>10}   ")
            out.append_text(verdict(str(rung.verdict), rung.provisional))
            out.append("\n")
        for line in judged.diagnosis:
            out.append(f"\n{line}")
    for note in run.notes:
        out.append(f"\nNote: {note}")
    return out


class ResultsScreen(Page):
    NAME = "Results"
    HELP = """
The first tab is the run, then one tab a rung. The matrix has a row for every setting,
the range over its repeats, how much of the ceiling that is, and the CPU at both ends.

  left, right  another tab         x   export: HTML, JSON, CSV, USB, scp, download link
  up, down     scroll
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "next_tab", "Next rung", key_display="Enter"),
        Binding("x", "export", "Export"),
        Binding("left,h", "tab(-1)", "Previous tab", show=False),
        Binding("right,l", "tab(1)", "Next tab", show=False),
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
        self.at = 0

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

    @work(exclusive=True, group="results")
    async def load(self) -> None:
        app = self.ladder_app
        self.document = await app.ask(app.backend.load, self.run_id)
        if self.document:
            self.judged = await app.ask(app.backend.judge, self.document)
            self._show()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
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
        self.query_one("#scroll").scroll_home(animate=False)

    def action_tab(self, step: int) -> None:
        if self.document:
            self.at = (self.at + step) % (len(self.document.rungs) + 1)
            self._show()

    def action_next_tab(self) -> None:
        self.action_tab(1)

    def action_export(self) -> None:
        from linkladder.app.screens.export import ExportScreen

        self.app.push_screen(ExportScreen(self.run_id))
