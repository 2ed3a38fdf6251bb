"""Keeps the state of a run up to date from its events; every front end draws it. It has no clock of its own."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from textwrap import shorten

from linkladder import events
from linkladder.model import (
    Contract,
    Direction,
    End,
    Evidence,
    Experiment,
    ExperimentResult,
    HostSample,
    Interval,
    Path,
    Plan,
    RungName,
    RungResult,
    RunState,
    TrialResult,
    best_rate,
)
from linkladder.phrases import arm, back, checked, out_of_reach, outcome
from linkladder.phrases.ways import loaded, path_name, several_ends
from linkladder.verdicts import RungJudgement

REASON = 160  # characters of a tool's message that fit here; the results keep all of it


class Stage(StrEnum):
    TO_DO = "to do"
    WAITING = "needs you"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "not measured"
    STOPPED = "stopped"


@dataclass
class RungView:
    """The state of one rung of the ladder."""

    name: RungName
    stage: Stage = Stage.TO_DO
    best: best_rate.Ways = field(default_factory=dict)
    trials: int = 0
    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    spent: float = 0.0  # expected seconds of the finished trials
    why: str = ""
    evidence: Evidence | None = None
    result: RungResult | None = None
    judgement: RungJudgement | None = None  # kept here if the result lacks what a judgement is made from
    seen: set[tuple[str, int]] = field(default_factory=set)  # finished trials; a repeated one counts once

    @property
    def best_bps(self) -> float | None:
        """What the best settings carry in the worse of the directions measured so far; None if nothing was measured."""
        return best_rate.shown(self.best) or None


@dataclass
class TrialView:
    """The trial that runs now."""

    rung: RungName
    experiment: Experiment
    repeat: int
    index: int
    seconds: float
    began: float
    commands: tuple[str, ...] = ()
    intervals: list[Interval] = field(default_factory=list)
    samples: dict[str, HostSample] = field(default_factory=dict)
    rtts: list[float] = field(default_factory=list)
    paths: dict[tuple[Direction, int], float | None] = field(default_factory=dict)  # newest rate of each, if several
    by_cards: bool = False  # rates come from the cards, as the tool reports none until it ends

    def paths_seen(self, event: events.IntervalSeen) -> None:
        """Note the rate of each path in the newest second; a path without a report shows none."""
        way = event.interval.direction
        if event.paths:
            self.paths |= {key: None for key in self.paths if key[0] is way}
            self.paths |= {(way, one.path): one.bps for one in event.paths}

    def retransmits(self, paths: Sequence[Path] = ()) -> int | None:
        """Segments that the sending ends have sent again since the trial began; None if no end reports them."""
        way, numbers = self.experiment.direction, self.experiment.paths
        both = way not in (Direction.FORWARD, Direction.REVERSE)
        loaded = [path for number, path in enumerate(paths) if number in numbers or not numbers]
        sending = {path.ends(way)[0] for path in loaded}
        if not several_ends(paths):
            sending = {End.NEAR if way is Direction.FORWARD else End.FAR}
        elif sending != {End.NEAR}:
            sending.add(End.FAR)  # as the only other end of a trial is called
        counts = [one.retransmits for end, one in self.samples.items() if both or end in sending]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None


class About(StrEnum):
    """What a notice is about, where a screen asks."""

    FAILURE = "failure"  # a trial that failed
    PLACE = "place"  # where the machines stand


@dataclass(frozen=True)
class Notice:
    """A sentence on something that has happened."""

    text: str
    about: About | None = None


@dataclass
class Progress:
    """The state of the whole run. Only `apply` changes it, except for the time in `at`."""

    plan: Plan | None = None
    run_id: str = ""
    at: float = 0.0
    seconds: float = 0.0
    trials: int = 0
    done: int = 0
    spent: float = 0.0
    rungs: list[RungView] = field(default_factory=list)
    trial: TrialView | None = None
    last: TrialResult | None = None
    search: tuple[float, float] | None = None  # for the strongest generator: when it began, and its longest duration
    to_search: float = 0.0  # of the present rung's seconds, for a search that is not over
    instruction: str = ""
    waiting: RungName | None = None
    paused: bool = False
    repeatable: bool = False  # whether the present rung has a trial that could be done again
    lost: str = ""  # what happened to the peer that cannot be reached
    missing: str = ""  # the name of that peer
    state: RunState = RunState.RUNNING
    reason: str = ""
    over: bool = False
    cancelled: bool = False  # whether a person cancelled the run
    history: list[str] = field(default_factory=list)  # one line per finished trial
    figures: dict[tuple[RungName, str], list[float]] = field(default_factory=dict)  # per setting, a value per trial
    notices: list[Notice] = field(default_factory=list)
    noticed: float = 0.0  # time of the last notice

    @property
    def news(self) -> list[Notice]:
        """The notices, without outdated ones about where the machines were placed before."""
        last = self._about(About.PLACE)[-1:]
        return [one for one in self.notices if one.about is not About.PLACE or one is last[0]]

    @property
    def failures(self) -> list[Notice]:
        return self._about(About.FAILURE)

    def _about(self, about: About) -> list[Notice]:
        return [one for one in self.notices if one.about is about]

    def _tell(self, text: str, about: About | None = None) -> None:
        self.notices.append(Notice(text, about))

    @property
    def contract(self) -> Contract:
        return self.plan.contract if self.plan else Contract()

    def rung(self, name: RungName) -> RungView:
        for view in self.rungs:
            if view.name == name:
                return view
        view = RungView(name)
        self.rungs.append(view)
        return view

    def asked(self, rung: RungName, experiment: str) -> Experiment:
        """The experiment as the plan has it; one with a name alone if the plan does not have it."""
        known = (e for r in (self.plan.rungs if self.plan else ()) if r.name == rung for e in r.experiments)
        return next((e for e in known if e.id == experiment), Experiment(experiment, label=experiment))

    def apply(self, event: events.Event, at: float) -> None:
        """Update the state with one event."""
        self.at = max(self.at, at)
        said = len(self.notices)
        self._apply(event)
        if len(self.notices) > said:
            self.noticed = self.at

    def _apply(self, event: events.Event) -> None:
        match event:
            case events.RunStarted():
                self.plan, self.run_id = event.plan, event.run_id
                self.seconds, self.trials = event.seconds, event.trials
                self.done, self.spent = event.done, event.spent
                self.rungs = [RungView(rung.name) for rung in event.plan.rungs]
            case events.RungStarted():
                view = self.rung(event.rung)
                view.stage, view.seconds, view.trials = Stage.RUNNING, event.seconds, event.trials
                view.done, view.spent, view.seen = event.done, event.spent, set()
                for name, result in ((name, one) for name, several in event.before.items() for one in several):
                    self._measured(view, self.asked(event.rung, name), result)
                self.to_search = event.search
                self.waiting, self.instruction, self.paused, self.repeatable = None, "", False, False
            case events.PlanGrown():
                self.plan = event.plan
                for counted in (self, self.rung(event.rung)):
                    counted.trials += event.trials
                    counted.seconds += event.seconds
            case events.LeftOut():
                for counted in (self, self.rung(event.rung)):
                    counted.trials -= event.trials
                    counted.seconds -= event.seconds
            case events.GeneratorSought():
                for counted in (self, self.rung(event.rung)):
                    counted.seconds += event.seconds - self.to_search
                self.search, self.to_search = (self.at, event.seconds), event.seconds
                self._tell(event.said)
            case events.GeneratorChosen():
                self.plan = event.plan
                self._searched(event.rung)
                self._tell(f"{event.rung}: {event.said}")
            case events.WaitingForOperator():
                self.rung(event.rung).stage = Stage.WAITING
                self.waiting, self.instruction = event.rung, event.instruction
            case events.EvidenceFound():
                view = self.rung(event.rung)
                view.evidence, view.stage = event.evidence, Stage.RUNNING
                self.waiting, self.instruction = None, ""
                self._tell(checked(event.evidence), About.PLACE)
            case events.TrialStarted():
                self._trial_started(event)
            case events.TrialFinished():
                self._trial_finished(event)
            case events.RungFinished():
                self._rung_finished(event)
            case events.Paused():
                self.paused = not event.ended
            case events.PeerLost():
                self.lost, self.missing = out_of_reach(event.peer, event.reason, event.retry_in), event.peer
                self.trial = None  # it will start again from the beginning
                self._tell(self.lost)
            case events.PeerBack():
                self.lost = self.missing = ""
                self._tell(back(event.peer))
            case events.Notice():
                self._tell(event.text)
            case events.RunFinished():
                self.state, self.reason, self.over = event.state, event.reason, True
                self.cancelled = event.cancelled
                self.trial, self.waiting, self.paused, self.search = None, None, False, None
                for view in self.rungs:
                    if view.stage in (Stage.RUNNING, Stage.WAITING):
                        view.stage = Stage.STOPPED
            case _:
                self._live(event)

    def _searched(self, rung: RungName) -> None:
        """The search for the strongest generator is over, or there is none after all: its time is no longer to come."""
        for counted in (self, self.rung(rung)):
            counted.spent += self.to_search
        self.search, self.to_search = None, 0.0

    def _trial_started(self, event: events.TrialStarted) -> None:
        view = self.rung(event.rung)
        view.stage = Stage.RUNNING
        self.waiting, self.instruction, self.paused, self.repeatable = None, "", False, True
        self._searched(event.rung)
        self.lost = ""  # others may be measured while one is sought
        asked = self.asked(event.rung, event.experiment)
        self.trial = TrialView(event.rung, asked, event.repeat, event.index, event.seconds, self.at, event.commands)

    def _trial_finished(self, event: events.TrialFinished) -> None:
        view = self.rung(event.rung)
        self.last = event.result
        if (key := (event.experiment, event.result.repeat)) not in view.seen:
            view.seen.add(key)
            view.done += 1
            self.done += 1
            expected = self.trial.seconds if self.trial else event.result.seconds
            view.spent += expected
            self.spent += expected
        asked = self.asked(event.rung, event.experiment)
        words = self.words(event.rung, asked)
        self.history.append(f"{event.rung:<11}{words}: {outcome(asked, event.result)}")
        self._measured(view, asked, event.result)
        if not event.result.ok:
            reason = shorten(event.result.reason, REASON, placeholder=" ...")
            self._tell(f"{words}, repeat {event.result.repeat + 1}, failed: {reason}", About.FAILURE)
        self.trial = None

    def _measured(self, view: RungView, asked: Experiment, result: TrialResult) -> None:
        if result.ok:
            self.figures.setdefault((view.name, asked.id), []).append(_figure(result))
            view.best = best_rate.best_of_ways((view.best, best_rate.of_ways(asked, result)))
        else:
            view.failed += 1

    def _rung_finished(self, event: events.RungFinished) -> None:
        view = self.rung(event.rung)
        view.result, view.judgement = event.result, event.judgement
        view.evidence = event.result.evidence or view.evidence
        view.why = event.result.unavailable
        view.stage = Stage.SKIPPED if event.result.unavailable else Stage.DONE
        view.best = best_rate.best_of_ways(_typical(e) for e in event.result.experiments)
        self.done += max(0, view.trials - view.done)
        view.done = sum(len(e.trials) for e in event.result.experiments)
        self.spent += max(0.0, view.seconds - view.spent)
        view.spent = view.seconds
        self.search, self.to_search = None, 0.0
        if self.waiting == event.rung:
            self.waiting, self.instruction = None, ""

    def _live(self, event: events.Event) -> None:
        trial = self.trial
        if trial is None:
            return
        match event:
            case events.Sampled():
                trial.samples[event.end] = event.sample
            case events.IntervalSeen():
                if trial.by_cards and not event.by_cards:
                    trial.intervals.clear()  # the tool reports rates after all
                trial.by_cards = event.by_cards
                trial.intervals.append(event.interval)
                trial.paths_seen(event)
                if event.interval.rtt_ms is not None:
                    trial.rtts.append(event.interval.rtt_ms)
            case events.RoundTripSeen():
                trial.rtts.append(event.rtt_ms)

    def path_rates(self) -> list[tuple[str, float | None]]:
        """The name and present rate of each path, if the trial has several; None if a path reports nothing."""
        trial = self.trial
        if trial is None or not trial.paths:
            return []
        paths = self.paths
        return [(path_name(paths, number, way), trial.paths[way, number]) for way, number in sorted(trial.paths)]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Of the rung whose trial runs now."""
        return self.paths_of(self.trial.rung) if self.trial else ()

    def paths_of(self, rung: RungName) -> tuple[Path, ...]:
        return next((one.paths for one in (self.plan.rungs if self.plan else ()) if one.name == rung), ())

    def words(self, rung: RungName, asked: Experiment) -> str:
        """The setting, with several ends after the pairs that it loads: 'gamma to delta: TCP, 4 streams, ...'."""
        paths = self.paths_of(rung)
        return f"{loaded(asked, paths)}: {named(asked, False, paths)}" if several_ends(paths) else named(asked)

    # --- time ------------------------------------------------------------------------

    def trial_left(self) -> float:
        return max(0.0, self.trial.seconds - (self.at - self.trial.began)) if self.trial else 0.0

    def rung_left(self) -> float:
        view = self.rung(self.trial.rung) if self.trial else None
        return max(0.0, view.seconds - view.spent - self._trial_spent()) if view else 0.0

    def whole_left(self) -> float:
        return max(0.0, self.seconds - self.spent - self._trial_spent())

    def _trial_spent(self) -> float:
        """Of the trial that runs now, or of the search."""
        began, most = (self.trial.began, self.trial.seconds) if self.trial else self.search or (self.at, 0.0)
        return min(most, self.at - began)


def _figure(result: TrialResult) -> float:
    return result.transactions.rate if result.transactions else best_rate.one_way(result)


def _typical(result: ExperimentResult) -> best_rate.Ways:
    """The median rate over the repeats in each direction, in the form in which settings are ranked."""
    p, rates = result.parameters, dict[str, list[float]]()
    for way, (_, bps) in (pair for t in result.trials if t.ok for pair in best_rate.of_ways(p, t).items()):
        rates.setdefault(way, []).append(bps)
    return {way: (best_rate.weight(p), statistics.median(several)) for way, several in rates.items()}


def series(intervals: list[Interval], direction: Direction) -> list[tuple[float, float, bool]]:
    """What the chart draws of one direction: (second, bits per second, whether it counts) of each interval."""
    return [(i.start, i.bps, i.counted) for i in intervals if i.direction == direction]


def named(experiment: Experiment, direction: bool = True, paths: Sequence[Path] = ()) -> str:
    """The setting in words; only its name if the plan does not have it."""
    return experiment.id if experiment.label == experiment.id else arm(experiment, direction, paths)
