"""Checks whether a document can be judged at all, as a stranger may have typed it; `accounts` finds mere doubts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from linkladder.model import Contract, Document, TrialResult
from linkladder.phrases import flaws as say

LONGEST = 1e9  # seconds of a trial: thirty years
FASTEST = 1e15  # bits a second


def flaws(document: Document) -> tuple[str, ...]:
    """Sentences on everything in the document that no run of linkladder writes."""
    found = list(_contract(document.run.plan.contract))
    found += _twice(say.end_twice, (end.name for end in document.run.ends))
    found += _twice(say.rung_twice, (r.name for r in document.rungs))
    found += _twice(say.planned_rung_twice, (r.name for r in document.run.plan.rungs))
    for rung in document.rungs:
        found += _twice(partial(say.experiment_twice, rung.name), (e.parameters.id for e in rung.experiments))
        for e in rung.experiments:
            p = e.parameters
            found += _twice(partial(say.repeat_twice, rung.name, p.id), (t.repeat for t in e.trials))
            if p.streams < 1 or p.repeats < 0 or not p.duration > 0 or p.warmup < 0:
                found.append(say.experiment(rung.name, p.id))
            found += [say.of_trial(rung.name, p.id, t.repeat, said) for t in e.trials if (said := _trial(t))]
    return tuple(found)


def _contract(deal: Contract) -> Iterable[str]:
    rates = [rate for rate in (deal.port_bps, deal.rate_bps, deal.shared_bps) if rate is not None]
    if not all(1e3 <= rate <= 1e13 for rate in rates):
        yield say.RATES
    if not 68 <= deal.mtu <= 65535 or not 0 <= deal.vlan_tags <= 4 or not 0 <= deal.encap_bytes <= 1000:
        yield say.PACKETS
    if deal.ip_version not in (4, 6):
        yield say.IP_VERSION
    if not 0 <= deal.loss_percent <= 100 or not 0 <= deal.availability_percent <= 100 or not 0 <= deal.dscp <= 63:
        yield say.LIMITS
    limits = (deal.delay_ms, deal.jitter_ms, deal.expected_rtt_ms)
    if any(limit is not None and limit < 0 for limit in limits):
        yield say.TIMES
    if not 0 < deal.pass_ratio <= 1:
        yield say.PASS_RATIO


def _twice(word: Callable[[object, int], str], names: Iterable[object]) -> list[str]:
    return [word(name, count) for name, count in Counter(names).items() if count > 1]


def _trial(t: TrialResult) -> str:
    if abs(t.seconds) > LONGEST:
        return say.LONG
    rates = [t.goodput_bps, *t.by_direction.values()]
    if any(not math.isfinite(v) or not 0 <= v < FASTEST for v in rates):
        return say.GOODPUT
    if t.ok and t.fault is not None:
        return say.GOOD_AND_FAULTY
    if any(i.bytes < 0 or not i.end >= i.start for i in t.intervals) or any(f.bytes < 0 for f in t.flows):
        return say.PARTS
    spans = (i for leg in t.legs for i in leg.outcome.intervals)
    if any(i.start < -LONGEST or i.end > LONGEST for i in spans):
        return say.LONG
    if t.lost is not None and (t.lost < 0 or (t.datagrams is not None and t.lost > t.datagrams)):
        return say.LOST
    return ""
