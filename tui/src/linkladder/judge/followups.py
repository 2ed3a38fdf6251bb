"""Proposes what to measure next if the evidence fits two answers or is too little: experiments as in a plan file.

The run command adds them to the run, and the same judge then decides with more evidence.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkladder.judge.circumstances import GENERATOR
from linkladder.judge.evidence import parameters, probed
from linkladder.judge.few_streams import few, known_by_several, with_several
from linkladder.judge.permitted_loss import with_more
from linkladder.judge.to_tell import Asked, as_toml, like, probe, tcp_load, to_tell
from linkladder.model import Contract, Direction, Experiment, Protocol, RungName, RungResult
from linkladder.model.same_setting import same_load
from linkladder.phrases import followups as ask
from linkladder.verdicts import Cause, ExperimentJudgement, FollowUp, Judgement, Verdict

REPEATS = 5


def follow_ups(
    rung: RungResult,
    verdict: Judgement,
    judged: tuple[ExperimentJudgement, ...],
    chosen: dict[str, ExperimentJudgement],
    deal: Contract,
    granted: int | None = None,
) -> tuple[FollowUp, ...]:
    """The experiments to add; none for a firm PASS, or if everything that would help was measured already.

    `granted`: the largest socket buffer that every end grants, where the ends tell; a larger window is not asked for.
    """
    asked: list[Asked] = []
    for j in judged:
        if j.judgement.verdict is Verdict.IMPOSSIBLE and j.protocol == Protocol.TCP:
            asked += _incompressible(rung, j)
    if verdict.verdict is not Verdict.PASS:
        for j in chosen.values():
            if j.limiter is not None and (j.judgement.verdict is not Verdict.PASS or rung.name in GENERATOR):
                asked += to_tell(j.limiter, rung, j, deal)
            asked += with_more(j, parameters(rung, j.experiment))
    if rung.name is RungName.DC_LINK and not asked:
        asked += _repeats(rung, verdict, chosen)
    open_yet = [j for j in judged if few(j) and not known_by_several(rung)]
    asked += [with_several(parameters(rung, j.experiment)) for j in open_yet]
    if rung.name is RungName.DC_LINK:
        asked += _other_way(rung, chosen)
        asked += _unprobed(rung, deal) if asked else ()
    new = [(question, e) for question, e in asked if not _done(rung, e) and not _refused(e, granted)]
    return tuple(_merged(rung.name, new))


def _incompressible(rung: RungResult, j: ExperimentJudgement) -> Iterable[Asked]:
    p = parameters(rung, j.experiment)
    done = any(e.parameters.incompressible and e.parameters.direction == j.direction for e in rung.experiments)
    if done or j.direction != p.direction:
        return
    plain = {"window": None, "write_size": None, "client_port": None, "zero_copy": False, "ping_under_load": False}
    yield ask.COMPRESSION, like(p, tool="netperf", incompressible=True, repeats=max(2, p.repeats), **plain)


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
        yield ask.REPEATS, like(p, repeats=count, label=p.label)


def _done(rung: RungResult, asked: Experiment) -> bool:
    """Whether the rung has that load already, as often as asked for, so that measuring it again would not help."""
    return any(same_load(e.parameters, asked) and len(e.trials) >= asked.repeats for e in rung.experiments)


def _refused(asked: Experiment, granted: int | None) -> bool:
    """Whether an end would refuse so large a window, so that the trial could only fail."""
    return asked.window is not None and granted is not None and asked.window > granted


def _other_way(rung: RungResult, chosen: dict[str, ExperimentJudgement]) -> Iterable[Asked]:
    """Ask for the other direction if only one was measured, as a link is bought in both."""
    back = {Direction.FORWARD: Direction.REVERSE, Direction.REVERSE: Direction.FORWARD}
    for way, j in chosen.items() if len(chosen) == 1 else ():
        p = parameters(rung, j.experiment)
        yield ask.OTHER_WAY, tcp_load(p, direction=back[Direction(way)], repeats=max(1, p.repeats))


def _unprobed(rung: RungResult, deal: Contract) -> Iterable[Asked]:
    for way in (Direction.FORWARD, Direction.REVERSE):
        if probed(rung, way) is None:
            yield ask.HOLE, probe(way, deal)


def _merged(rung: RungName, asked: list[Asked]) -> Iterable[FollowUp]:
    by_question: dict[ask.Question, list[str]] = {}
    for question, experiment in asked:
        table = as_toml(rung, experiment)
        tables = by_question.setdefault(question, [])
        if table not in tables:
            tables.append(table)
    for question, tables in by_question.items():
        yield FollowUp(question.text, question.tells, "\n".join(tables))
