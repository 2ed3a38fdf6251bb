"""Whether a document can be judged at all, and whether its figures agree with each other: a stranger may have typed it.

`flaws` makes a document unusable; `doubts` leave it readable and keep it from a PASS.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable

from linkladder import phrases, units
from linkladder.judge.ceilings import counted_seconds, measurement_error
from linkladder.judge.evidence import direction_bps, ways
from linkladder.model import Contract, Document, Experiment, Protocol, RungResult, TrialResult

AGREE = 0.02  # of a result: what its own seconds and flows may differ from it, beyond the error of measuring
WHOLE = 0.9  # of the asked time that must have been counted
SHOWN = 3  # doubts of a kind that are spelled out


def flaws(document: Document) -> tuple[str, ...]:
    """What no run of linkladder writes."""
    found = list(_contract(document.run.plan.contract))
    found += _twice("rung", (r.name for r in document.rungs))
    found += _twice("planned rung", (r.name for r in document.run.plan.rungs))
    for rung in document.rungs:
        found += _twice(f"experiment of {rung.name}", (e.parameters.id for e in rung.experiments))
        for e in rung.experiments:
            p = e.parameters
            found += _twice(f"repeat of {rung.name} {p.id}", (t.repeat for t in e.trials))
            if p.streams < 1 or p.repeats < 0 or not p.duration > 0 or p.warmup < 0:
                found.append(f"{rung.name} {p.id}: streams, repeats, duration or warm-up cannot be so")
            found += [f"{rung.name} {p.id}, repeat {t.repeat + 1}: {said}" for t in e.trials if (said := _trial(t))]
    return tuple(found)


def _contract(deal: Contract) -> Iterable[str]:
    if not 1e3 <= deal.port_bps <= 1e13 or (deal.rate_bps is not None and not 1e3 <= deal.rate_bps <= 1e13):
        yield "the contract's rates are not between 1 kb/s and 10 Tb/s"
    if not 68 <= deal.mtu <= 65535 or not 0 <= deal.vlan_tags <= 4 or not 0 <= deal.encap_bytes <= 1000:
        yield "the contract's MTU, VLAN tags or encapsulation cannot be so"
    if deal.ip_version not in (4, 6):
        yield "the contract's IP version is neither 4 nor 6"
    if not 0 < deal.pass_ratio <= 1:
        yield "the contract's share that is needed to pass is not above 0 and at most 1"


def _twice(what: str, names: Iterable[object]) -> list[str]:
    return [f"{what} {name} is there {count} times" for name, count in Counter(names).items() if count > 1]


def _trial(t: TrialResult) -> str:
    rates = [t.goodput_bps, *t.by_direction.values()]
    if any(not math.isfinite(v) or v < 0 for v in rates):
        return "its goodput is no rate"
    if t.ok and t.fault is not None:
        return "it is said to be good and to have a fault"
    if any(i.bytes < 0 or not i.end >= i.start for i in t.intervals) or any(f.bytes < 0 for f in t.flows):
        return "its intervals or flows cannot be so"
    if t.lost is not None and (t.lost < 0 or (t.datagrams is not None and t.lost > t.datagrams)):
        return "it lost more datagrams than were sent"
    return ""


def doubts(rung: RungResult) -> list[str]:
    """Results that their own seconds or flows do not bear out."""
    found = []
    for e in rung.experiments:
        if e.parameters.protocol in (Protocol.TCP, Protocol.UDP):
            for t in e.trials:
                if t.ok and (said := _disagrees(t, e.parameters)):
                    found.append(f"{phrases.arm(e.parameters)}, repeat {t.repeat + 1}: {said}.")
    return [*found[:SHOWN], *([f"{len(found) - SHOWN} more trials are like that."] if len(found) > SHOWN else [])]


def _disagrees(t: TrialResult, p: Experiment) -> str:
    counted = [i for i in t.intervals if i.counted]
    if not t.intervals:
        return ""
    seconds = counted_seconds(t, p)
    if not counted or seconds < WHOLE * p.duration:
        return f"only {seconds if counted else 0:.1f} of {p.duration:g} s were counted"
    slack = AGREE + measurement_error(t, p)
    for way in ways(p):
        said = direction_bps(t, p, way)
        mine = [i for i in counted if i.direction is way]
        if not mine or said <= 0:
            continue
        shown = 8 * sum(i.bytes for i in mine) / seconds
        # Intervals end where the tool's clock says: a part of one at either edge may belong to the warm-up.
        edge = 4 * statistics.median(i.bytes for i in mine) / seconds
        if said > shown * (1 + slack) + edge:
            return f"{units.rate(said)} {phrases.way(way)} are claimed, but its seconds make {units.rate(shown)}"
    return ""
