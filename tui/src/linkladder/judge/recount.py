"""Reads the tools' output again and compares: a document's figures must be those of the output that it embeds.

Needs the whole output of a trial's clients, and of its server if only that tells what arrived. Without it (or if it was
shortened for a page) nothing is said; other rules still compare the figures with seconds, clock and cards.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate

from linkladder import tools
from linkladder.judge.ceilings import measurement_error
from linkladder.judge.contradictions import far_apart
from linkladder.judge.evidence import direction_bps, ways
from linkladder.model import (
    LEFT_OUT,
    LONG,
    SHORTENED,
    Command,
    Direction,
    Document,
    End,
    Experiment,
    Fault,
    Flow,
    Leg,
    Outcome,
    Path,
    Protocol,
    RungResult,
    TrialResult,
)
from linkladder.model.several_legs import counted_together, share
from linkladder.phrases import accounts as say

AGREE = 0.02  # share by which a part of a long trial that is read again may differ
EXACT = 0.01  # share by which a rate may differ from what its own seconds, or its output read again, make
LOST = 0.001  # share of the datagrams
JOINED = 1.5  # seconds; a longer interval stands for several seconds whose lines were not kept
EDGE = 0.05  # seconds by which a record's second may begin earlier than the output's
LESS = 0.8  # share of a second's bytes; if one of claim and output has less than that of the other, they differ


def recount(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> str:
    """How the output contradicts the trial's figures; '' if it agrees with them or is not there."""
    loads = [leg for leg in t.legs if leg.role == "load" and leg.outcome.fault is not Fault.PEER]
    if said := next(filter(None, (_addressed(leg, rung) for leg in loads)), ""):
        return said
    asked = asked_of(t, p)
    read = [printed(leg, asked, t, rung, document) for leg in loads]
    if broken := next((one for one in read if one is not None and not one.ok), None):
        return say.no_measurement(broken.reason)
    # Which seconds of a leg count depends on when all began; for that, an unreadable leg's own record is used.
    together = [(leg.began, one or leg.outcome) for leg, one in zip(loads, read, strict=True)]
    counted = counted_together(together, asked) if len(loads) > 1 else tuple(one for _, one in together)
    slack = EXACT if p.duration <= LONG else AGREE + measurement_error(t, p)
    found = (
        _compared(again, leg.outcome, of_leg(p, leg), rung.paths, slack)
        for leg, one, again in zip(loads, read, counted, strict=True)
        if one is not None and (leg.outcome.ok or len(loads) == 1)
    )
    return next(filter(None, found), "")


def refuted(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> str:
    """How the output contradicts that the path carried nothing in a trial, one way at least; '' if it does not."""
    for leg in (leg for leg in t.legs if leg.role == "load"):
        if leg.outcome.fault is Fault.PATH or any(direction_bps(leg.outcome, p, way) <= 0 for way in ways(p)):
            again = printed(leg, asked_of(t, p), t, rung, document)
            if again is not None and again.ok:
                return say.carried_after_all(again.goodput_bps, leg.outcome.reason)
    return ""


def unreadable(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> bool:
    """Whether a load's whole output is there, but no end states the version of the tool that printed it."""
    return p.protocol in (Protocol.TCP, Protocol.UDP) and any(
        {"server", "client"} <= {c.role for c in leg.commands if whole(c)} and layout_of(leg, p, rung, document) is None
        for leg in t.legs
        if leg.role == "load"
    )


def asked_of(t: TrialResult, whole_trial: Experiment) -> Experiment:
    """What one of the trial's loads was asked for, with the real warm-up, which is longer on a long path."""
    p = share(whole_trial, max(1, sum(leg.role == "load" for leg in t.legs)))
    seconds = (leg.outcome.intervals for leg in t.legs if leg.role == "load")
    first = min((next((i.start for i in one if i.counted), p.warmup) for one in seconds), default=p.warmup)
    return p if abs(first - p.warmup) < 1 else replace(p, warmup=float(round(first)))


def printed(leg: Leg, asked: Experiment, t: TrialResult, rung: RungResult, document: Document) -> Outcome | None:
    """The leg's outcome as its tools printed it; None if their output is missing or cannot be read here."""
    servers = [c for c in leg.commands if c.role == "server"]
    clients = [c for c in leg.commands if c.role == "client"]
    tool = tools.TOOLS.get(asked.tool)
    if tool is None or not clients or (tool.server_tells and not servers):
        return None
    if not all(whole(c) for c in (*clients, *(servers if tool.server_tells else ()))):
        return None
    if asked.duration <= LONG and any(LEFT_OUT in c.output for c in (*servers, *clients)):
        return Outcome(False, Fault.TOOL, say.short_and_left_out())
    where = layout_of(leg, asked, rung, document)
    known = versions_of(path_of(leg, rung), document)
    if where is None or known is None or name_of_side(t, leg, where.client) != clients[0].end:
        return None
    read = _read if asked.duration <= LONG else _read.__wrapped__  # not cached for the long trials of a soak
    return read(
        asked,
        where,
        (known[0].os, known[1].os),
        (servers[0].output if servers else "", ""),  # no errors, as it may complain about being stopped
        tuple((c.output, c.errors) for c in clients),
        tuple(c.exit_code or 0 for c in clients),
    )


def layout_of(leg: Leg, asked: Experiment, rung: RungResult, document: Document) -> tools.Layout | None:
    """Which side ran the client and which the server; None if the ends do not state a suitable tool."""
    known = versions_of(path_of(leg, rung), document)
    if known is None:
        return None
    try:
        return tools.layout(asked, *known)
    except tools.Unavailable:
        return None


def of_leg(p: Experiment, leg: Leg) -> Experiment:
    """The experiment as that load has it: on its path alone."""
    return replace(p, paths=(leg.path,))


def path_of(leg: Leg, rung: RungResult) -> Path:
    """The path of that leg; the first where it names none that there is."""
    return rung.paths[leg.path] if 0 <= leg.path < len(rung.paths) else rung.path


def name_of_side(t: TrialResult, leg: Leg, side: End) -> str:
    """The name of the end at that side of the leg's path, as its commands have it."""
    number = leg.near if side is End.NEAR else leg.far
    return t.ends[number].name if 0 <= number < len(t.ends) else str(side)


def _addressed(leg: Leg, rung: RungResult) -> str:
    """What is wrong if a client's command names none of the path's addresses; '' otherwise."""
    path = path_of(leg, rung)
    for c in leg.commands:
        if (
            c.role == "client"
            and path.local
            and path.remote
            and not any(a in x for x in c.argv for a in (path.local, path.remote))
        ):
            return say.other_address(c.argv)
    return ""


def _compared(said: Outcome, stored: Outcome, p: Experiment, paths: Sequence[Path], slack: float) -> str:
    for way in ways(p):
        claimed = direction_bps(stored, p, way)
        printed = said.by_direction.get(str(way), said.goodput_bps if len(ways(p)) == 1 else 0.0)
        if abs(claimed - printed) > slack * max(claimed, printed):
            return say.output_makes(claimed, printed, p, way, paths)
        if otherwise := _seconds(said, stored, p, way, slack):
            return otherwise
    if worse := _worst_second(said, stored):
        return say.second_printed(*worse)
    for at in (_from, _to):
        there = {place for f in said.flows if (place := at(f))}
        strange = sorted({place for f in stored.flows if (place := at(f))} - there)
        if there and strange:
            return say.unknown_flow(*strange[0]) if at is _from else say.unknown_target(*strange[0])
    kept, seen = stored.jitter_ms, said.jitter_ms
    if p.protocol is Protocol.UDP and kept is not None and seen is not None and far_apart(kept, seen):
        return say.jitter_printed(kept, seen)
    if p.protocol is Protocol.UDP and said.datagrams and said.lost is not None:
        printed, claimed = said.lost / said.datagrams, (stored.lost or 0) / (stored.datagrams or said.datagrams)
        if abs(printed - claimed) > LOST:
            return say.other_loss_printed(claimed, printed)
    return ""


def _seconds(said: Outcome, stored: Outcome, p: Experiment, way: Direction, slack: float) -> str:
    """What differs between a long trial's seconds and its output, which has only sums for some of them; else ''."""
    spans = [i for i in said.intervals if i.direction is way]
    if all(i.end - i.start <= JOINED for i in spans):
        return ""
    seconds = sorted((i.start + EDGE, i.bytes) for i in stored.intervals if i.direction is way)
    sums = [0, *accumulate(count for _, count in seconds)]
    for i in (i for i in spans if i.end <= p.warmup + p.duration + EDGE):  # the last one is only part of a sum
        first, last = (bisect_left(seconds, (at, 0)) for at in (i.start, i.end))
        claimed = sums[last] - sums[first]
        if abs(claimed - i.bytes) > slack * max(claimed, i.bytes):
            return say.other_seconds(i.start, i.end, claimed, i.bytes)
    return ""


def _worst_second(said: Outcome, stored: Outcome) -> tuple[float, int, int] | None:
    """A second for which far other bytes were printed than claimed: its start, the claimed and the printed bytes."""
    printed = {(i.start, i.end, i.direction): i.bytes for i in said.intervals}
    for i in stored.intervals:
        seen = printed.get((i.start, i.end, i.direction))
        if i.counted and seen is not None and min(seen, i.bytes) < LESS * max(seen, i.bytes):
            return i.start, i.bytes, seen
    return None


def _from(f: Flow) -> tuple[str, int] | None:
    """The address and port from which a flow came, if the tool printed them."""
    return (f.local, f.local_port) if f.local and f.local_port else None


def _to(f: Flow) -> tuple[str, int] | None:
    return (f.remote, f.remote_port) if f.remote and f.remote_port else None


def whole(command: Command) -> bool:
    return bool(command.output.strip()) and SHORTENED not in command.output


def versions_of(path: Path, document: Document) -> tuple[tools.ToolVersions, tools.ToolVersions] | None:
    near = document.run.facts(path.origin or End.NEAR)
    far = document.run.facts(path.peer) if path.peer else near
    if near is None or far is None or not near.tools or not far.tools:
        return None
    return tools.ToolVersions(near.tools, near.os or "Linux"), tools.ToolVersions(far.tools, far.os or "Linux")


@lru_cache(maxsize=4096)
def _read(
    asked: Experiment,
    where: tools.Layout,
    systems: tuple[str, str],  # which report a socket's buffer each in its own way
    server: tools.Texts,
    clients: tuple[tools.Texts, ...],
    codes: tuple[int, ...],
) -> Outcome:
    near, far = systems
    return tools.finish(asked, where, server, clients, tools.Expectation(os_near=near, os_far=far, exit_codes=codes))
