"""Reports what a mean hides: seconds with little traffic, long pauses between trials, and a contract's loose limits."""

from __future__ import annotations

import itertools
import statistics
from datetime import datetime

from linkladder.judge.evidence import ways
from linkladder.model import Contract, Interval, Protocol, RungResult
from linkladder.phrases import history as say
from linkladder.verdicts import Cause, Concern

DIP = 0.5  # share of the rate of the trial's median second
LONG_PAUSE = 3600.0  # seconds between two trials of a rung
USUAL = 0.97
LOOSE_LOSS = 1.0  # percent; a higher limit in the contract is reported
LOOSE_AVAILABILITY = 99.0
SHOWN = 3


def history(rung: RungResult, deal: Contract) -> list[Concern]:
    """Findings about a link's trials and contract that the verdict's figures do not show."""
    found = say.dips(_dips(rung), SHOWN)
    if pause := _pause(rung):
        found.append(pause)
    if deal.pass_ratio < USUAL:
        found.append(say.low_bar(deal.pass_ratio, USUAL))
    if deal.loss_percent > LOOSE_LOSS:
        found.append(say.loose_loss(deal.loss_percent, Contract.loss_percent))
    if deal.availability_percent < LOOSE_AVAILABILITY:
        found.append(say.loose_availability(deal.availability_percent, Contract.availability_percent))
    return [Concern(Cause.SEEN, said) for said in found]


def _dips(rung: RungResult) -> list[str]:
    found = []
    for e in rung.experiments:
        if e.parameters.protocol is not Protocol.TCP:
            continue
        for t in e.trials:
            for way in ways(e.parameters) if t.ok else ():
                counted = [i for i in t.intervals if i.counted and i.direction is way and i.end - i.start > 0.5]
                if low := _low(counted):
                    worst = min(low, key=lambda i: i.bps)
                    usual = statistics.median(i.bps for i in counted)
                    seen = len(low), worst.bps, worst.start, usual
                    found.append(say.dip(e.parameters, way, t.repeat, *seen, rung.paths))
    return found


def _low(counted: list[Interval]) -> list[Interval]:
    """The seconds with far less than the median rate."""
    if len(counted) < 4:
        return []
    usual = statistics.median(i.bps for i in counted)
    return [i for i in counted if i.bps < DIP * usual]


def _pause(rung: RungResult) -> str:
    """A sentence on a long pause between trials, as these then saw the link at different times; '' if there is none."""
    spans = []
    for e in rung.experiments:
        for t in e.trials:
            if (at := moment(t.started)) is not None:
                spans.append((at, t.seconds))
    spans.sort()
    gaps = [b[0] - a[0] - a[1] for a, b in itertools.pairwise(spans)]
    if not gaps or max(gaps) < LONG_PAUSE:
        return ""
    return say.pause(max(gaps))


def moment(text: str) -> float | None:
    """A document's date and time as seconds since the epoch; None if the text is no time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
