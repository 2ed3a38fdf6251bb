"""Prints a run's events as lines for a shell, and on a terminal also what is going on now."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from linkladder import events as ev
from linkladder import phrases, units
from linkladder.model import Experiment, Path, TrialResult
from linkladder.phrases import back, checked, out_of_reach
from linkladder.phrases.ways import end_name
from linkladder.printable import clean
from linkladder.run.progress import Progress

MOST = 12  # most paths that are shown


class Lines:
    """Prints events as lines on standard error, with a live line below them if that is a terminal."""

    def __init__(self, quiet: bool, terminal: bool) -> None:
        self.quiet, self.terminal = quiet, terminal
        self.progress = Progress()
        self._reasons: Counter[str] = Counter()  # why trials of the present rung failed
        self._below = 0  # lines below the live one, for the paths of a trial that has several

    def show(self, event: ev.Event, at: float) -> None:
        self.progress.apply(event, at)
        if self.quiet:
            return
        if words := self._words(event):
            self._line(words)
        if isinstance(event, ev.TrialStarted):
            self._live("started")
        elif isinstance(event, ev.IntervalSeen):
            self._live(units.rate(event.interval.bps))

    def passed(self, at: float) -> None:
        """Advance the clock if no event came."""
        self.progress.at = max(self.progress.at, at)

    def _words(self, event: ev.Event) -> str:
        match event:
            case ev.RunStarted():
                return f"run {event.run_id}: plan {event.plan.name}, {_asked(event)}"
            case ev.RungStarted():
                return f"{event.rung}: {_asked(event)}"
            case ev.PlanGrown():
                if not event.trials:
                    return f"  {event.rung}: the next step, beside the best so far"
                again = "one more trial" if event.trials == 1 else f"{event.trials} more trials"
                return f"  {event.rung}: the verdict is not settled: {again}"
            case ev.LeftOut():
                left = units.duration(self.progress.whole_left())
                what = "left out" if event.trials > 0 else "not left out after all"
                return f"  {event.rung}: {units.plural(abs(event.trials), 'trial')} {what}, {left} left in all"
            case ev.GeneratorSought():
                return f"  {event.said}"
            case ev.GeneratorChosen():
                return f"  {event.rung}: {event.said}"
            case ev.WaitingForOperator():
                return f"  {event.instruction} (or type s to skip {event.rung})"
            case ev.EvidenceFound() if event.evidence.contradicts:
                found = event.evidence
                return f"  {event.rung}: {checked(replace(found, findings=found.against or found.findings))}"
            case ev.TrialFinished():
                exp = self.progress.asked(event.rung, event.experiment)
                return f"  {event.experiment:34} {self._result(exp, event.result, self.progress.paths_of(event.rung))}"
            case ev.RungFinished():
                return self._counted(event.rung)
            case ev.PeerLost():
                return f"  {out_of_reach(event.peer, event.reason, event.retry_in)}"
            case ev.PeerBack():
                return f"  {back(event.peer)}"
            case ev.Notice():
                return f"  {event.text}"
            case ev.RunFinished():
                failed = f", {units.plural(event.failed_trials, 'trial')} failed" if event.failed_trials else ""
                return f"run {event.run_id}: {event.state}{failed}; linkladder judge {event.run_id} says why"
        return ""

    def _result(self, exp: Experiment, trial: TrialResult, paths: Sequence[Path]) -> str:
        """The outcome of a trial; a reason for which others of the rung have failed already is not said again."""
        known = not trial.ok and self._reasons[trial.reason] > 0
        self._reasons[trial.reason] += not trial.ok
        return outcome(exp, trial, known, paths)

    def _counted(self, rung: str) -> str:
        """How many trials of the rung failed for a reason that was said once."""
        said = [f"  {rung}: {count} trials failed: {why}" for why, count in self._reasons.items() if count > 1]
        self._reasons.clear()
        return "\n".join(said)

    def _live(self, what: str) -> None:
        trial = self.progress.trial
        if not self.terminal or trial is None:
            return
        left = units.duration(self.progress.whole_left())
        lines = [f"  {trial.rung} {trial.experiment.id}: {what}, {left} left in all", *self._paths()]
        self._below = len(lines) - 1
        up = f"\x1b[{self._below}A" if self._below else ""
        with contextlib.suppress(OSError):
            sys.stderr.write("\r" + "\r\n".join(line[:78].ljust(78) for line in lines) + up)
            sys.stderr.flush()

    def _paths(self) -> list[str]:
        """A line for each path of a trial that has several."""
        rates = self.progress.path_rates()
        shown = rates if len(rates) <= MOST else rates[: MOST - 1]
        lines = [f"    {name}: {'silent' if bps is None else units.rate(bps)}" for name, bps in shown]
        more = [f"    and {len(rates) - len(shown)} more"] if len(shown) < len(rates) else []
        return [*lines, *more]

    def _line(self, text: str) -> None:
        rest = "\x1b[J" if self._below else ""  # clears the live lines below
        start = "\r" + " " * 78 + "\r" + rest if self.terminal else ""
        self._below = 0
        print(f"{start}{clean(text)}", file=sys.stderr, flush=True)  # a peer's words are among them


def _asked(event: ev.RunStarted | ev.RungStarted) -> str:
    """The number of trials and their time, such as '14 trials, about 2 min 48 s', and what is left of a resumed run."""
    trials = units.plural(event.trials, "trial")
    if event.done >= event.trials:
        return f"{trials}, measured already" if event.trials else f"{trials}, as all that was asked for is left out"
    before = f", {event.done} measured already" if event.done else ""
    rest = " for the rest" if event.done else ""
    left = units.at_best(event.seconds - event.spent, max(event.seconds, event.longest) - event.spent)
    return f"{trials}{before}, {'' if left.startswith('at') else 'about '}{left}{rest}"


def outcome(p: Experiment, trial: TrialResult, known: bool = False, paths: Sequence[Path] = ()) -> str:
    """A trial's result, with the CPU cores that each end used and the round trip under load."""
    text = phrases.outcome(p, trial, known, paths)
    for end, use in ((one.name, one.cpu) for one in trial.ends if one.cpu and trial.ok):
        text += f"  {end_name(end, p, paths)} {use.cores_used:.2f} cores (busiest {use.busiest:.0f} %)"
    if trial.ok and trial.rtt_under_load:
        text += f"  loaded {units.milliseconds(trial.rtt_under_load.p50_ms)}"
    return text
