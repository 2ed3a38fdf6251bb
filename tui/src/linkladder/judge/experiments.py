"""One setting: its repeats, how sure they are, and what they are of the ceiling."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace

from linkladder.judge import few_streams, permitted_loss, remedies
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
        percent_of_ceiling=percent if bounded and (trial.ok or trial.fault is Fault.PATH) else {},
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
    partly: bool = False,
) -> ExperimentJudgement:
    """One setting in one direction against the contract.

    `partly`: of a trial in which some of several paths carried nothing the rate is that of the others, and not 0.
    """
    p = result.parameters
    best = ceiling(contract, p.protocol, p.write_size).bps
    usable = [t for t in result.trials if t.ok or t.fault is Fault.PATH]
    values = [_carried_bps(t, p, direction, bounded, partly) for t in usable]
    seen = spread_of(usable, values, direction, confidence(p))
    silent = [t for t, v in zip(usable, values, strict=True) if v <= 0 or not t.ok]
    limits = decides = None
    if p.protocol is Protocol.TCP and usable and seen is not None:
        typical = min(usable, key=lambda t: abs(direction_bps(t, p, direction) - seen.median))
        limits = decides = limiter(typical, p, contract, rung, direction, bounded)
        if silent and typical not in silent:
            decides = limiter(silent[0], p, contract, rung, direction, bounded)
    judged = _judge(result, usable, values, seen, decides, contract, direction, best, bounded)
    judged = permitted_loss.excused(judged, p, decides, rung, contract, direction)
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


def _carried_bps(trial: TrialResult, p: Experiment, direction: Direction, bounded: bool, partly: bool) -> float:
    """Goodput of a trial in which something arrived; figures without a byte behind them are none."""
    flows = [f for f in trial.flows if f.direction is direction]
    if not (trial.ok or partly) or (flows and not any(f.bytes or f.total_bytes for f in flows)):
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


@dataclass(frozen=True)
class _Case:
    """What a setting carried in one direction, and what every judgement on it says alike."""

    p: Experiment
    direction: Direction
    usable: list[TrialResult]
    values: list[float]  # what each of these carried
    seen: Spread
    limits: Limiter | None
    contract: Contract
    best: float  # the ceiling
    provisional: bool
    findings: tuple[str, ...]
    figures: dict[str, float]

    @property
    def needed(self) -> float:
        return self.contract.pass_ratio * self.best

    @property
    def bar(self) -> tuple[float, float, float]:
        return self.needed, self.contract.pass_ratio, self.best

    @property
    def by_path(self) -> bool:
        """Whether it is known that the path limits; then time withheld from an end excuses its part alone."""
        return self.limits is not None and self.limits.known and not host_bound(self.limits)

    def judged(self, verdict: Verdict, cause: Cause, said: str, reason: str = "", *advice: str) -> Judgement:
        return Judgement(
            verdict, self.provisional, said, (reason or said,), advice, self.findings, self.figures, cause
        )  # fmt: skip


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
    fell = _fell(usable, p, direction) if bounded else ""
    findings = _findings(result, usable, broken, fell, seen)
    if seen is None:
        why = broken[0].reason or say.TOOL_FAILED if broken else say.NOT_RUN
        return Judgement(
            Verdict.INCOMPLETE, True, say.not_measured(why), findings=findings, cause=Cause.NOTHING_MEASURED
        )
    case = _Case(
        p, direction, usable, values, seen, limits, contract, best, len(values) < 2, findings, _spread_figures(seen)
    )
    if silent := [t for t, v in zip(usable, values, strict=True) if v <= 0 or not t.ok]:
        return _silent(case, silent)
    if not bounded:
        return Judgement(Verdict.PASS, case.provisional, say.carried(seen), findings=findings, figures=case.figures)
    error = measurement_error(usable[values.index(seen.maximum)], p)
    share = 100 * seen.median / best
    figures = {**case.figures, "ceiling_bps": best, "percent_of_ceiling": share, "error_percent": 100 * error}
    case = replace(case, figures=figures)
    if seen.maximum > best * (1 + error):
        ways_out = remedies.possible_assumptions(seen.maximum, contract, p.protocol, p.write_size)
        said = say.above_ceiling(seen, best, error)
        return case.judged(Verdict.IMPOSSIBLE, Cause.ABOVE_CEILING, said, "", *ways_out)
    if p.protocol is Protocol.UDP:
        return judge_udp(result, usable, seen, contract, direction, best, case.provisional, findings, figures)
    if p.direction in (Direction.DUPLEX, Direction.BOTH):
        best *= duplex_share(contract)
    case = replace(case, best=best, figures={**figures, "needed_bps": contract.pass_ratio * best})
    judged = _with_trials_that_differ(_judge_tcp(case), case, result, broken, fell)
    return few_streams.excused(judged, p, usable, case.needed)


def _findings(
    result: ExperimentResult, usable: list[TrialResult], broken: list[TrialResult], fell: str, seen: Spread | None
) -> tuple[str, ...]:
    found = [say.left_out(len(broken), len(result.trials), broken[0].reason)] if broken and usable else []
    found += [fell] if fell else []
    found += [say.scattered(seen)] if seen is not None and (seen.cv or 0.0) > SCATTERED else []
    return tuple(found)


def _spread_figures(seen: Spread) -> dict[str, float]:
    figures = {"median_bps": seen.median, "low_bps": seen.low, "high_bps": seen.high}
    return figures if seen.cv is None else {**figures, "cv_percent": 100 * seen.cv}


def _silent(case: _Case, silent: list[TrialResult]) -> Judgement:
    """The verdict where some trials carried nothing: an end's own card, its cable, or the port it is in excuses it."""
    limits = case.limits
    why = limits.sentence if limits and limits.known else silent[0].reason or say.NOTHING_ARRIVED
    unplugged = all(t.carriers_lost for t in silent)
    why = carriers_lost(silent[0].carriers_lost) if unplugged else why
    said = say.stalled(len(silent), len(case.usable), why)
    if all(any(one.ok for one in t.loads) for t in silent):  # what limits is what the other paths show
        why = carriers_lost(silent[0].carriers_lost) if unplugged else silent[0].reason or say.NOTHING_ARRIVED
        said = say.partly_stalled(len(silent), len(case.usable), why)
    verdict, cause = (Verdict.CANNOT_JUDGE, Cause.OWN_CARD) if unplugged else (Verdict.FAIL, Cause.SILENCE)
    return replace(case, provisional=False).judged(verdict, cause, said)


def _with_trials_that_differ(
    judged: Judgement, case: _Case, result: ExperimentResult, broken: list[TrialResult], fell: str
) -> Judgement:
    """The judgement, given trials that an end was kept from, that the tool broke, or whose rate did not last."""
    scattered = judged.cause in (Cause.SCATTERED, Cause.WORST_TRIAL)
    if scattered and (kept := _kept_from_cpu(case.usable, case.values, judged, case.best)):
        said = say.interfered(case.seen, case.bar, kept)
        ways_out = remedies.stronger(case.contract)
        return replace(judged, cause=Cause.BUSY_END, sentence=said, reasons=(said,), remedies=ways_out)
    if judged.verdict is Verdict.PASS and 2 * len(broken) >= len(result.trials):
        said = say.few_measured(judged.sentence, len(case.usable), len(result.trials))
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


def _judge_tcp(case: _Case) -> Judgement:
    return _reaching(case) or _excused(case) or _short(case)


def _reaching(case: _Case) -> Judgement | None:
    """Where some of the repeats reach the required rate, or may do so; None where none does."""
    seen, sure = case.seen, reached(case.seen, case.needed)
    if sure is Cause.REACHED:
        said = say.needed(seen, *case.bar)
        return Judgement(Verdict.PASS, case.provisional, said, findings=case.findings, figures=case.figures)
    if sure is Cause.WORST_TRIAL:
        worst = replace(case, figures={**case.figures, "worst_bps": seen.minimum})
        return worst.judged(Verdict.CANNOT_JUDGE, sure, say.worst_below(seen, *case.bar), "", MORE_REPEATS)
    if seen.high >= case.needed:
        said = say.too_scattered(seen, *case.bar)
        return case.judged(Verdict.CANNOT_JUDGE, Cause.SCATTERED, said, "", MORE_REPEATS)
    return None


def _excused(case: _Case) -> Judgement | None:
    """Why a shortfall need not be the path's: a card without its link, an end that is busy, or a window."""
    short, limits, p = say.needed(case.seen, *case.bar), case.limits, case.p
    stronger = remedies.stronger(case.contract)
    if gone := without_link(case.usable, p, case.direction, case.needed):
        return case.judged(Verdict.CANNOT_JUDGE, Cause.OWN_CARD, say.but(short, f"{gone}."), "", MORE_REPEATS)
    explains = 1 - case.seen.median / case.best if case.by_path else 0.0
    if busy := saturated(case.usable, p, explains):
        return case.judged(Verdict.CANNOT_JUDGE, Cause.BUSY_END, say.held_back(short, busy), busy, *stronger)
    if limits is not None and held_by_window(limits):
        said, advice = say.but(short, limits.sentence), limits.experiment or remedies.larger_window(p)
        return case.judged(Verdict.CANNOT_JUDGE, Cause.WINDOW, said, limits.sentence, advice)
    if limits is not None and limits.known and host_bound(limits):
        said = say.but(short, limits.sentence)
        return case.judged(Verdict.CANNOT_JUDGE, Cause.BUSY_END, said, limits.sentence, *stronger)
    if not case.by_path and (warm := saturated(case.usable, p, close=WARM)):
        return case.judged(Verdict.CANNOT_JUDGE, Cause.BUSY_END, say.held_back(short, warm), warm, *stronger)
    return None


def _short(case: _Case) -> Judgement:
    short = say.needed(case.seen, *case.bar)
    if warm := saturated(case.usable, close=WARM if case.by_path else CALM):  # no more than a percent from in doubt
        case = replace(case, findings=(*case.findings, say.may_be_the_end(warm)), provisional=True)
    said = say.limited(short, case.limits.sentence if case.limits else "")
    return case.judged(Verdict.FAIL, Cause.SHORT, said, short)
