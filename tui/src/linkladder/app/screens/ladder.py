"""Ladder: the run as it goes on."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from linkladder import units
from linkladder.app.progress import Progress, RungView, Stage, TrialView, describe, series
from linkladder.app.screens.base import Page
from linkladder.app.screens.dialogs import Ask, Question, Words
from linkladder.app.widgets import bars
from linkladder.app.widgets.chart import StripChart
from linkladder.judge import ceiling
from linkladder.model import Direction, End, Protocol, RungName, RunState

NOTICED = 15.0  # seconds that a notice stays
WORDS = {
    Stage.TO_DO: ("to do", "dim"),
    Stage.WAITING: ("needs you", "bold yellow"),
    Stage.RUNNING: ("measuring", "bold cyan"),
    Stage.DONE: ("done", "green"),
    Stage.SKIPPED: ("not measured", "yellow"),
}


def rung_line(view: RungView, number: int, width: int) -> Text:
    """'|-2-| same-host    measuring   9.41 Gb/s so far   trial 3 of 8'."""
    word, style = WORDS[view.stage]
    out = Text(f"|-{number}-| {view.name:<10} ", no_wrap=True, overflow="ellipsis")
    out.append(f"{word:<13}", style)
    if view.best_bps:
        out.append(f"best {units.rate(view.best_bps)}", "bold")
    if view.stage is Stage.RUNNING and view.trials:
        out.append(f"{'  ' if view.best_bps else ''}trial {min(view.done + 1, view.trials)} of {view.trials}")
    elif view.stage is Stage.DONE:
        out.append(f"  {view.done} trial{'s' if view.done != 1 else ''}")
    if view.failed:
        out.append(f"  {view.failed} failed", "red")
    if view.why:
        out.append(f" {view.why}")
    if view.evidence and view.evidence.contradicts:
        out.append("  ! facts contradict the claim", "bold red")
    out.truncate(width, overflow="ellipsis")
    return out


def figures(trial: TrialView, width: int) -> Text:
    """Now and since the trial began: rate, flows, retransmits, round trip."""
    out = Text(no_wrap=True, overflow="ellipsis")
    for direction, arrow in ((Direction.FORWARD, "to far"), (Direction.REVERSE, "to near")):
        points = [i for i in trial.intervals if i.direction == direction]
        if points:
            out.append(f"{units.rate(points[-1].bps)} {arrow}   ", "bold")
    streams = trial.experiment.streams
    out.append(f"{streams} flow{'s' if streams != 1 else ''}")
    retransmits = "not told" if trial.retransmits is None else f"{trial.retransmits}"
    out.append(f"   retransmits {retransmits}")
    if trial.rtts:
        out.append(f"   round trip {trial.rtts[-1]:.2f} ms, most {max(trial.rtts):.2f} ms")
    out.truncate(width, overflow="ellipsis")
    return out


class LadderScreen(Page):
    NAME = "Ladder"
    HELP = """
Four rungs; each adds one part of the path. The chart is throughput per second:
dotted columns are the warm-up, shown and not counted; lines mark the ceiling (the
most this port and MTU can carry) and the contract.

  Enter  the machine has been moved: go on        c  the exact commands of this trial
  s      skip this rung                           n  add a note to the run
  a      do this trial again                      x  cancel; both ends stop, results are kept
  Space  pause after this trial, and go on        t  take the controls from another screen
  v      results so far                           Esc back; the run goes on
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "proceed", "Go on", key_display="Enter"),
        Binding("space", "pause", "Pause", key_display="Space"),
        Binding("s", "skip", "Skip"),
        Binding("c", "commands", "Commands"),
        Binding("x", "cancel", "Cancel"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
        Binding("a", "again", "Again", show=False),
        Binding("n", "note", "Note", show=False),
        Binding("t", "take", "Take over", show=False),
        Binding("v", "results", "Results", show=False),
        Binding("escape", "back", "Back", show=False),
        Binding("l", "noop", show=False),
    ]
    DEFAULT_CSS = """
    LadderScreen #rungs { height: auto; }
    LadderScreen #trial { height: 1; }
    LadderScreen #ends { height: 4; }
    LadderScreen #ends Static { width: 1fr; }
    LadderScreen #say { height: auto; max-height: 5; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, str] = {}

    def body(self) -> ComposeResult:
        with Vertical(classes="body"):
            yield Static("", id="rungs", markup=False)
            yield Static("", id="say", markup=False)
            yield Static("", id="trial", classes="heading", markup=False)
            yield StripChart(self.ladder_app.glyphs, key="chart")
            yield Static("", id="figures", markup=False)
            with Horizontal(id="ends"):
                yield Static("", id="near", markup=False)
                yield Static("", id="far", markup=False)
            yield Static("", id="bars", markup=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self.on_tick)

    def on_resize(self) -> None:
        self.call_after_refresh(self.on_tick)

    # --- drawing ------------------------------------------------------------------------

    def on_tick(self) -> None:
        """Redraw what has changed, at most twice a second."""
        progress = self.ladder_app.progress
        if not self.is_mounted:
            return
        if progress is None:
            self._put("say", Text("No run is going on. Esc, then Climb the ladder, starts one."))
            return
        width = max(40, self.size.width - 2)
        with self.app.batch_update():
            rungs = Text("\n").join(rung_line(v, n + 1, width) for n, v in reversed(list(enumerate(progress.rungs))))
            self._put("rungs", rungs)
            self._put("say", self._say(progress))
            self.query_one("#say").display = bool(self._shown.get("say"))
            self._title(progress)
            if progress.trial:
                self._trial(progress, progress.trial, width)
            else:
                self._quiet(progress)
            self._bars(progress, width)

    def _put(self, name: str, text: Text) -> None:
        """Only what differs goes to the terminal."""
        if self._shown.get(name) != text.markup:
            self._shown[name] = text.markup
            self.query_one(f"#{name}", Static).update(text)

    def _title(self, progress: Progress) -> None:
        plan = progress.plan.name if progress.plan else ""
        session = self.ladder_app.session
        held = "" if session is None or session.controlling else "   only watching"
        state = "finished" if progress.over else "paused" if progress.paused else "running"
        line = f"linkladder   Ladder   plan {plan}   {state}{held}"
        if self._shown.get("title") != line:
            self._shown["title"] = line
            self.set_title(line)

    def _say(self, progress: Progress) -> Text:
        session = self.ladder_app.session
        if progress.over:
            if progress.state is RunState.COMPLETE:
                return Text("The run is complete. Press Enter to read what it shows.", "bold")
            why = f": {progress.reason}" if progress.reason else ""
            return Text(f"The run ended early{why}. What was measured is kept. Press Enter to read it.")
        if progress.waiting:
            text = progress.instruction or f"Make ready for {progress.waiting}."
            if not text.rstrip().lower().endswith("press enter."):
                text += " Then press Enter."
            return Text(f"{text}  (s: skip this rung)", "bold yellow")
        if progress.paused:
            return Text("Paused. Press Space to go on.", "bold yellow")
        if progress.lost:
            return Text(f"{progress.lost}. What was measured is kept.", "bold red")
        if session and not session.controlling:
            return Text(f"You are watching; {session.holder} has the controls. Press t to take them.")
        if progress.notices and progress.at - progress.noticed < NOTICED:
            return Text("\n".join(progress.notices[-2:]))
        if progress.failures and progress.trial is None:
            return Text(f"Last failed trial: {progress.failures[-1]}")
        return Text("")

    def _trial(self, progress: Progress, trial: TrialView, width: int) -> None:
        experiment = trial.experiment
        repeat = f", repeat {trial.repeat + 1} of {experiment.repeats}" if experiment.repeats > 1 else ""
        self._put("trial", Text(f"{trial.rung}: {describe(experiment)}{repeat}"))
        chart = self.query_one("#chart", StripChart)
        if experiment.protocol in (Protocol.TCP, Protocol.UDP):
            lines: list[tuple[str, float]] = []
            points = series(trial.intervals, Direction.FORWARD)
            other = series(trial.intervals, Direction.REVERSE)
            if not points:
                points = other
            elif other:
                back = {t: bps for t, bps, _ in other}
                points = [(t, bps + back.get(t, 0.0), counted) for t, bps, counted in points]
            if trial.rung not in (RungName.LOCALHOST, RungName.SAME_HOST):
                most = ceiling(progress.contract, experiment.protocol)
                lines.append(("contract" if most.which == "contract" else "ceiling", most.bps))
                if most.which == "contract" and most.port_bps < 2 * most.bps:  # further up it would flatten all
                    lines.append(("ceiling", most.port_bps))
            chart.show(points, lines, experiment.warmup + experiment.duration)
        else:
            what = {"echo": "Pinging", "df": "Looking for the largest packet that passes"}
            chart.say(f"\n{what.get(experiment.protocol, 'Counting transactions')} ...")
        self._put("figures", figures(trial, width))
        half = width // 2 - 1
        near = bars.cores("near", trial.samples.get(End.NEAR), half, 3)
        far = bars.cores("far", trial.samples.get(End.FAR), half, 3)
        self._put("near", near)
        local = trial.rung == RungName.LOCALHOST
        self._put("far", Text("far  is the same machine on this rung", "dim") if local else far)

    def _quiet(self, progress: Progress) -> None:
        if self._shown.get("quiet") == f"{progress.done} {progress.over} {progress.waiting}":
            return
        self._shown["quiet"] = f"{progress.done} {progress.over} {progress.waiting}"
        for name in ("trial", "figures", "near", "far"):
            self._put(name, Text(""))
        chart = self.query_one("#chart", StripChart)
        lines = [f"  {text}" for text in (progress.notices[-4:] or [])]
        if progress.last and not progress.over:
            last = progress.last
            word = f"{units.rate(last.goodput_bps)}" if last.ok else f"failed: {last.reason}"
            lines.insert(0, f"Last trial: {word}" if last.goodput_bps or not last.ok else "Last trial: done")
        chart.say("\n".join(lines))

    def _bars(self, progress: Progress, width: int) -> None:
        lines = []
        if trial := progress.trial:
            lines.append(bars.progress("trial", progress.at - trial.began, trial.seconds, progress.trial_left(), width))
            rung = progress.rung(trial.rung)
            left = progress.rung_left()
            count = f"trial {rung.done + 1} of {rung.trials}"
            lines.append(bars.progress("rung", rung.seconds - left, rung.seconds, left, width, count))
        if progress.seconds and not progress.over:
            left = progress.whole_left()
            count = f"trial {min(progress.done + 1, progress.trials)} of {progress.trials}"
            lines.append(bars.progress("whole", progress.seconds - left, progress.seconds, left, width, count))
        self._put("bars", Text("\n").join(lines))

    # --- keys -----------------------------------------------------------------------------

    @work(group="control", exit_on_error=False)
    async def send(self, verb: str, text: str = "") -> None:
        session = self.ladder_app.session
        progress = self.ladder_app.progress
        if session is None or progress is None or progress.over:
            return
        if not session.controlling:
            self.notify(f"{session.holder} has the controls; t takes them over", markup=False)
            return
        try:
            await session.control(verb, text)
        except Exception as error:
            self.ladder_app.complain(error)

    def action_proceed(self) -> None:
        progress = self.ladder_app.progress
        if progress is None:
            return
        if progress.over:
            self.action_results()
        elif progress.waiting:
            self.send("proceed")
        elif progress.paused:
            self.send("resume")

    def action_pause(self) -> None:
        progress = self.ladder_app.progress
        if progress and progress.paused:
            self.send("resume")
        else:
            self.send("pause")
            self.notify("Pausing after this trial; Space goes on")

    def action_again(self) -> None:
        self.send("repeat")
        self.notify("This trial will be done again")

    def action_skip(self) -> None:
        self.confirm("Skip this rung?", "It will be reported as not measured.", "Skip it", "skip")

    def action_cancel(self) -> None:
        self.confirm("Cancel the run?", "Both ends stop now. What was measured is kept.", "Cancel the run", "cancel")

    @work(exclusive=True, group="ask")
    async def confirm(self, title: str, text: str, yes: str, verb: str) -> None:
        progress = self.ladder_app.progress
        if progress is None or progress.over:
            return
        if await self.app.push_screen_wait(Question(title, text, yes, "No", safe=True)):
            self.send(verb)

    @work(exclusive=True, group="ask")
    async def action_note(self) -> None:
        text = await self.app.push_screen_wait(Ask("A note for this run", "It is kept with the run and printed."))
        if text:
            self.send("note", text)

    @work(exclusive=True, group="ask")
    async def action_take(self) -> None:
        session = self.ladder_app.session
        if session is None or session.controlling:
            return
        text = f"{session.holder} has the controls now and will only watch."
        if await self.app.push_screen_wait(Question("Take the controls?", text, "Take them", "Go on watching")):
            await session.take_over()

    def action_commands(self) -> None:
        progress = self.ladder_app.progress
        if progress and progress.trial and progress.trial.commands:
            self.app.push_screen(Words("The commands of this trial", "\n\n".join(progress.trial.commands)))
        elif progress and progress.last:
            lines = [f"{c.end}: {' '.join(c.argv)}" for c in progress.last.commands]
            self.app.push_screen(Words("The commands of the last trial", "\n\n".join(lines) or "none"))
        else:
            self.notify("Nothing has been started yet")

    def action_results(self) -> None:
        from linkladder.app.screens.results import ResultsScreen

        progress = self.ladder_app.progress
        if progress and progress.run_id:
            self.app.push_screen(ResultsScreen(progress.run_id))

    def action_noop(self) -> None:
        """l is no direction here."""
