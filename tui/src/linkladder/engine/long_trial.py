"""Shortens the record of a long trial before it is stored, so that a soak of days takes little room.

Of a trial of more than LONG seconds every second of each way is kept, with all figures made of everything.  Of the
rest (a flow's own seconds, those of the ends, the lines that a tool prints each second) only the first and the last
seconds are kept as they were, and the FEW in which a flow carried least beside its usual, each with its neighbours.
What lies between is joined to spans of SPAN seconds; of pings one round trip a second stays, of windows the smallest
and the largest; lines are left out, with a mark in their place.  No bytes are lost by it, as the totals stay.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from linkladder import judge, tools
from linkladder.engine.leg import LOAD_PING
from linkladder.engine.thinning import joined
from linkladder.events import RungFinished
from linkladder.model import (
    LONG,
    Command,
    CoreLoad,
    Document,
    EndRecord,
    Experiment,
    HostSample,
    Interval,
    Leg,
    Outcome,
    Plan,
    Role,
    RungName,
    TrialResult,
    WindowSeen,
    left_out_mark,
    sums,
)

HEAD, TAIL = 20, 10  # seconds after the warm-up, and before the end
FEW = 12  # seconds that stand out
LITTLE = 0.5  # of the usual rate
SPAN = 60  # seconds that are joined to one
One = TypeVar("One", Interval, HostSample, WindowSeen)


def thinned(trial: TrialResult, exp: Experiment) -> TrialResult:
    """The trial as it is stored: shortened if it is a long one."""
    if exp.duration <= LONG or exp.member_down:  # a bundle's flows are told apart second by second
        return trial
    kept = _kept(trial, exp)
    legs = tuple(_leg(leg, LOAD_PING if leg.role is Role.PING else exp, kept) for leg in trial.legs)
    return replace(trial, legs=legs, ends=tuple(_end(end, kept) for end in trial.ends))


def rung_finished(name: RungName, document: Document, plan: Plan) -> RungFinished:
    """The event of a finished rung; with long trials it has the figures only, and the verdict made of their seconds.

    The verdict is there too if `plan` is only a part of the run's, as a follow-up's is: whoever watches has no more.
    """
    rung = next(r for r in document.rungs if r.name == name)
    short = all(e.parameters.duration <= LONG for e in rung.experiments)
    if short and plan == document.run.plan:
        return RungFinished(name, rung)
    judged = next((one for one in judge.judge_document(document).rungs if one.rung == name), None)
    if short:
        return RungFinished(name, rung, judged)
    figures = (replace(e, trials=tuple(trial.figures for trial in e.trials)) for e in rung.experiments)
    return RungFinished(name, replace(rung, experiments=tuple(figures)), judged)


def _kept(trial: TrialResult, exp: Experiment) -> frozenset[int]:
    """The seconds of which everything is stored."""
    until = int(exp.warmup + exp.duration)
    found = {*range(int(exp.warmup) + HEAD), *range(until - TAIL, until + 60)}
    least: dict[int, float] = {}
    for outcome in trial.loads:
        for seconds in (*(flow.intervals for flow in outcome.flows), *_ways(outcome)):
            usual = statistics.median([i.bps for i in seconds]) if seconds else 0.0
            for i in seconds if usual else ():
                if i.bps < LITTLE * usual and (second := round(i.start)) not in found:
                    least[second] = min(i.bps / usual, least.get(second, 1.0))
    for second in sorted(least, key=lambda s: (least[s], s))[:FEW]:
        found |= {second - 1, second, second + 1}
    return frozenset(found)


def _ways(outcome: Outcome) -> Iterable[list[Interval]]:
    return ([i for i in outcome.intervals if i.direction == way] for way in outcome.by_direction)


def _leg(leg: Leg, exp: Experiment, kept: frozenset[int]) -> Leg:
    outcome = leg.outcome
    flows = tuple(replace(f, intervals=_spans(f.intervals, _start, kept, sums.of_span)) for f in outcome.flows)
    seconds = tuple(i if i.rtt_ms is None else replace(i, rtt_ms=round(i.rtt_ms, 3)) for i in outcome.intervals)
    rtt = outcome.rtt
    if rtt is not None and leg.role is Role.PING:
        rtt = replace(rtt, samples_ms=rtt.samples_ms[:: round(1 / LOAD_PING.interval)])
    commands = tuple(_command(c, exp, kept) for c in leg.commands)
    return replace(leg, outcome=replace(outcome, flows=flows, intervals=seconds, rtt=rtt), commands=commands)


def _end(end: EndRecord, kept: frozenset[int]) -> EndRecord:
    samples = tuple(_rounded(sample) for sample in _spans(end.samples, _time, kept, joined))
    windows = tuple(
        one
        for span in _groups(end.windows, _time, kept)
        for one in sorted({id(w): w for w in (min(span, key=_window), max(span, key=_window))}.values(), key=_time)
    )
    return replace(end, samples=samples, windows=windows)


def _rounded(sample: HostSample) -> HostSample:
    """Cores to a tenth of a percent, which is less than a tick of their clocks in a second."""
    cores = (CoreLoad(*(round(part, 1) for part in (c.user, c.system, c.interrupt, c.idle))) for c in sample.cores)
    return replace(sample, cores=tuple(cores))


def _command(command: Command, exp: Experiment, kept: frozenset[int]) -> Command:
    """The command with its output cut to the lines of the seconds that are kept."""
    reading = tools.named(exp.tool).reading()
    lines: list[str] = []
    gone = run = 0
    for line in command.output.splitlines(keepends=True):
        second = reading.second(line, exp)
        if second is not None and int(second + 0.05) not in kept:
            run += 1
            continue
        if run:
            lines.append(f"{left_out_mark(run)}\n")
        gone, run = gone + run, 0
        lines.append(line)
    if run:
        lines.append(f"{left_out_mark(run)}\n")
    return replace(command, output="".join(lines), left_out=gone + run)


def _spans(
    ones: Sequence[One], at: Callable[[One], float], kept: frozenset[int], join: Callable[[Sequence[One]], One]
) -> tuple[One, ...]:
    return tuple(group[0] if len(group) == 1 else join(group) for group in _groups(ones, at, kept))


def _groups(ones: Sequence[One], at: Callable[[One], float], kept: frozenset[int]) -> list[list[One]]:
    """Samples in groups to be joined: each of a kept second alone, those between by spans of SPAN seconds."""
    before = [0]

    def place(one: One) -> tuple[int, int]:
        second = int(at(one) + 0.05)
        if second in kept:
            before[0] += 1
            return before[0], -1
        return before[0], second // SPAN

    return [list(group) for _, group in groupby(ones, place)]


def _start(one: Interval) -> float:
    return one.start


def _time(one: HostSample | WindowSeen) -> float:
    return one.t


def _window(one: WindowSeen) -> float:
    return sum(one.cwnd_bytes)
