"""Whether a document can be judged at all: a stranger may have typed it.  Mere doubts are `accounts`' part."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from linkladder.model import Contract, Document, TrialResult


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
    if not 0 <= deal.loss_percent <= 100 or not 0 <= deal.availability_percent <= 100 or not 0 <= deal.dscp <= 63:
        yield "the contract's limits of loss and availability are no shares, or its DSCP is none"
    limits = (deal.delay_ms, deal.jitter_ms, deal.expected_rtt_ms)
    if any(limit is not None and limit < 0 for limit in limits):
        yield "the contract's delay, jitter or expected round trip is less than nothing"
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
