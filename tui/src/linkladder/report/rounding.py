"""Rounds the seconds of a run of days so that they take no more room than those of one day; none is left out.

In TCP trials of more than LONG seconds, a second's bytes are rounded to a multiple of at most a 64th of the usual
second's, and the remainder is carried to the next second, so that sums stay. A second below half of the usual one is
not rounded, so that it stays exact when and how long the link was dead. Nor are the first and the last minute, in which
rates fall and bursts end, and one second of every minute, by which a copy of a trial is found. The window and the round
trip that the tool reports become their minute's median, except for the trial's smallest and largest ones. Of the pings
only every N-th is kept.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import TypeVar

from linkladder.laid_on_disk import Shelf, shelved
from linkladder.model import LONG, Direction, Document, Experiment, Interval, Leg, Protocol, TrialResult

MOST = 86_400  # seconds that a page holds without rounding
ANSWERS = 200_000  # round trips of pings in one page of a longer run
LEVELS = 64  # steps into which the usual second's bytes are divided at least
LITTLE = 0.5  # share of the usual second's bytes; a second with less is not rounded
SPAN = 60  # seconds that share a window and a round trip, and of which one is not rounded
Number = TypeVar("Number", int, float)


def measured(document: Document) -> int:
    """How many seconds the document's trials have, counted for each path and direction separately."""
    return sum(len(leg.outcome.intervals) for leg in _legs(document))


def answers(document: Document) -> int:
    """How many single round trips the document has."""
    return sum(len(leg.outcome.rtt.samples_ms) for leg in _legs(document) if leg.outcome.rtt)


def rounded(asked: Experiment, trial: TrialResult, step: int, shelf: Shelf) -> TrialResult:
    """The trial, with its seconds rounded and every `step`-th of its pings if it is a long one; else as it is."""
    if asked.duration <= LONG or asked.member_down:  # a bundle's flows are judged by single seconds
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
    level = 1 << max(0, int(usual // LEVELS).bit_length() - 1)  # a power of two, as recurring numbers compress well
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
    return [leg for trial in document.trials for leg in trial.legs]
