"""Reads answers again: round trips, path-MTU probes and transactions must be those that the tools printed.

Needs the whole output of the clients. Round trips that are longer, or more often lost, than was printed are not
objected to, since they only speak against the link.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from linkladder import tools
from linkladder.judge.recount import printed, whole
from linkladder.model import (
    LEFT_OUT,
    LONG,
    Document,
    Experiment,
    Leg,
    Outcome,
    PathMtu,
    Protocol,
    Role,
    Rtt,
    RungResult,
    Transactions,
    TrialResult,
)
from linkladder.phrases import accounts as say

AGREE = 0.02  # share by which a figure that is read again may differ
HAIR = 0.02  # milliseconds of rounding


def recount_answers(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> str:
    """How the output contradicts a trial's answers; '' if it agrees with them or is not there."""
    return next((said for leg in t.legs if leg.outcome.ok for said in _leg(leg, t, p, rung, document)), "")


def _leg(leg: Leg, t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> Iterator[str]:
    if leg.role is Role.PING or (leg.role is Role.LOAD and p.protocol is Protocol.ECHO):
        seen = [c for c in leg.commands if c.role in ("ping", "client")]
        if any(LEFT_OUT in c.output for c in seen):
            if leg.role is Role.LOAD or p.duration <= LONG:
                yield say.no_measurement(say.short_and_left_out())
        elif leg.outcome.rtt is not None and len(seen) == 1 and whole(seen[0]):
            yield from _round_trips(leg.outcome.rtt, tools.pinged(seen[0].output, seen[0].errors))
    elif leg.role is Role.LOAD and p.protocol in (Protocol.DF, Protocol.RR):
        again = printed(leg, p, t, rung, document)
        if again is not None:
            yield from _others(leg.outcome, again)


def _round_trips(claimed: Rtt, seen: Rtt) -> Iterator[str]:
    """Contradictions in round trips. Only some pings beside a load count, so the claimed median must not be below that
    of as many of the quickest ones.
    """
    if claimed.received > seen.received:
        yield say.answers_printed(claimed.received, seen.received)
    elif claimed.p50_ms is not None and seen.samples_ms and claimed.received:
        least = statistics.median(sorted(seen.samples_ms)[: claimed.received])
        if claimed.p50_ms < least * (1 - AGREE) - HAIR:
            yield say.round_trip_printed(claimed.p50_ms, least)


def _others(claimed: Outcome, again: Outcome) -> Iterator[str]:
    if claimed.path_mtu is not None and again.path_mtu is not None and _more(claimed.path_mtu, again.path_mtu):
        yield say.path_mtu_printed(claimed.path_mtu.mtu, again.path_mtu.mtu)
    if claimed.transactions is None:
        return
    if again.transactions is None:
        yield say.no_measurement(again.reason)
    elif other := _other_figure(claimed.transactions, again.transactions):
        yield say.transactions_printed(*other)


def _more(claimed: PathMtu, again: PathMtu) -> bool:
    """Whether the claim is better than the output: a larger MTU passes, or a black hole is left out."""
    hidden = again.black_hole and not claimed.black_hole
    return hidden or (claimed.mtu or 0) > (again.mtu or 0) or bool(set(claimed.passed) - set(again.passed))


def _other_figure(claimed: Transactions, again: Transactions) -> tuple[float, float] | None:
    """A claimed rate or latency that differs from the printed one, and the printed one; None if all agree."""
    for name in ("rate", "mean_us", "p50_us", "p90_us", "p99_us", "min_us", "max_us"):
        one, other = getattr(claimed, name), getattr(again, name)
        if one is not None and other is not None and abs(one - other) > AGREE * max(one, other):
            return one, other
    return None
