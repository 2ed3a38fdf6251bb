"""Proposes what to measure next to find out what limits a rate, and writes it as a plan file does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from linkladder import units
from linkladder.judge.ceilings import ceiling, whole_datagram
from linkladder.judge.evidence import by_streams, paced_trials, parameters, probed
from linkladder.model import (
    Company,
    Contract,
    Direction,
    Experiment,
    Protocol,
    RungName,
    RungResult,
    Setting,
    SettingKind,
)
from linkladder.phrases import limiters as say
from linkladder.phrases.followups import Question
from linkladder.verdicts import ExperimentJudgement, Limiter, LimiterKind

MOST_STREAMS = 64
PER_STREAM = 1e9  # bit/s of paced UDP; one sending thread can hardly keep a higher rate

LABEL = "follow-up"
LARGE_WINDOW = 8 << 20

# Of an experiment: what `like` leaves out, and what a plan file says whatever it is, as it has no fixed default there.
LEFT_OUT = {"id", "at_most", "contends", "strongest", "baseline", "discard_first", "step", "begins", "company", "paths"}
ALWAYS = ("tool", "protocol", "direction", "dscp")

Asked = tuple[Question, Experiment]  # the question, and the experiment that would answer it


def to_tell(limiter: Limiter, rung: RungResult, j: ExperimentJudgement, deal: Contract) -> Iterable[Asked]:
    """The experiments that would tell what limits, or which of two candidates does."""
    kinds = {limiter.kind, *limiter.candidates}
    p = parameters(rung, j.experiment)
    if {LimiterKind.LOSS, LimiterKind.POLICER} <= kinds:
        if rung.name is not RungName.LOCALHOST:
            yield from _paced(rung, j, p, deal)
        elif p.streams * 2 <= MOST_STREAMS:  # no policer can be between the ends
            yield say.ONE_CORE, tcp_load(p, streams=p.streams * 2)
    elif limiter.kind is LimiterKind.LARGE_SENDS:
        others = tuple(one for one in p.settings if one.kind is not SettingKind.TSO)
        yield say.LARGE_SENDS, tcp_load(p, settings=(*others, Setting(SettingKind.TSO, "off")))
    elif LimiterKind.PATH_MTU in kinds and len(kinds) > 1:
        if probed(rung, Direction(j.direction)) is None:
            yield say.HOLE_OR_SENDS, probe(Direction(j.direction), deal)
    elif limiter.kind is LimiterKind.UNKNOWN:
        if p.streams * 4 <= MOST_STREAMS:
            yield say.ONE_FLOW, tcp_load(p, streams=p.streams * 4)
        yield say.ONE_FLOW, tcp_load(p, window=None if p.window else LARGE_WINDOW)
    elif limiter.kind is LimiterKind.WINDOW and p.streams * 4 <= MOST_STREAMS:
        yield say.WINDOW, tcp_load(p, streams=p.streams * 4)
    elif kinds & {LimiterKind.SENDER, LimiterKind.RECEIVER} and p.streams * 2 <= MOST_STREAMS:
        yield say.more_cores("" if len(kinds) > 1 else limiter.kind), tcp_load(p, streams=p.streams * 2)
    elif (
        rung.name is RungName.LOCALHOST and p.streams * 2 <= MOST_STREAMS
    ):  # without a path, only CPU cores can limit it
        yield say.ONE_CORE, tcp_load(p, streams=p.streams * 2)


def held_by_loss(limiter: Limiter | None) -> bool:
    """Whether random loss is known to be what limits it, and no policer."""
    return limiter is not None and limiter.kind is LimiterKind.LOSS and LimiterKind.POLICER not in limiter.candidates


def _paced(rung: RungResult, j: ExperimentJudgement, p: Experiment, deal: Contract) -> Iterable[Asked]:
    """Paced UDP below and above TCP's rate, up to the contract's; if done, more streams, as random loss slows each."""
    way = Direction(j.direction)
    reached = j.spread.median if j.spread else 0.0
    most = min(ceiling(deal, Protocol.UDP).bps, MOST_STREAMS * PER_STREAM * 0.99)
    rates = sorted({min(most, reached * share) for share in (0.5, 0.9, 1.5)} | {min(most, max(2 * reached, most / 2))})
    seen = paced_trials(rung, way)
    if not seen or max(s.offered_bps for s in seen) < 1.2 * min(reached, most / 1.2):
        for bps in rates if reached > 0 else ():
            yield say.LOSS_BY_RATES, Experiment(
                "", protocol=Protocol.UDP, direction=way, streams=1 + int(bps / PER_STREAM),
                write_size=whole_datagram(deal), duration=5.0, warmup=1.0, udp_rate_bps=float(round(bps)),
                dscp=p.dscp, label=LABEL, cores=p.cores, on_cores=p.on_cores,
                affinity=p.affinity,
            )  # fmt: skip
    elif not by_streams(rung, p, way) and p.streams * 4 <= MOST_STREAMS:
        yield say.LOSS_BY_STREAMS, tcp_load(p, streams=p.streams * 4)


def like(p: Experiment, **changes: Any) -> Experiment:
    """The load of `p` on its own: in no comparison and on all paths, apart from the changes."""
    alone: dict[str, Any] = {
        "id": "",
        "baseline": "",
        "begins": False,
        "step": 0,
        "discard_first": False,
        "at_most": 0,
        "repeats": 1,
    }
    alone |= {"kernel": "", "contends": False, "strongest": False, "company": Company.ALL, "paths": (), "label": LABEL}
    return replace(p, **alone | changes)


def tcp_load(p: Experiment, **changes: Any) -> Experiment:
    """The TCP load of `p` with pings beside it, apart from the changes."""
    return like(p, **{"ping_under_load": True} | changes)


def probe(way: Direction, deal: Contract) -> Experiment:
    """A search for the largest packet that passes that way."""
    return Experiment("", "ping", Protocol.DF, way, dscp=deal.dscp, label=LABEL)


def as_toml(rung: str, e: Experiment) -> str:
    """The experiment as a table of a plan file."""
    timed = ("duration", "warmup") if e.protocol not in (Protocol.DF, Protocol.ECHO) else ()
    given = {
        f.name.removesuffix("_bps"): getattr(e, f.name)
        for f in fields(Experiment)
        if f.name in (*ALWAYS, *timed) or (f.name not in LEFT_OUT and getattr(e, f.name) != f.default)
    }
    if e.on_cores:
        given["cores"] = units.core_list(given.pop("on_cores"))
    lines = ["[[experiment]]", *(f"{key} = {_value(value)}" for key, value in {"rungs": rung, **given}.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Setting):
        ends = value.ends[0] if len(value.ends) == 1 else "both"
        when = {"from": value.since, "until": value.until} if value.of_member else {}
        made = {"kind": value.kind.value, "value": value.value, "ends": ends, **when}
        return "{" + ", ".join(f"{key} = {_value(one)}" for key, one in made.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)
