"""The Ladder screen: shows the run in progress and steers it."""

from __future__ import annotations

import shlex
import textwrap
import time
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from linkladder import judge
from linkladder.app.dialogs import Ask, Question, Words
from linkladder.app.page import Page
from linkladder.app.widgets import bars, ladder_text, panels, run_message, throughput
from linkladder.app.widgets.chart import StripChart
from linkladder.model import Document, Protocol, RungName, RunInfo
from linkladder.phrases import checked
from linkladder.run import arms_so_far
from linkladder.run.progress import Progress, Stage, TrialView
from linkladder.verdicts import RungJudgement

READ_FIRST = 1.0  # seconds after which Enter answers an instruction, so that an earlier Enter does not
PINGS = (Protocol.ECHO, Protocol.DF)
SHORT = 20  # lines below which chart and progress need all the room
ROOMY = 34  # lines from which there is room for the trials so far


def judged(progress: Progress) -> dict[str, RungJudgement]:
    """The verdicts on the rungs that are finished."""
    if progress.plan is None:
        return {}
    known = {view.judgement.rung: view.judgement for view in progress.rungs if view.judgement}
    over = tuple(view.result for view in progress.rungs if view.result and not view.judgement)
    document = Document(RunInfo(progress.run_id, "", progress.plan), over)
    return known | {one.rung: one for one in judge.judge_document(document).rungs if over}


def _several_paths(progress: Progress) -> bool:
    return progress.plan is not None and any(len(rung.paths) > 1 for rung in progress.plan.rungs)


def _under_way(progress: Progress | None) -> RungName | None:
    rungs = progress.rungs if progress else ()
    return next((view.name for view in rungs if view.stage in (Stage.RUNNING, Stage.WAITING)), None)


class LadderScreen(Page):
    NAME = "Ladder"
    SHOWS_RUN = True
    HELP = """
Four rungs; each adds one part of the path. The chart is throughput per second:
dotted columns are the warm-up, shown and not counted. Lines mark the contract, the
ceiling (the most this port and MTU can carry) and, inside one host, what is needed:
half as much again as was bought, so that the machine is not the limit further up.
All are for one way: of both ways at once the chart shows the slower. Below it
stands how busy each core of either end is (c0, c1, ...), in % of that core.

  Enter  the machine has been moved: go on
  s      skip this rung
  a      do this trial again
  Space  pause after this trial, and go on
  x      cancel; both ends stop, results are kept
  c      the exact commands of this trial
  m      of several paths: who carries how much to whom, as it is measured
  n      add a note to the run
  t      take the controls from another screen
  v      results so far
  Esc    back; the run goes on
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "read", "Results", key_display="Enter"),
        Binding("enter", "proceed", "Go on", key_display="Enter"),
        Binding("space", "pause", "Pause", key_display="Space"),
        Binding("space", "resume", "Go on", key_display="Space"),
        Binding("enter", "resume", show=False),
        Binding("s", "skip", "Skip"),
        Binding("c", "commands", "Commands"),
        Binding("m", "mesh", "Mesh"),
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
    LadderScreen #ends { height: auto; max-height: 6; }
    LadderScreen #figures { height: auto; }
    LadderScreen #ends Static { width: 1fr; text-wrap: nowrap; }
    LadderScreen #so-far { height: auto; margin: 1 0; display: none; text-wrap: nowrap; text-overflow: ellipsis; }
    LadderScreen #say { height: auto; max-height: 6; text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, str] = {}
        self._whole = False  # whether all parts of the screen are there
        self._judged: dict[str, RungJudgement] = {}
        self._keys = (False, False, False, False)  # the states on which the footer's keys depend
        self._over = 0  # rungs whose verdicts are known
        self._instructed: tuple[str, float] = ("", 0.0)  # what the person is asked to do, and since when
        self._answered = ""  # the instruction that the person has answered
        self._asked: tuple[object, str] = (None, "")  # what a person wants, and the trial or pause in which it was said

    def body(self) -> ComposeResult:
        with Vertical(classes="body"):
            yield Static("", id="rungs", markup=False)
            yield Static("", id="say", markup=False)
            yield Static("", id="trial", classes="heading", markup=False)
            yield StripChart(self.ladder_app.glyphs, key="chart")
            yield Static("", id="figures", markup=False)
            yield Static("", id="so-far", markup=False)
            with Horizontal(id="ends"):
                yield Static("", id="near", markup=False)
                yield Static("", id="far", markup=False)
            yield Static("", id="bars", markup=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self.on_tick)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Show only keys in the footer that have an effect now."""
        progress = self.ladder_app.progress
        if action in ("read", "results"):  # a run that never began has nothing to read
            return progress is not None and bool(progress.run_id) and (progress.over or action == "results")
        if action == "mesh":
            return progress is not None and _several_paths(progress)
        if progress is None or progress.over:
            return action not in ("proceed", "pause", "resume", "skip", "cancel", "again", "note", "take")
        now = {"proceed": bool(progress.waiting), "pause": not progress.paused, "resume": progress.paused}
        return now.get(action, True)

    def on_resize(self) -> None:
        self.call_after_refresh(self.on_tick)

    # --- drawing ------------------------------------------------------------------------

    def on_tick(self) -> None:
        """Redraw what has changed, at most twice a second."""
        progress = self.ladder_app.progress
        self._whole = self._whole or len(self.query("#bars, #far")) == 2
        if not self._whole:
            return
        if progress is None:
            self._put("say", Text("No run is going on. Esc, then Climb the ladder, starts one."))
            return
        if progress.instruction != self._instructed[0]:
            self._instructed = (progress.instruction, time.monotonic())
            self._answered = ""
        width = max(40, self.size.width - 2)
        with self.app.batch_update():
            self._put("rungs", ladder_text.ladder(progress, self._judged, width))
            said = self._say(progress)
            self._put("say", said.text)
            self.query_one("#say").display = bool(said.text)
            self._title(progress)
            if progress.trial:
                self._trial(progress, progress.trial, width, said)
            else:
                self._quiet(progress, width)
            self._so_far(progress)
            self._put("bars", Text("\n").join(bars.of_run(progress, width)))
        keys = (progress.over, bool(progress.waiting), progress.paused, _several_paths(progress))
        if keys != self._keys:
            self._keys = keys
            self.refresh_bindings()
        over = sum(view.result is not None for view in progress.rungs)
        if over != self._over:
            self._over = over
            self.judge_rungs(progress)

    @work(exclusive=True, group="judge")
    async def judge_rungs(self, progress: Progress) -> None:
        self._judged = await self.ladder_app.run_blocking(judged, progress)
        self.on_tick()

    def _put(self, name: str, text: Text) -> None:
        """Update a part of the screen if its text has changed."""
        before, now = self._shown.get(name), text.markup
        if before != now:
            self._shown[name] = now
            # The layout is computed anew only if the number of lines changes, as that is half of an update's cost.
            same = bool(before and now) and name != "say" and str(before).count("\n") == now.count("\n")
            self.query_one(f"#{name}", Static).update(text, layout=not same)

    def _title(self, progress: Progress) -> None:
        plan = progress.plan.name if progress.plan else ""
        session = self.ladder_app.session
        held = "" if session is None or session.controlling else "   only watching"
        state = "finished" if progress.over else "paused" if progress.paused else "running"
        what = "the run did not begin" if progress.over and not progress.run_id else f"plan {plan}   {state}"
        line = f"linkladder   Ladder   {what}{held}"
        if self._shown.get("title") != line:
            self._shown["title"] = line
            self.set_title(line)

    def _say(self, progress: Progress) -> run_message.Message:
        answered = self._answered == progress.instruction
        if self._asked[0] != (progress.trial, progress.paused):
            self._asked = ((progress.trial, progress.paused), "")
        return run_message.message(progress, self.ladder_app.session, answered, self._asked[1])

    def _trial(self, progress: Progress, trial: TrialView, width: int, said: run_message.Message) -> None:
        experiment = trial.experiment
        self._put("trial", Text(ladder_text.trial_line(progress, trial, width)))
        chart = self.query_one("#chart", StripChart)
        if experiment.protocol in (Protocol.TCP, Protocol.UDP):
            chart.show(
                throughput.points_of(trial),
                throughput.lines_of(progress, trial),
                experiment.warmup + experiment.duration,
                [throughput.caption(progress, trial, brief) for brief in (False, True)],
            )
        else:
            what = {"echo": "Pinging", "df": "Looking for the largest packet that passes"}
            found = progress.rung(trial.rung).evidence
            lines = textwrap.wrap(checked(found), width) if found and not said.tells_of_place else []
            chart.say("\n".join([f"{what.get(experiment.protocol, 'Counting transactions')} ...", "", *lines]))
        taken = sum(len(textwrap.wrap(line, width)) for line in said.text.plain.splitlines())
        rows = max(2, (self.size.height - 17) // 2 - taken)  # 4 of 25 lines, fewer if there is a message
        each = ladder_text.each_path(progress.path_rates(), width, rows)
        arms = self._arms(progress, width, rows + 1)
        now = ladder_text.figures(trial, width, progress.paths)
        self._put("figures", Text("\n").join([*arms, now, *map(Text, each)]))
        self._ends(progress, trial, width)

    def _arms(self, progress: Progress, width: int, rows: int) -> list[Text]:
        """Lines on settings that are compared, with their results so far and what a staircase has kept."""
        found = arms_so_far.compared(progress)
        if found is None or self.size.height < SHORT:
            return []
        kept = f", kept so far: {', '.join(found.kept) or 'nothing'}" if found.step > 1 else ""
        head = [Text(f"Step {found.step} of {found.steps}{kept}", "dim", no_wrap=True)] if found.step else []
        return [*head, *bars.arms(found, width, rows)]

    def _so_far(self, progress: Progress) -> None:
        """Show the latest trials if the screen is high enough."""
        room = min(12, self.size.height - ROOMY)
        lines = progress.history[-room:] if room > 0 else []
        self.query_one("#so-far").display = bool(lines)
        if lines:
            self._put("so-far", Text.assemble(("Trials so far\n", "bold"), "\n".join(reversed(lines)), no_wrap=True))

    def _ends(self, progress: Progress, trial: TrialView, width: int) -> None:
        """Show CPU and memory of two ends side by side, except for pings, which need neither."""
        shown = trial.experiment.protocol not in PINGS and self.size.height >= SHORT
        self.query_one("#ends").display = shown
        if not shown:
            return
        rows = 2 if self.size.height < 30 else 5
        two = panels.of(progress, trial)
        for place, (name, sample) in zip(("near", "far"), two, strict=True):
            self._put(place, bars.cores(name, sample, width // 2 - 1, rows))
        if trial.rung == RungName.LOCALHOST:
            self._put("far", Text("far   the same machine on this rung", "dim"))

    def _quiet(self, progress: Progress, width: int) -> None:
        """Show, while no trial runs, what the person is to do or how the last trials went."""
        for name in ("trial", "figures", "near", "far"):
            self._put(name, Text(""))
        self.query_one("#ends").display = False
        lines: list[str] = []
        if progress.waiting:
            lines = ladder_text.to_do(progress, width)
        elif progress.history and self.size.height < ROOMY:
            lines = ["Trials so far", *reversed(progress.history[-12:])]
        self.query_one("#chart", StripChart).say(
            "\n".join(part for line in lines for part in textwrap.wrap(line, width) or [""])
        )

    # --- keys -----------------------------------------------------------------------------

    @work(group="control")
    async def send(self, verb: str, text: str = "") -> None:
        session, progress = self.ladder_app.session, self.ladder_app.progress
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
        if progress and progress.waiting:
            session = self.ladder_app.session
            read = time.monotonic() - self._instructed[1] > READ_FIRST
            if session and not session.controlling:
                self.send("proceed")  # shows who has the controls
            elif read and self._answered != progress.instruction:
                self._answered = progress.instruction
                self.send("proceed")
                self.on_tick()

    def action_resume(self) -> None:
        self.send("resume")

    def action_pause(self) -> None:
        self.send("pause")
        self._after_this("It pauses after this trial; Space goes on")

    def action_again(self) -> None:
        progress = self.ladder_app.progress
        if progress and progress.repeatable:
            self.send("repeat")
            trial = "This trial" if progress.trial else "The last trial"
            self._after_this(f"{trial} will be done once more; the note of it stays with the run")
        else:
            self.notify("Nothing was measured on this rung yet that could be done again")

    def _after_this(self, words: str) -> None:
        """Show what will happen after this trial, until it does."""
        progress, session = self.ladder_app.progress, self.ladder_app.session
        if progress and session and session.controlling and not progress.over:
            self._asked = ((progress.trial, progress.paused), words)
            self.on_tick()

    @work(exclusive=True, group="ask")
    async def action_skip(self) -> None:
        progress = self.ladder_app.progress
        rung = _under_way(progress)
        if rung is None:
            self.notify("No rung is being measured yet")
            return
        text = f"What is left of {rung} will be reported as not measured."
        if not await self.app.push_screen_wait(Question("Skip this rung?", text, "Skip it", "No", safe=True)):
            return
        if progress is self.ladder_app.progress and _under_way(progress) is rung:
            self.send("skip")
        else:
            self.notify(f"{rung} is over already: nothing was skipped")

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
        """Show the commands of this trial, and those of the last one if it has failed or no trial runs."""
        progress = self.ladder_app.progress
        parts = []
        if progress and progress.trial and progress.trial.commands:
            parts = ["The commands of this trial", *progress.trial.commands]
        if progress and progress.last and (not parts or not progress.last.ok):
            lines = [f"{c.end}: {shlex.join(c.argv)}" for c in progress.last.commands]
            failed = "" if progress.last.ok else f", which failed: {progress.last.reason}"
            parts += [f"The commands of the last trial{failed}", *(lines or ["none"])]
        if parts:
            self.app.push_screen(Words(parts[0], "\n\n".join(parts[1:])))
        else:
            self.notify("Nothing has been started yet")

    def action_mesh(self) -> None:
        progress = self.ladder_app.progress
        self.ladder_app.open("mesh", progress.run_id if progress else "")

    def action_results(self) -> None:
        progress = self.ladder_app.progress
        if progress and progress.run_id:
            self.ladder_app.open("results", progress.run_id)

    def action_read(self) -> None:
        self.action_results()

    def action_noop(self) -> None:
        """Do nothing, so that the key l does not move the focus as on other screens."""
