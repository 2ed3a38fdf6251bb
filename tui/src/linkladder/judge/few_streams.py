"""Keeps TCP's own troubles with traffic both ways at once from being laid to the path.

Too few streams leave a good link empty now and then, as their acknowledgements wait behind the other way's data: what
they do not carry is no evidence, until several streams have shown as much.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.to_tell import Asked, tcp_load
from linkladder.model import Direction, Experiment, Protocol, RungResult
from linkladder.model.asked import BOTH_WAYS
from linkladder.phrases import few_streams as say
from linkladder.verdicts import Cause, Judgement, Verdict

DOUBTED = frozenset({Cause.SHORT, Cause.LEVEL_FELL, Cause.SCATTERED, Cause.WORST_TRIAL})


def excused(judged: Judgement, p: Experiment) -> Judgement:
    """The judgement on a setting, or CANNOT JUDGE if its streams were too few both ways at once to show a shortfall."""
    if not _few(p) or judged.verdict is Verdict.PASS or judged.cause not in DOUBTED:
        return judged
    said = f"{judged.sentence} {say.few(p.streams)}"
    return replace(
        judged,
        verdict=Verdict.CANNOT_JUDGE,
        cause=Cause.FEW_STREAMS,
        sentence=said,
        reasons=(said,),
        remedies=(say.several(BOTH_WAYS),),
    )


def known_by_several(rung: RungResult) -> bool:
    """Whether the rung has a trial both ways at once of as many streams as tell what it carries."""
    return any(
        e.parameters.direction is Direction.DUPLEX
        and e.parameters.protocol is Protocol.TCP
        and not _few(e.parameters)
        and any(t.ok for t in e.trials)
        for e in rung.experiments
    )


def with_several(p: Experiment) -> Asked:
    """What to measure next if too few streams left it open."""
    return say.SEVERAL, tcp_load(p, streams=BOTH_WAYS, repeats=max(2, p.repeats))


def _few(p: Experiment) -> bool:
    return p.direction is Direction.DUPLEX and p.streams < BOTH_WAYS
