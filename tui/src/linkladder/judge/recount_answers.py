"""Reads answers again: round trips, path-MTU probes and transactions must be those that the tools printed.

Whose they are is told by the addresses in commands and answers, which must be those of the leg's path. Needs the whole
output of the clients. Round trips that are longer, or more often lost, than was printed are not objected to, since they
only speak against the link.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator

from linkladder import tools
from linkladder.judge.as_sold import as_address
from linkladder.judge.pinged import PINGS_BESIDE
from linkladder.judge.recount import path_of, printed, whole
from linkladder.model import (
    LEFT_OUT,
    LONG,
    Command,
    Document,
    Experiment,
    Leg,
    Outcome,
    Path,
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
EDGE = 1.0  # seconds by which the pings beside a load may have begun earlier or later than it
TOOLS = ("client", "server", "ping")  # roles of commands that run between the path's own addresses


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
            answers = tools.pinged(seen[0].output, seen[0].errors)
            yield from _round_trips(leg.outcome.rtt, answers)
            yield from _lost(leg, p, answers, tools.ping_holes(seen[0].output, seen[0].errors))
            if how := tools.ping_contradiction(seen[0].output, seen[0].errors):
                yield say.summary_differs(how)
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


def _lost(leg: Leg, p: Experiment, again: Rtt, holes: list[int]) -> Iterator[str]:
    """Contradictions if more pings were printed to be lost than are claimed; of those beside a load, in the seconds
    that surely count.
    """
    claimed = leg.outcome.rtt
    if claimed is None:
        return
    first, last = 0.0, math.inf
    if leg.role is Role.PING:
        first, last = ((at + p.warmup) / PINGS_BESIDE for at in (EDGE, p.duration - EDGE))
    lost = sum(first <= n <= last for n in holes)
    if lost > claimed.sent - claimed.received:
        yield say.lost_printed(claimed.sent - claimed.received, claimed.sent, lost, again.sent)


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


def of_another_path(t: TrialResult, p: Experiment, rung: RungResult) -> str:
    """What shows that a command or its output belongs to another path or machine; '' if nothing does."""
    counting = (leg for leg in t.legs if leg.role in (Role.LOAD, Role.PING))
    return next((said for leg in counting for said in _whose(leg, p, path_of(leg, rung))), "")


def _whose(leg: Leg, p: Experiment, path: Path) -> Iterator[str]:
    for c in leg.commands:
        if c.role in TOOLS and (other := _commanded(c, path)):
            yield say.commanded_elsewhere(c.role, other)
    if leg.role is Role.PING or (leg.role is Role.LOAD and p.protocol in (Protocol.ECHO, Protocol.DF)):
        yield from _answered(leg, path)


def _commanded(c: Command, path: Path) -> str:
    """An address in the command that is none of its path's; '' if there is none."""
    own = {a for a in map(as_address, (path.local, path.remote)) if a}
    named = [a for word in c.argv if (a := as_address(word.partition(",")[0]))]
    return next((str(a) for a in named if a not in own), "") if len(own) == 2 else ""


def _answered(leg: Leg, path: Path) -> Iterator[str]:
    """Contradictions if fewer lines of a ping name an address of the path than pings are said to be answered."""
    own = [str(a) for a in map(as_address, (path.local, path.remote)) if a]
    printed = [c.output for c in leg.commands if c.role in ("ping", "client") and whole(c) and LEFT_OUT not in c.output]
    seen = leg.outcome.rtt
    if seen is None or len(own) < 2 or len(printed) != 1:
        return
    name = re.compile(r"(?<![\w.:])(?:" + "|".join(map(re.escape, own)) + r")(?![\w.]*\w)(?!:[0-9a-f])", re.I)
    lines = sum(name.search(line) is not None for line in printed[0].splitlines())
    if lines < seen.received:
        yield say.others_answered(seen.received, lines)
