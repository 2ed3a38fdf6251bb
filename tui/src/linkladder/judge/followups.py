"""What to measure next where the evidence fits two answers or rests on too little: experiments, as a plan has them.

The run command puts them into the run that asks for them, and the same judge then decides with more to go by.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from linkladder.judge.ceilings import ceiling
from linkladder.judge.circumstances import GENERATOR
from linkladder.judge.evidence import by_streams, paced_trials, parameters, probed
from linkladder.model import Contract, Direction, Experiment, Protocol, RungName, RungResult
from linkladder.phrases import followups as ask
from linkladder.verdicts import Cause, ExperimentJudgement, FollowUp, Judgement, Limiter, LimiterKind, Verdict

REPEATS = 5
MOST_STREAMS = 64
PER_STREAM = 1e9  # of paced UDP: more than that one sending thread hardly keeps
LABEL = "follow-up"

_Value = str | int | float | bool
_Asked = tuple[ask.Question, dict[str, _Value]]  # with the keys of a plan's experiment


def follow_ups(
    rung: RungResult,
    verdict: Judgement,
    judged: tuple[ExperimentJudgement, ...],
    chosen: dict[str, ExperimentJudgement],
    deal: Contract,
) -> tuple[FollowUp, ...]:
    """Empty for a firm PASS, and where all that would help was measured already."""
    asked: list[_Asked] = []
    for j in judged:
        if j.judgement.verdict is Verdict.IMPOSSIBLE and j.protocol == Protocol.TCP:
            asked += _incompressible(rung, j)
    if verdict.verdict is not Verdict.PASS:
        for j in chosen.values():
            if j.limiter is not None and (j.judgement.verdict is not Verdict.PASS or rung.name in GENERATOR):
                asked += _about(j.limiter, rung, j, deal)
    if rung.name is RungName.DC_LINK and not asked:
        asked += _repeats(rung, verdict, chosen)
    if rung.name is RungName.DC_LINK:
        asked += _other_way(rung, chosen)
        asked += _unprobed(rung) if asked else ()
    return tuple(_merged(rung.name, [a for a in asked if not _done(rung, a[1])]))


def _about(limiter: Limiter, rung: RungResult, j: ExperimentJudgement, deal: Contract) -> Iterable[_Asked]:
    kinds = {limiter.kind, *limiter.candidates}
    p = parameters(rung, j.experiment)
    if {LimiterKind.LOSS, LimiterKind.POLICER} <= kinds:
        if rung.name is not RungName.LOCALHOST:
            yield from _paced(rung, j, p, deal)
        elif p.streams * 2 <= MOST_STREAMS:  # nothing lies between the ends that could police
            yield ask.ONE_CORE, _tcp(p, streams=p.streams * 2)
    elif limiter.kind is LimiterKind.LARGE_SENDS:
        yield ask.LARGE_SENDS, _tcp(p, settings=_inline(kind="tso", value="off", ends="both"))
    elif LimiterKind.PATH_MTU in kinds and len(kinds) > 1:
        if probed(rung, Direction(j.direction)) is None:
            way: dict[str, _Value] = {"tool": "ping", "protocol": "df", "direction": j.direction}
            yield ask.HOLE_OR_SENDS, way
    elif limiter.kind is LimiterKind.UNKNOWN:
        if p.streams * 4 <= MOST_STREAMS:
            yield ask.ONE_FLOW, _tcp(p, streams=p.streams * 4)
        yield ask.ONE_FLOW, _tcp(p, window="default" if p.window else "8M")
    elif limiter.kind is LimiterKind.WINDOW and p.streams * 4 <= MOST_STREAMS:
        yield ask.WINDOW, _tcp(p, streams=p.streams * 4)
    elif kinds & {LimiterKind.SENDER, LimiterKind.RECEIVER} and p.streams * 2 <= MOST_STREAMS:
        yield ask.cores("" if len(kinds) > 1 else limiter.kind), _tcp(p, streams=p.streams * 2)
    elif (
        rung.name is RungName.LOCALHOST and p.streams * 2 <= MOST_STREAMS
    ):  # no path lies between: only cores can hold it
        yield ask.ONE_CORE, _tcp(p, streams=p.streams * 2)


def _paced(rung: RungResult, j: ExperimentJudgement, p: Experiment, deal: Contract) -> Iterable[_Asked]:
    """Below TCP's rate, and above it as far as the contract goes; then more streams, which random loss cannot hold."""
    way = Direction(j.direction)
    reached = j.spread.median if j.spread else 0.0
    most = min(ceiling(deal, Protocol.UDP).bps, MOST_STREAMS * PER_STREAM * 0.99)
    rates = sorted({min(most, reached * share) for share in (0.5, 0.9, 1.5)} | {min(most, max(2 * reached, most / 2))})
    seen = paced_trials(rung, way)
    if not seen or max(s.offered_bps for s in seen) < 1.2 * min(reached, most / 1.2):
        for bps in rates if reached > 0 else ():
            yield ask.LOSS_BY_RATES, {
                "protocol": "udp", "direction": j.direction, "udp_rate": round(bps), "duration": 5.0,
                "warmup": 1.0, "streams": 1 + int(bps / PER_STREAM),
            }  # fmt: skip
    elif not by_streams(rung, p, way) and p.streams * 4 <= MOST_STREAMS:
        yield ask.LOSS_BY_STREAMS, _tcp(p, streams=p.streams * 4)


def _incompressible(rung: RungResult, j: ExperimentJudgement) -> Iterable[_Asked]:
    p = parameters(rung, j.experiment)
    done = any(e.parameters.incompressible and e.parameters.direction == j.direction for e in rung.experiments)
    if done or j.direction != p.direction:
        return
    yield ask.COMPRESSION, {
        "tool": "netperf", "protocol": "tcp", "direction": j.direction, "streams": p.streams, "duration": p.duration,
        "repeats": max(2, p.repeats), "incompressible": True,
    }  # fmt: skip


def _repeats(rung: RungResult, verdict: Judgement, chosen: dict[str, ExperimentJudgement]) -> Iterable[_Asked]:
    """A verdict from one repeat, or from repeats too scattered, rests on too little."""
    if verdict.verdict not in (Verdict.PASS, Verdict.FAIL, Verdict.CANNOT_JUDGE):
        return
    for j in chosen.values():
        p = parameters(rung, j.experiment)
        scattered = j.judgement.cause in (Cause.SCATTERED, Cause.WORST_TRIAL)
        if not (j.judgement.provisional or scattered) or j.spread is None or p.direction != j.direction:
            continue
        count = REPEATS if p.repeats < REPEATS else 2 * p.repeats
        if count > 4 * REPEATS:
            continue
        values: dict[str, _Value] = {
            "tool": p.tool, "protocol": p.protocol.value, "direction": p.direction.value, "streams": p.streams,
            "window": p.window or "default", "duration": p.duration, "warmup": p.warmup, "repeats": count,
            "dscp": p.dscp, "ping_under_load": p.ping_under_load, "label": p.label,
        }  # fmt: skip
        if p.write_size:
            values["write_size"] = p.write_size
        yield ask.REPEATS, values


def _done(rung: RungResult, values: dict[str, _Value]) -> bool:
    """Whether the rung has that setting already, as often as is asked for: then asking again would not help."""
    keys = ("protocol", "direction", "streams", "udp_rate", "incompressible")
    for e in rung.experiments:
        p = e.parameters
        mine = (p.protocol, p.direction, p.streams, round(p.udp_rate_bps or 0), p.incompressible)
        window = "default" if p.window is None else "8M" if p.window == 8 << 20 else p.window
        if bool(p.settings) != bool(values.get("settings")):
            continue
        same = all(values.get(k, v) == v for k, v in zip(keys, mine, strict=True))
        if same and values.get("window", window) == window and len(e.trials) >= int(values.get("repeats", 1)):
            return True
    return False


def _other_way(rung: RungResult, chosen: dict[str, ExperimentJudgement]) -> Iterable[_Asked]:
    """A link is bought in both directions."""
    back = {"forward": "reverse", "reverse": "forward"}
    for way, j in chosen.items() if len(chosen) == 1 else ():
        p = parameters(rung, j.experiment)
        yield ask.OTHER_WAY, {**_tcp(p), "direction": back[way], "repeats": max(1, p.repeats)}


def _unprobed(rung: RungResult) -> Iterable[_Asked]:
    for way in (Direction.FORWARD, Direction.REVERSE):
        if probed(rung, way) is None:
            values: dict[str, _Value] = {"tool": "ping", "protocol": "df", "direction": way.value}
            yield ask.HOLE, values


def _tcp(p: Experiment, **changes: _Value) -> dict[str, _Value]:
    values: dict[str, _Value] = {"protocol": "tcp", "direction": p.direction.value, "streams": p.streams}
    if p.strongest:  # else what differs would be the tool
        values |= {"tool": p.tool, "zero_copy": p.zero_copy} if p.zero_copy else {"tool": p.tool}
        values |= {"write_size": p.write_size} if p.write_size else {}
    values |= {"window": p.window or "default", "duration": p.duration, "warmup": p.warmup, "ping_under_load": True}
    return values | changes


def _merged(rung: RungName, asked: list[_Asked]) -> Iterable[FollowUp]:
    by_question: dict[ask.Question, list[str]] = {}
    for question, values in asked:
        table = _table({"rungs": str(rung), **values, "label": values.get("label", LABEL)})
        tables = by_question.setdefault(question, [])
        if table not in tables:
            tables.append(table)
    for question, tables in by_question.items():
        yield FollowUp(question.text, question.tells, "\n".join(tables))


def _inline(**values: str) -> str:
    """A list of one table, as a plan's file writes it."""
    return "[{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items()) + "}]"


def _table(values: dict[str, _Value]) -> str:
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
