"""One setting: its repeats, how sure they are, and what they are of the ceiling."""

from __future__ import annotations

import statistics
from dataclasses import replace

from linkladder.judge import remedies
from linkladder.judge.ceilings import ceiling, duplex_share, measurement_error
from linkladder.judge.compression import compression
from linkladder.judge.evidence import CALM, WARM, counted, direction_bps, ways
from linkladder.judge.interim_looks import confidence
from linkladder.judge.limiters import held_by_window, host_bound, limiter
from linkladder.judge.outages import plateau
from linkladder.judge.stats import half_width_of_neighbours, spread
from linkladder.judge.udp import judge_udp, saturated
from linkladder.judge.withheld import explained, lacked
from linkladder.model import (
    Contract,
    Direction,
    Experiment,
    ExperimentResult,
    Fault,
    Protocol,
    RungResult,
    TrialResult,
)
from linkladder.phrases import one_setting as say
from linkladder.phrases.outages import carriers_lost
from linkladder.phrases.remedies import MORE_REPEATS
from linkladder.verdicts import (
    Cause,
    ExperimentJudgement,
    Judgement,
    Limiter,
    Spread,
    TrialJudgement,
    Verdict,
)

SLIGHT = 0.002  # of the rate: what a single repeat may miss the bar by and still be on it
SCATTERED = 0.05  # coefficient of variation above which a result is called scattered


def judge_trial(
    trial: TrialResult, experiment: Experiment, contract: Contract, rung: RungResult | None = None, bounded: bool = True
) -> TrialJudgement:
    """One trial beside the ceiling; `bounded` is False on the rungs that the contract does not bound."""
    best = ceiling(contract, experiment.protocol, experiment.write_size).bps
    error = measurement_error(trial, experiment)
    percent = {str(d): 100 * direction_bps(trial, experiment, d) / best for d in ways(experiment)}
    found = None
    if experiment.protocol is Protocol.TCP and trial.fault is not Fault.TOOL:
        worst = min(ways(experiment), key=lambda d: direction_bps(trial, experiment, d))
        found = limiter(trial, experiment, contract, rung, worst, bounded)
    return TrialJudgement(
        trial=trial.id,
        ok=trial.ok,
        percent_of_ceiling=percent if bounded else {},
        error_percent=100 * error,
        impossible=bounded and trial.ok and any(p > 100 * (1 + error) for p in percent.values()),
        limiter=found,
    )


def judge_experiment(
    result: ExperimentResult,
    contract: Contract,
    direction: Direction,
    rung: RungResult | None = None,
    bounded: bool = True,
) -> ExperimentJudgement:
    """One setting in one direction against the contract."""
    p = result.parameters
    best = ceiling(contract, p.protocol, p.write_size).bps
    usable = [t for t in result.trials if t.ok or t.fault is Fault.PATH]
    values = [_carried_bps(t, p, direction, bounded) for t in usable]
    seen = spread_of(usable, values, direction, confidence(p))
    silent = [t for t, v in zip(usable, values, strict=True) if v <= 0 or not t.ok]
    limits = decides = None
    if p.protocol is Protocol.TCP and usable and seen is not None:
        typical = min(usable, key=lambda t: abs(direction_bps(t, p, direction) - seen.median))
        limits = decides = limiter(typical, p, contract, rung, direction, bounded)
        if silent and typical not in silent:
            decides = limiter(silent[0], p, contract, rung, direction, bounded)
    judged = _judge(result, usable, values, seen, decides, contract, direction, best, bounded)
    if judged.verdict is Verdict.IMPOSSIBLE:
        judged = replace(judged, remedies=(*judged.remedies, compression(rung, direction, best)))
    return ExperimentJudgement(
        experiment=p.id,
        direction=str(direction),
        protocol=str(p.protocol),
        judgement=judged,
        spread=seen,
        percent_of_ceiling=100 * seen.median / best if seen and bounded else None,
        ceiling_bps=best if bounded else None,
        limiter=limits,
        trials=tuple(judge_trial(t, p, contract, rung, bounded) for t in result.trials),
    )


def _carried_bps(trial: TrialResult, p: Experiment, direction: Direction, bounded: bool) -> float:
    """Goodput of a trial in which something arrived; figures without a byte behind them are none."""
    flows = [f for f in trial.flows if f.direction is direction]
    if not trial.ok or (flows and not any(f.bytes or f.total_bytes for f in flows)):
        return 0.0
    carried = max(0.0, direction_bps(trial, p, direction))
    lasting = plateau(counted(trial.intervals, direction)) if bounded and p.protocol is Protocol.TCP else None
    return carried if lasting is None else min(carried, lasting)


def _fell(trials: list[TrialResult], p: Experiment, direction: Direction) -> str:
    """Of a rate that did not last, both levels in words."""
    for t in trials:
        lasting = plateau(counted(t.intervals, direction)) if p.protocol is Protocol.TCP else None
        if t.ok and lasting is not None and lasting < direction_bps(t, p, direction):
            first = max(counted(t.intervals, direction))
            return say.did_not_last(first, lasting, t.repeat)
    return ""


def spread_of(
    trials: list[TrialResult], values: list[float], direction: Direction, sure: float = 0.95
) -> Spread | None:
    """Over the repeats; one repeat lends the spread of its own counted seconds, around its own result."""
    if not values:
        return None
    if len(values) > 1:
        return spread(values, confidence=sure)
    seconds = counted(trials[0].intervals, direction)
    half = half_width_of_neighbours(seconds) if len(seconds) > 2 else None
    one = spread(values)
    if half is None:
        return one
    of_seconds = spread(seconds, "intervals")
    return Spread(
        count=1,
        median=values[0],
        minimum=values[0],
        maximum=values[0],
        mean=values[0],
        low=max(0.0, values[0] - half),
        high=values[0] + half,
        cv=of_seconds.cv,
        basis="intervals",
    )


def reached(seen: Spread, needed: float) -> Cause:
    """REACHED if the interval and the worst repeat reach the required rate, else which of them does not."""
    if seen.low < needed:
        return Cause.SCATTERED
    return Cause.REACHED if seen.minimum >= needed * (1 - 0.5 * SLIGHT) else Cause.WORST_TRIAL


def _judge(
    result: ExperimentResult,
    usable: list[TrialResult],
    values: list[float],
    seen: Spread | None,
    limits: Limiter | None,
    contract: Contract,
    direction: Direction,
    best: float,
    bounded: bool,
) -> Judgement:
    p = result.parameters
    broken = [t for t in result.trials if not t.ok and t.fault is not Fault.PATH]
    provisional = len(values) < 2
    findings = []
    if broken and usable:
        findings.append(say.left_out(len(broken), len(result.trials), broken[0].reason))
    fell = _fell(usable, p, direction) if bounded else ""
    if fell:
        findings.append(fell)
    if seen is None:
        why = broken[0].reason or say.TOOL_FAILED if broken else say.NOT_RUN
        said = say.not_measured(why)
        return Judgement(Verdict.INCOMPLETE, True, said, findings=tuple(findings), cause=Cause.NOTHING_MEASURED)
    figures = {"median_bps": seen.median, "low_bps": seen.low, "high_bps": seen.high}
    if seen.cv is not None:
        figures["cv_percent"] = 100 * seen.cv
        if seen.cv > SCATTERED:
            findings.append(say.scattered(seen))
    silent = [t for t, v in zip(usable, values, strict=True) if v <= 0 or not t.ok]
    if silent:
        why = limits.sentence if limits and limits.known else silent[0].reason or say.NOTHING_ARRIVED
        unplugged = all(t.carriers_lost for t in silent)  # an end's own card, its cable, or the port it is in
        why = carriers_lost(silent[0].carriers_lost) if unplugged else why
        said = say.stalled(len(silent), len(usable), why)
        verdict, cause = (Verdict.CANNOT_JUDGE, Cause.OWN_CARD) if unplugged else (Verdict.FAIL, Cause.SILENCE)
        return Judgement(verdict, False, said, (said,), findings=tuple(findings), figures=figures, cause=cause)
    if not bounded:
        return Judgement(Verdict.PASS, provisional, say.carried(seen), findings=tuple(findings), figures=figures)
    figures |= {"ceiling_bps": best, "percent_of_ceiling": 100 * seen.median / best}
    error = measurement_error(usable[values.index(seen.maximum)], p)
    figures["error_percent"] = 100 * error
    if seen.maximum > best * (1 + error):
        said = say.above_ceiling(seen, best, error)
        ways_out = remedies.possible_assumptions(seen.maximum, contract, p.protocol, p.write_size)
        return Judgement(
            Verdict.IMPOSSIBLE, provisional, said, (said,), ways_out, tuple(findings), figures, Cause.ABOVE_CEILING
        )
    if p.protocol is Protocol.UDP:
        return judge_udp(result, usable, seen, contract, direction, best, provisional, tuple(findings), figures)
    if p.direction in (Direction.DUPLEX, Direction.BOTH):
        best *= duplex_share(contract)
    judged = _judge_tcp(p, direction, usable, seen, limits, contract, best, provisional, tuple(findings), figures)
    if judged.cause in (Cause.SCATTERED, Cause.WORST_TRIAL) and (kept := _kept_from_cpu(usable, values, judged, best)):
        said = say.interfered(seen, (judged.figures["needed_bps"], contract.pass_ratio, best), kept)
        return replace(
            judged, cause=Cause.BUSY_END, sentence=said, reasons=(said,), remedies=remedies.stronger(contract)
        )
    if judged.verdict is Verdict.PASS and 2 * len(broken) >= len(result.trials):
        said = say.few_measured(judged.sentence, len(usable), len(result.trials))
        return replace(judged, verdict=Verdict.CANNOT_JUDGE, sentence=said, reasons=(said,), cause=Cause.TRIALS_FAILED)
    if broken and judged.verdict is Verdict.PASS:
        judged = replace(judged, provisional=True)
    if fell and judged.verdict is not Verdict.PASS:
        return replace(judged, cause=Cause.LEVEL_FELL, sentence=f"{judged.sentence} {fell}")
    return judged


def _kept_from_cpu(
    trials: list[TrialResult], values: list[float], judged: Judgement, best: float
) -> tuple[tuple[int, float, str, float], ...]:
    """Repeat, rate, end and share of its CPU withheld of each trial below the bar; () where one has another reason.

    Such a trial is an interference and no scatter.  It excuses a shortfall, but is no reason to leave the trial out:
    the link may have carried too little in the very same seconds, every trial counts, and a PASS is held to the worst.
    """
    found = []
    for t, carried in zip(trials, values, strict=True):
        if carried >= judged.figures["needed_bps"]:
            continue
        kept = [end for end in t.ends if 0 < explained(end.cpu) >= 1 - carried / best]
        if not kept:
            return ()
        most = max(kept, key=lambda end: lacked(end.cpu))
        found.append((t.repeat, carried, most.name, lacked(most.cpu)))
    return tuple(found)


def without_link(trials: list[TrialResult], p: Experiment, direction: Direction, needed: float) -> str:
    """Which cards lost their link in every trial below the bar, if most seconds reach it all the same; '' if not so."""
    below = [t for t in trials if direction_bps(t, p, direction) < needed]
    seconds = [counted(t.intervals, direction) for t in below if t.carriers_lost]
    if not below or len(seconds) < len(below) or any(not s or statistics.median(s) < needed for s in seconds):
        return ""
    return carriers_lost(below[0].carriers_lost)


def _judge_tcp(
    p: Experiment,
    direction: Direction,
    usable: list[TrialResult],
    seen: Spread,
    limits: Limiter | None,
    contract: Contract,
    best: float,
    provisional: bool,
    findings: tuple[str, ...],
    figures: dict[str, float],
) -> Judgement:
    needed = contract.pass_ratio * best
    figures["needed_bps"] = needed
    bar = needed, contract.pass_ratio, best
    sure = reached(seen, needed)
    if sure is Cause.REACHED:
        return Judgement(Verdict.PASS, provisional, say.needed(seen, *bar), findings=findings, figures=figures)
    if sure is Cause.WORST_TRIAL:
        said = say.worst_below(seen, *bar)
        figures["worst_bps"] = seen.minimum
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (said,), (MORE_REPEATS,), findings, figures,
            Cause.WORST_TRIAL,
        )  # fmt: skip
    if seen.high >= needed:
        said = say.too_scattered(seen, *bar)
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (said,), (MORE_REPEATS,), findings, figures,
            Cause.SCATTERED,
        )  # fmt: skip
    short = say.needed(seen, *bar)
    if gone := without_link(usable, p, direction, needed):
        said = say.but(short, f"{gone}.")
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (said,), (MORE_REPEATS,), findings, figures, Cause.OWN_CARD
        )
    by_path = limits is not None and limits.known and not host_bound(limits)  # then time withheld excuses its part
    if withheld := saturated(usable, p, 1 - seen.median / best if by_path else 0.0):
        said = say.held_back(short, withheld)
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (withheld,), remedies.stronger(contract), findings, figures,
            Cause.BUSY_END,
        )  # fmt: skip
    if limits is not None and held_by_window(limits):
        said = say.but(short, limits.sentence)
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (limits.sentence,),
            (limits.experiment or remedies.larger_window(p),), findings, figures, Cause.WINDOW,
        )  # fmt: skip
    if limits is not None and limits.known and host_bound(limits):
        said = say.but(short, limits.sentence)
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (limits.sentence,), remedies.stronger(contract), findings,
            figures, Cause.BUSY_END,
        )  # fmt: skip
    if not by_path and (warm := saturated(usable, p, close=WARM)):
        said = say.held_back(short, warm)
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (warm,), remedies.stronger(contract), findings, figures,
            Cause.BUSY_END,
        )  # fmt: skip
    said = say.limited(short, limits.sentence if limits else "")
    if warm := saturated(usable, close=WARM if by_path else CALM):  # no more than a percent from being in doubt
        findings, provisional = (*findings, say.may_be_the_end(warm)), True
    return Judgement(Verdict.FAIL, provisional, said, (short,), findings=findings, figures=figures, cause=Cause.SHORT)
