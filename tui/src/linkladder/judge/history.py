"""What a mean hides: seconds in which the link carried nothing, and time that passed between the trials."""

from __future__ import annotations

import itertools
import statistics
from datetime import datetime

from linkladder import phrases, units
from linkladder.judge.evidence import ways
from linkladder.model import Contract, Interval, Protocol, RungResult
from linkladder.verdicts import Cause, Concern

DIP = 0.5  # of the trial's median second
LONG_PAUSE = 3600.0  # seconds between two trials of a rung
USUAL = 0.97
LOOSE_LOSS = 1.0  # percent: a limit beyond it is said
LOOSE_AVAILABILITY = 99.0
SHOWN = 3


def history(rung: RungResult, deal: Contract) -> list[Concern]:
    """Findings about a link's trials; none of them is in the figures that the verdict weighs."""
    found = phrases.short_list(_dips(rung), SHOWN, "trials had such seconds")
    if pause := _pause(rung):
        found.append(pause)
    if deal.pass_ratio < USUAL:
        found.append(
            f"Only {100 * deal.pass_ratio:.4g}% of the ceiling was asked for, where {USUAL:.0%} of it is usual."
        )
    if deal.loss_percent > LOOSE_LOSS:
        found.append(f"The contract lets {deal.loss_percent:g} % be lost, where {Contract.loss_percent:g} % is usual.")
    if deal.availability_percent < LOOSE_AVAILABILITY:
        usual = Contract.availability_percent
        found.append(f"Only {deal.availability_percent:g} % of availability is asked for, where {usual:g} % is usual.")
    return [Concern(Cause.SEEN, said) for said in found]


def _dips(rung: RungResult) -> list[str]:
    found = []
    for e in rung.experiments:
        if e.parameters.protocol is not Protocol.TCP:
            continue
        for t in e.trials:
            for way in ways(e.parameters) if t.ok else ():
                counted = [i for i in t.intervals if i.counted and i.direction is way and i.end - i.start > 0.5]
                if said := _dip(counted):
                    name = phrases.arm(e.parameters, direction=False)
                    found.append(f"{name}, {phrases.way(way)}, repeat {t.repeat + 1}: {said}")
    return found


def _dip(counted: list[Interval]) -> str:
    if len(counted) < 4:
        return ""
    usual = statistics.median(i.bps for i in counted)
    low = [i for i in counted if i.bps < DIP * usual]
    if not low:
        return ""
    worst = min(low, key=lambda i: i.bps)
    what = "one second" if len(low) == 1 else f"{len(low)} seconds"
    return (
        f"{what} far below the rest, the least {units.rate(worst.bps)} at {worst.start:.0f} s where "
        f"{units.rate(usual)} is usual."
    )


def _pause(rung: RungResult) -> str:
    """Repeats that lie far apart saw the link at different times."""
    spans = []
    for e in rung.experiments:
        for t in e.trials:
            try:
                spans.append((datetime.fromisoformat(t.started).timestamp(), t.seconds))
            except (ValueError, OverflowError, OSError):
                continue
    spans.sort()
    gaps = [b[0] - a[0] - a[1] for a, b in itertools.pairwise(spans)]
    if not gaps or max(gaps) < LONG_PAUSE:
        return ""
    return f"Between two trials of this rung lie {units.duration(max(gaps))}: the link may not be the same as before."
