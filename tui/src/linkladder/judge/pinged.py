"""Finds series of pings that are not those that were asked for, or were lost where the load beside them was not.

Needs the series' own counts, and of idle pings the single round trips; of pings beside TCP also how many segments it
sent again. Nothing is said of what is not told. A queue that a load fills loses some pings, and about as large a share
of the load's own packets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from linkladder import phrases
from linkladder.judge.besides_the_rate import share_sent_again
from linkladder.judge.evidence import ways
from linkladder.judge.outages import by_chance
from linkladder.model import End, ExperimentResult, Protocol, Role, RungResult, TrialResult
from linkladder.phrases import besides_the_rate as say
from linkladder.verdicts import Cause, Concern

PINGS_BESIDE = 0.2  # seconds from one ping beside a load to the next
WHOLE = 0.9  # share of the pings that must have been sent
QUEUED = 0.1  # share of the pings that a full queue may lose beside a load that goes on
TIMES = 4.0  # times the share of the load's own packets that were lost
DEAD = 0.1  # of the usual bytes of a second
AROUND = 0.5  # seconds by which a second of the load and those of the pings may lie apart
UNLIKELY = 0.01  # probability of so many lost pings by chance


def pinged(rung: RungResult) -> list[Concern]:
    """Concerns about the first series of each kind that is not as it was asked for, or was lost."""
    found: list[Concern] = []
    for rule in (_fewer_idle, _fewer_beside, _lost_beside):
        said = next((one for e in rung.experiments for one in rule(e, rung)), "")
        found += [Concern(Cause.PING_LOSS, said, provisional=True)] if said else []
    return found


def _fewer_idle(e: ExperimentResult, rung: RungResult) -> Iterator[str]:
    p = e.parameters
    for t in e.trials if p.protocol is Protocol.ECHO else ():
        for seen in (g.outcome.rtt for g in t.legs if g.role is Role.LOAD and g.outcome.ok):
            if seen is not None and seen.samples_ms and seen.sent != p.count:
                yield say.pings_sent(phrases.trial(p, t.repeat, paths=rung.paths), seen.sent, p.count)


def _fewer_beside(e: ExperimentResult, rung: RungResult) -> Iterator[str]:
    p = e.parameters
    asked = round(p.duration / PINGS_BESIDE)
    for t in e.trials if p.ping_under_load else ():
        for seen in (g.outcome.rtt for g in t.legs if g.role is Role.PING and g.outcome.ok):
            if seen is not None and seen.sent < WHOLE * asked:
                yield say.pings_sent(phrases.trial(p, t.repeat, paths=rung.paths), seen.sent, asked)


def _lost_beside(e: ExperimentResult, rung: RungResult) -> Iterator[str]:
    p = e.parameters
    for t in e.trials if p.protocol is Protocol.TCP else ():
        for by in End if t.ok else ():
            series = [g.outcome.rtt for g in t.legs if g.role is Role.PING and g.pinged_by is by]
            sent = sum(r.sent for r in series if r is not None)
            lost = sent - sum(r.received for r in series if r is not None) - len(series) * _while_dead(t)
            most = max(QUEUED, TIMES * _lost_of_load(t, e))
            if 0 < lost < sent and most < 1 and by_chance(lost, sent, most) < UNLIKELY:
                yield say.more_pings_lost(phrases.trial(p, t.repeat, paths=rung.paths), lost, sent, by)


def _while_dead(t: TrialResult) -> int:
    """How many pings of a series were sent in seconds in which the load hardly carried anything: an outage's."""
    seconds = [i for i in t.intervals if i.counted]
    usual = median(i.bytes for i in seconds) if seconds else 0
    return math.ceil(sum(i.end - i.start + AROUND for i in seconds if i.bytes < DEAD * usual) / PINGS_BESIDE)


def _lost_of_load(t: TrialResult, e: ExperimentResult) -> float:
    """The share of the load's segments that were sent again, of the worse direction."""
    return max((share_sent_again(t, way) or 0.0 for way in ways(e.parameters)), default=0.0)
