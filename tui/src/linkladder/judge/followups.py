"""Proposes what to measure next if the evidence fits two answers or is too little: experiments as in a plan file.

The run command adds them to the run, and the same judge then decides with more evidence.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkladder.judge.circumstances import GENERATOR
from linkladder.judge.evidence import parameters, probed
from linkladder.judge.to_tell import Asked, Keys, as_toml, tcp_load, to_tell
from linkladder.model import Contract, Direction, Protocol, RungName, RungResult
from linkladder.phrases import followups as ask
from linkladder.verdicts import Cause, ExperimentJudgement, FollowUp, Judgement, Verdict

REPEATS = 5
LABEL = "follow-up"


def follow_ups(
    rung: RungResult,
    verdict: Judgement,
    judged: tuple[ExperimentJudgement, ...],
    chosen: dict[str, ExperimentJudgement],
    deal: Contract,
) -> tuple[FollowUp, ...]:
    """The experiments to add; none for a firm PASS, or if everything that would help was measured already."""
    asked: list[Asked] = []
    for j in judged:
        if j.judgement.verdict is Verdict.IMPOSSIBLE and j.protocol == Protocol.TCP:
            asked += _incompressible(rung, j)
    if verdict.verdict is not Verdict.PASS:
        for j in chosen.values():
            if j.limiter is not None and (j.judgement.verdict is not Verdict.PASS or rung.name in GENERATOR):
                asked += to_tell(j.limiter, rung, j, deal)
    if rung.name is RungName.DC_LINK and not asked:
        asked += _repeats(rung, verdict, chosen)
    if rung.name is RungName.DC_LINK:
        asked += _other_way(rung, chosen)
        asked += _unprobed(rung) if asked else ()
    return tuple(_merged(rung.name, [a for a in asked if not _done(rung, a[1])]))


def _incompressible(rung: RungResult, j: ExperimentJudgement) -> Iterable[Asked]:
    p = parameters(rung, j.experiment)
    done = any(e.parameters.incompressible and e.parameters.direction == j.direction for e in rung.experiments)
    if done or j.direction != p.direction:
        return
    yield ask.COMPRESSION, {
        "tool": "netperf", "protocol": "tcp", "direction": j.direction, "streams": p.streams, "duration": p.duration,
        "repeats": max(2, p.repeats), "incompressible": True,
    }  # fmt: skip


def _repeats(rung: RungResult, verdict: Judgement, chosen: dict[str, ExperimentJudgement]) -> Iterable[Asked]:
    """Ask for more repeats if a verdict rests on a single one or on too scattered ones."""
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
        values: Keys = {
            "tool": p.tool, "protocol": p.protocol.value, "direction": p.direction.value, "streams": p.streams,
            "window": p.window or "default", "duration": p.duration, "warmup": p.warmup, "repeats": count,
            "dscp": p.dscp, "ping_under_load": p.ping_under_load, "label": p.label,
        }  # fmt: skip
        if p.write_size:
            values["write_size"] = p.write_size
        yield ask.REPEATS, values


def _done(rung: RungResult, values: Keys) -> bool:
    """Whether the rung has that setting already, as often as asked for, so that measuring it again would not help."""
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


def _other_way(rung: RungResult, chosen: dict[str, ExperimentJudgement]) -> Iterable[Asked]:
    """Ask for the other direction if only one was measured, as a link is bought in both."""
    back = {"forward": "reverse", "reverse": "forward"}
    for way, j in chosen.items() if len(chosen) == 1 else ():
        p = parameters(rung, j.experiment)
        yield ask.OTHER_WAY, {**tcp_load(p), "direction": back[way], "repeats": max(1, p.repeats)}


def _unprobed(rung: RungResult) -> Iterable[Asked]:
    for way in (Direction.FORWARD, Direction.REVERSE):
        if probed(rung, way) is None:
            values: Keys = {"tool": "ping", "protocol": "df", "direction": way.value}
            yield ask.HOLE, values


def _merged(rung: RungName, asked: list[Asked]) -> Iterable[FollowUp]:
    by_question: dict[ask.Question, list[str]] = {}
    for question, values in asked:
        table = as_toml({"rungs": str(rung), **values, "label": values.get("label", LABEL)})
        tables = by_question.setdefault(question, [])
        if table not in tables:
            tables.append(table)
    for question, tables in by_question.items():
        yield FollowUp(question.text, question.tells, "\n".join(tables))
