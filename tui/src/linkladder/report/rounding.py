"""Seconds of a run of days in the room of a day's: rounded, and none of them missing.

Of a TCP trial of more than LONG seconds a second's bytes become a multiple of a 64th of its usual second's or less, and
what is over goes to the next second, so that the sums stay.  A second below half of the usual one stays as it was: when
the link was dead, and for how long, is exact.  So do the trial's first and last minute, in which rates fall and bursts
end, and one second of each other minute, by which a copy of a trial is known.  The tool's own window and round trip of
a second become their minute's median, but for the smallest and the largest of the trial; of the pings every so many
stays.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TypeVar

from linkladder.laid_on_disk import Shelf, shelved
from linkladder.model import LONG, Direction, Document, Experiment, Interval, Leg, Protocol, TrialResult

MOST = 86_400  # seconds that a page carries as they are
ANSWERS = 200_000  # round trips of pings in one page, of a run that has more seconds
LEVELS = 64  # of the usual second's bytes
LITTLE = 0.5  # of it: what is below stays as it was
SPAN = 60  # seconds with one window and one round trip, and of which one stays as it was
Number = TypeVar("Number", int, float)


def measured(document: Document) -> int:
    """How many seconds the document's trials have, those of each path and way counted by themselves."""
    return sum(len(leg.outcome.intervals) for leg in _legs(document))


def answers(document: Document) -> int:
    """How many round trips the document has one by one."""
    return sum(len(leg.outcome.rtt.samples_ms) for leg in _legs(document) if leg.outcome.rtt)


def rounded(asked: Experiment, trial: TrialResult, step: int, shelf: Shelf) -> TrialResult:
    """The trial, if it is a long one, with every `step`-th of its pings."""
    if asked.duration <= LONG or asked.member_down:  # what a bundle's flows did is told by single seconds
        return trial
    legs = tuple(_leg(leg, asked.protocol is Protocol.TCP, step) for leg in trial.legs)
    return shelved(replace(trial, legs=legs), shelf)


def _leg(leg: Leg, by_level: bool, step: int) -> Leg:
    outcome = leg.outcome
    rtt = outcome.rtt and replace(outcome.rtt, samples_ms=outcome.rtt.samples_ms[::step])
    seconds = outcome.intervals
    if by_level and len(seconds) > LONG:
        made = list(seconds)
        for way in Direction:
            places = [n for n, one in enumerate(made) if one.direction is way]
            for n, one in zip(places, _one_way([made[n] for n in places]), strict=True):
                made[n] = one
        seconds = tuple(made)
    return replace(leg, outcome=replace(outcome, intervals=seconds, rtt=rtt))


def _one_way(seconds: list[Interval]) -> list[Interval]:
    sizes = _levels([one.bytes for one in seconds])
    round_trips, windows = _by_spans([one.rtt_ms for one in seconds]), _by_spans([one.cwnd for one in seconds])
    return [
        replace(one, bytes=size, rtt_ms=rtt, cwnd=window)
        for one, size, rtt, window in zip(seconds, sizes, round_trips, windows, strict=True)
    ]


def _levels(sizes: list[int]) -> list[int]:
    alive = [size for size in sizes if size > 0]
    usual = statistics.median(alive) if alive else 0
    level = 1 << max(0, int(usual // LEVELS).bit_length() - 1)  # digits of many numbers alike take little room
    made, over = [], 0
    for n, size in enumerate(sizes):
        if size < LITTLE * usual or n % SPAN == 0 or not SPAN <= n < len(sizes) - SPAN:
            made.append(size)
            continue
        near = (size + over + level // 2) // level * level
        over += size - near
        made.append(near)
    return made


def _by_spans(values: list[Number | None]) -> list[Number | None]:
    known = [value for value in values if value is not None]
    if not known:
        return values
    ends = {values.index(min(known)), values.index(max(known))}
    made = list(values)
    for first in range(0, len(values), SPAN):
        places = [n for n in range(first, min(first + SPAN, len(values))) if values[n] is not None]
        middle = statistics.median_low([value for n in places if (value := values[n]) is not None]) if places else None
        for n in places:
            made[n] = values[n] if n in ends else middle
    return made


def _legs(document: Document) -> list[Leg]:
    return [leg for r in document.rungs for e in r.experiments for t in e.trials for leg in t.legs]
