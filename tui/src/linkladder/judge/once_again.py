"""Checks a setting that was measured again under another name, as a follow-up does, so that poor repeats count.

Needs two settings that differ only in name, duration and pings beside the load. The verdict rests on the better one,
but poor repeats of the other are a concern.
"""

from __future__ import annotations

from linkladder.judge.evidence import direction_bps, parameters
from linkladder.model import Direction, RungResult
from linkladder.model.same_setting import same_load
from linkladder.phrases import circumstances as say
from linkladder.verdicts import Cause, Concern, ExperimentJudgement, Verdict

ON_IT = 0.999  # share of the required rate that counts as reached


def once_again(rung: RungResult, chosen: dict[str, ExperimentJudgement]) -> list[Concern]:
    """Concerns about repeats below the required rate of a setting equal to a chosen one that reaches it."""
    found = []
    for way, j in chosen.items():
        needed = j.judgement.figures.get("needed_bps")
        if needed is None or j.judgement.verdict is not Verdict.PASS:
            continue
        first = parameters(rung, j.experiment)
        for e in rung.experiments:
            if e.parameters.id == first.id or not same_load(e.parameters, first):
                continue
            rates = [direction_bps(t, e.parameters, Direction(way)) for t in e.trials if t.ok]
            if rates and min(rates) < ON_IT * needed:
                said = say.once_again(e.parameters, way, min(rates), needed, rung.paths)
                found.append(Concern(Cause.SCATTERED, said, Verdict.CANNOT_JUDGE))
    return found
