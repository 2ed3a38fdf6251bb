"""Proposes what to measure next to find out what limits a rate, and writes it as a plan file does."""

from __future__ import annotations

import json
from collections.abc import Iterable

from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import by_streams, paced_trials, parameters, probed
from linkladder.model import Contract, Direction, Experiment, Protocol, RungName, RungResult
from linkladder.phrases import limiters as say
from linkladder.phrases.followups import Question
from linkladder.verdicts import ExperimentJudgement, Limiter, LimiterKind

MOST_STREAMS = 64
PER_STREAM = 1e9  # bit/s of paced UDP; one sending thread can hardly keep a higher rate

Value = str | int | float | bool
Keys = dict[str, Value]  # the keys of an experiment, as in a plan file
Asked = tuple[Question, Keys]  # the question, and the experiment that would answer it


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
        yield say.LARGE_SENDS, tcp_load(p, settings=inline(kind="tso", value="off", ends="both"))
    elif LimiterKind.PATH_MTU in kinds and len(kinds) > 1:
        if probed(rung, Direction(j.direction)) is None:
            way: Keys = {"tool": "ping", "protocol": "df", "direction": j.direction}
            yield say.HOLE_OR_SENDS, way
    elif limiter.kind is LimiterKind.UNKNOWN:
        if p.streams * 4 <= MOST_STREAMS:
            yield say.ONE_FLOW, tcp_load(p, streams=p.streams * 4)
        yield say.ONE_FLOW, tcp_load(p, window="default" if p.window else "8M")
    elif limiter.kind is LimiterKind.WINDOW and p.streams * 4 <= MOST_STREAMS:
        yield say.WINDOW, tcp_load(p, streams=p.streams * 4)
    elif kinds & {LimiterKind.SENDER, LimiterKind.RECEIVER} and p.streams * 2 <= MOST_STREAMS:
        yield say.more_cores("" if len(kinds) > 1 else limiter.kind), tcp_load(p, streams=p.streams * 2)
    elif (
        rung.name is RungName.LOCALHOST and p.streams * 2 <= MOST_STREAMS
    ):  # without a path, only CPU cores can limit it
        yield say.ONE_CORE, tcp_load(p, streams=p.streams * 2)


def _paced(rung: RungResult, j: ExperimentJudgement, p: Experiment, deal: Contract) -> Iterable[Asked]:
    """Paced UDP below and above TCP's rate, up to the contract's; if done, more streams, as random loss slows each."""
    way = Direction(j.direction)
    reached = j.spread.median if j.spread else 0.0
    most = min(ceiling(deal, Protocol.UDP).bps, MOST_STREAMS * PER_STREAM * 0.99)
    rates = sorted({min(most, reached * share) for share in (0.5, 0.9, 1.5)} | {min(most, max(2 * reached, most / 2))})
    seen = paced_trials(rung, way)
    if not seen or max(s.offered_bps for s in seen) < 1.2 * min(reached, most / 1.2):
        for bps in rates if reached > 0 else ():
            yield say.LOSS_BY_RATES, {
                "protocol": "udp", "direction": j.direction, "udp_rate": round(bps), "duration": 5.0,
                "warmup": 1.0, "streams": 1 + int(bps / PER_STREAM),
            }  # fmt: skip
    elif not by_streams(rung, p, way) and p.streams * 4 <= MOST_STREAMS:
        yield say.LOSS_BY_STREAMS, tcp_load(p, streams=p.streams * 4)


def tcp_load(p: Experiment, **changes: Value) -> Keys:
    """The keys of a TCP experiment with the load of `p`, apart from the changes."""
    values: Keys = {"protocol": "tcp", "direction": p.direction.value, "streams": p.streams}
    if p.strongest:  # otherwise the tool might differ too
        values |= {"tool": p.tool, "zero_copy": p.zero_copy} if p.zero_copy else {"tool": p.tool}
        values |= {"write_size": p.write_size} if p.write_size else {}
    values |= {"window": p.window or "default", "duration": p.duration, "warmup": p.warmup, "ping_under_load": True}
    return values | changes


def inline(**values: str) -> str:
    """A list of one table, as written in a plan file."""
    return "[{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items()) + "}]"


def as_toml(values: Keys) -> str:
    """The experiment as a table of a plan file."""
    lines = ["[[experiment]]"]
    for key, value in values.items():
        if isinstance(value, bool):
            lines.append(f"{key} = {'true' if value else 'false'}")
        elif isinstance(value, str):
            if value:
                lines.append(f"{key} = {value if key == 'settings' else json.dumps(value)}")
        else:
            lines.append(f"{key} = {value:g}" if isinstance(value, float) and value < 1e6 else f"{key} = {value}")
    return "\n".join(lines) + "\n"
