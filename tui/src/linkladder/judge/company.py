"""Judges several paths: what each carries alone, what all carry together, and what they take from each other.

Sums cover the seconds that the legs of one trial share. The link that the paths are declared to share is judged by the
sum; each path is judged alone against the contract. Paths that are all slower side by side than alone share something;
paths that end in the same machine share that machine, and are reported separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linkladder.judge.able import NOBODY, Able, able_on
from linkladder.judge.across import Load, across
from linkladder.judge.card_faults import Faults, not_the_link
from linkladder.judge.ceilings import ceiling, measurement_error, of_shared
from linkladder.judge.chosen import reaches_at_times
from linkladder.judge.common_limits import WAYS, own_limits, plateaus, several_pairs
from linkladder.judge.each_repeat import of_sums, repeats
from linkladder.judge.evidence import of_path
from linkladder.judge.experiments import reached, without_link
from linkladder.judge.families import of_its_family
from linkladder.judge.limiters import held_by_window, limiter
from linkladder.judge.neighbours import absent, judge_neighbours
from linkladder.judge.neighbours import sentences as neighbour_sentences
from linkladder.judge.path_loads import Lacking, Seen, best_repeats, by_setting, each_load, lacking, rate, skew
from linkladder.judge.weighing import GRAVITY
from linkladder.model import (
    Contract,
    Direction,
    Protocol,
    RungName,
    RungResult,
)
from linkladder.phrases import company as say
from linkladder.phrases import headed
from linkladder.phrases.outages import carriers_lost
from linkladder.phrases.rungs import not_shown
from linkladder.phrases.ways import path_name
from linkladder.verdicts import Cause, Cell, CompanyJudgement, Judgement, Sharing, Spread, Verdict

KEPT = 0.95  # share of a path's rate alone; if it keeps as much beside others, it lost nothing
OVER = 0.01  # of the ceiling; a rate that is above it by more, and by more than its trial's error, cannot be right
NEAR = "near"


def judge_company(
    rung: RungResult, deal: Contract, below: Able = NOBODY, faults: Faults = ()
) -> CompanyJudgement | None:
    """Judge a rung with several measured paths; None if it has no such paths.

    `below`: the ends that lower rungs show to be able to send or receive as much; paths of this rung may show others.
    `faults`: what each path's own cards may have caused.
    """
    if len(rung.paths) < 2:
        return None
    seen, neighbours = tuple(each_load(rung)), judge_neighbours(rung)
    if not seen and not neighbours:
        return None
    most = max(ceiling(of_its_family(deal, rung.paths, (n,))).bps for n in range(len(rung.paths)))
    able = below | able_on(rung, deal.pass_ratio * most)
    cells = tuple(
        _cell(rung, n, way, seen, deal, able, faults)
        for n in range(len(rung.paths))
        for way in WAYS
        if _any(seen, n, way)
    )
    sums, alone, fair = {}, {}, {}
    for way in WAYS:
        mine = [cell for cell in cells if cell.direction == way]
        together = [cell.together_bps for cell in mine if cell.together_bps is not None]
        if together:
            sums[str(way)] = sum(together)
        if mine and all(cell.alone_bps is not None for cell in mine):
            alone[str(way)] = sum(cell.alone_bps or 0.0 for cell in mine)
        kept = [c.together_bps / c.alone_bps for c in mine if c.together_bps is not None and c.alone_bps]
        if len(kept) > 1 and any(kept):
            fair[str(way)] = sum(kept) ** 2 / (len(kept) * sum(k * k for k in kept))
    missing = lacking(rung, seen)
    sharing = tuple(one for way in WAYS for one in _sharing(rung, way, seen))
    shared = of_shared(deal)
    limit = ceiling(shared).bps if shared else None
    own = own_limits(rung, cells)
    findings = [*(one.sentence for one in own), *plateaus(rung, cells, sums), *(one.sentence for one in sharing)]
    findings += [say.nothing_shared(way, rung.paths) for way in WAYS if _nothing_shared(rung, way, seen)]
    findings += neighbour_sentences(neighbours, lambda number, way: _name(rung, number, way))
    findings += absent(rung, lambda number, way: _name(rung, number, way))
    if not missing.too_much:
        findings += missing.sentences
    whole = _whole(rung, cells, seen, sums, missing, limit, deal)
    return CompanyJudgement(
        cells, whole, sums, alone, limit, fair, sharing, missing.sentences, tuple(findings), skew(rung), neighbours,
        own,
    )  # fmt: skip


# --- a path by itself


def _any(seen: Sequence[Seen], path: int, way: Direction) -> bool:
    return any(s.path == path and s.direction is way for s in seen)


def _cell(
    rung: RungResult, number: int, way: Direction, seen: Sequence[Seen], deal: Contract, able: Able, faults: Faults
) -> Cell:
    mine = [s for s in seen if s.path == number and s.direction is way]
    deal = of_its_family(deal, rung.paths, (number,))
    every = tuple(range(len(rung.paths)))
    tries = [s for s in mine if s.beside == (number,)]
    alone, _ = rate(tries)
    beside, _ = rate(s for s in mine if 1 < len(s.beside) < len(every))
    together, _ = rate(s for s in mine if s.beside == every)
    sender, receiver = rung.paths[number].ends(way)
    unknown = able.lacking(rung.paths[number], way)
    judged = _judge_alone(rung, tries, [s.reason for s in mine if s.bps is None], deal, unknown)
    judged = not_the_link(judged, faults, (number,))
    limit = ceiling(deal).bps
    loss, rtt = _pings(rung, number)
    return Cell(number, sender, receiver, str(way), judged, alone, beside, together, limit, loss, rtt)


def _judge_alone(
    rung: RungResult, tries: Sequence[Seen], failed: Sequence[str], deal: Contract, unknown: tuple[str, ...]
) -> Judgement:
    """Judge a path by its best setting's median; a repeat of any setting in which it carried nothing counts against it.

    `unknown`: those of its ends that have shown on no path that they can send or receive as much.
    """
    alone, busy = rate(tries)
    limit = ceiling(deal).bps
    needed = deal.pass_ratio * limit
    figures = {"needed_bps": needed} | ({"alone_bps": alone} if alone is not None else {})
    silent, best = [s for s in tries if s.silent], best_repeats(tries)
    broken = [s for s in best if s.bps is None]
    spread = alone_spread(rung, best)
    provisional = len(best) - len(broken) < 2 or bool(broken)
    if silent:
        unplugged = all(s.trial.carriers_lost for s in silent)
        verdict, cause = (Verdict.CANNOT_JUDGE, Cause.OWN_CARD) if unplugged else (Verdict.FAIL, Cause.SILENCE)
        why = carriers_lost(silent[0].trial.carriers_lost) if unplugged else silent[0].reason
        provisional, text = len(tries) < 2, say.silent(len(silent), len(tries), why)
    elif alone is None:
        verdict, cause, text = Verdict.INCOMPLETE, Cause.NOTHING_MEASURED, say.not_measured(failed)
    elif (most := spread.maximum if spread else alone) > _at_most(limit, best):
        verdict, cause, text = Verdict.IMPOSSIBLE, Cause.ABOVE_CEILING, say.above(most, limit)
    elif alone >= needed and 2 * len(broken) >= len(best):
        verdict, cause = Verdict.CANNOT_JUDGE, Cause.TRIALS_FAILED
        text = say.few(alone, needed, len(broken), len(best), broken[0].reason)
    elif alone >= needed and spread and (why := reached(spread, needed)) is not Cause.REACHED:
        verdict, cause, text = Verdict.CANNOT_JUDGE, why, say.reached_unsurely(alone, spread, needed)
    elif alone >= needed and (other := _at_times(rung, tries, needed)):
        verdict, cause = Verdict.CANNOT_JUDGE, Cause.WORST_TRIAL
        text = say.reached_at_times(alone, *other, needed)
    elif alone >= needed:
        verdict, cause, text = Verdict.PASS, Cause.REACHED, say.reached(alone, needed)
    elif gone := _without_link(best, needed):
        verdict, cause, text = Verdict.CANNOT_JUDGE, Cause.OWN_CARD, say.weak(alone, needed, gone)
    elif busy:
        verdict, cause, text = Verdict.CANNOT_JUDGE, Cause.BUSY_END, say.weak(alone, needed, busy)
    elif window := _window(rung, best, alone, deal):
        verdict, cause, text = Verdict.CANNOT_JUDGE, Cause.WINDOW, say.reached(alone, needed) + f". {window}"
    elif unknown:
        verdict, cause = Verdict.CANNOT_JUDGE, Cause.UNKNOWN_GENERATOR
        text = say.reached(alone, needed) + f". {not_shown(unknown)}"
    elif spread and spread.high >= needed:
        verdict, cause = Verdict.CANNOT_JUDGE, Cause.SCATTERED
        text = say.scattered(say.reached(alone, needed), spread.high)
    else:
        verdict, cause, text = Verdict.FAIL, Cause.SHORT, say.reached(alone, needed)
    return Judgement(verdict, provisional, headed(verdict, provisional, text), figures=figures, cause=cause, text=text)


def _at_times(rung: RungResult, tries: Sequence[Seen], needed: float) -> tuple[int, Spread] | None:
    """The streams of another setting that reached the required rate in some trials and not in others, and its rates."""
    for tried in by_setting(tries).values():
        carried = [one.bps for one in tried if one.bps is not None]
        if reaches_at_times(carried, needed) and (spread := alone_spread(rung, tried)):
            return tried[0].asked.streams, spread
    return None


def _at_most(limit: float, loads: Sequence[Seen]) -> float:
    """What these loads can be read to have carried over a link of this ceiling; short trials are read less exactly."""
    errors = (measurement_error(of_path(s.trial, s.path), s.asked) for s in loads if s.bps is not None)
    return limit * (1 + max([OVER, *errors]))


def _without_link(best: Sequence[Seen], needed: float) -> str:
    trials = [of_path(s.trial, s.path) for s in best if s.bps is not None]
    return without_link(trials, best[0].asked, best[0].direction, needed)


def alone_spread(rung: RungResult, best: Sequence[Seen]) -> Spread | None:
    """The interval of the repeats of a setting in which one path was loaded by itself."""
    if not best:
        return None
    p, number = best[0].asked, best[0].path
    return repeats([s.trial for s in best], p, (number,), p.direction, rung.name is RungName.DC_LINK).spread


def _window(rung: RungResult, best: Sequence[Seen], alone: float, deal: Contract) -> str:
    """A sentence on the TCP window that limited the path; '' if none did."""
    typical = min((s for s in best if s.bps is not None), key=lambda s: abs((s.bps or 0.0) - alone))
    mine = (
        replace(e, trials=tuple(part for t in e.trials if (part := of_path(t, typical.path)).legs))
        for e in rung.experiments
    )
    own = replace(rung, experiments=tuple(e for e in mine if e.trials))  # its round trip, and no other pair's
    found = limiter(of_path(typical.trial, typical.path), typical.asked, deal, own, typical.direction)
    return found.sentence if found is not None and held_by_window(found) else ""


def _pings(rung: RungResult, number: int) -> tuple[float | None, float | None]:
    """The loss of pings in percent and the median round trip in ms on the idle path; None for what is not known."""
    legs = [
        leg.outcome.rtt
        for e in rung.experiments
        if e.parameters.protocol is Protocol.ECHO
        for t in e.trials
        for leg in t.legs
        if leg.path == number and leg.outcome.rtt
    ]
    if not legs:
        return None, None
    sent, came = sum(r.sent for r in legs), sum(r.received for r in legs)
    return 100 * (sent - came) / sent if sent else None, next((r.p50_ms for r in legs if r.p50_ms is not None), None)


def _name(rung: RungResult, number: int, way: Direction) -> str:
    return path_name(rung.paths, number, way)


def cell_name(rung: RungResult, cell: Cell) -> str:
    return _name(rung, cell.path, Direction(cell.direction))


# --- together


def _whole(
    rung: RungResult,
    cells: Sequence[Cell],
    seen: Sequence[Seen],
    sums: dict[str, float],
    missing: Lacking,
    limit: float | None,
    deal: Contract,
) -> Judgement:
    """Judge the shared link and, if there are several pairs of ends, each path; the worst verdict counts."""
    needed = limit * deal.pass_ratio if limit is not None else None
    each = {(c.path, Direction(c.direction)): c.alone_bps for c in cells if c.alone_bps is not None}
    loads = across(rung.paths, _side_by_side(seen), each)
    repeated = of_sums(rung, needed or 0.0)
    own = {name: one.spread for name, one in repeated.items() if one.spread is not None}
    sums = {name: own[name].median if name in own else load.together for name, load in loads.items()} or sums
    verdict, cause, reasons = Verdict.PASS, Cause.REACHED, list(missing.sentences)
    if missing.too_much or not sums:
        verdict, cause = Verdict.INCOMPLETE, Cause.PEER_LOST if missing.sentences else Cause.NOTHING_MEASURED
    elif limit is not None and needed is not None:
        least = min(sums, key=lambda way: sums[way])
        several = [one for one in seen if len(one.beside) > 1]
        if max([*sums.values(), *(one.maximum for one in own.values())]) > _at_most(limit, several):
            verdict, cause = Verdict.IMPOSSIBLE, Cause.ABOVE_CEILING
        elif sums[least] < needed and (alone := loads[least].alone if least in loads else 0.0) < needed:
            verdict, cause = Verdict.CANNOT_JUDGE, Cause.WEAK_GENERATOR
            reasons.append(say.too_weak(alone or sums[least], needed))
        elif sums[least] < needed and least in repeated and (gone := repeated[least].without_link):
            verdict, cause = Verdict.CANNOT_JUDGE, Cause.OWN_CARD
            reasons.append(say.busy_together(sums[least], needed, gone))
        elif sums[least] < needed and least in loads and loads[least].busy:
            verdict, cause = Verdict.CANNOT_JUDGE, Cause.BUSY_END
            reasons.append(say.busy_together(sums[least], needed, loads[least].busy))
        elif sums[least] < needed <= (most := own[least].high if least in own else 0.0):
            verdict, cause = Verdict.CANNOT_JUDGE, Cause.SCATTERED
            reasons.append(say.scattered_together(sums[least], needed, most))
        elif sums[least] < needed:
            verdict, cause = Verdict.FAIL, Cause.SHORT
    text = say.whole(verdict, sums, needed, limit, rung.paths)
    provisional = any(cell.judgement.provisional for cell in cells) or bool(missing.sentences)
    if several_pairs(rung.paths):
        worst = min((c.judgement.verdict for c in cells), key=GRAVITY.index, default=Verdict.PASS)
        if worst is not Verdict.PASS:
            short = [c for c in cells if c.judgement.verdict is worst]
            reasons += [f"{cell_name(rung, c)} {c.judgement.text}" for c in short]
            if GRAVITY.index(worst) < GRAVITY.index(verdict):
                verdict, cause = worst, short[0].judgement.cause
                text = f"{say.cells_short([cell_name(rung, c) for c in short], worst)} {text[:1].upper()}{text[1:]}"
    figures = {f"{way}_bps": bps for way, bps in sums.items()} | ({"needed_bps": needed} if needed is not None else {})
    said = headed(verdict, provisional, text)
    return Judgement(verdict, provisional, said, tuple(reasons), figures=figures, cause=cause, text=text)


def _side_by_side(seen: Sequence[Seen]) -> Iterable[Load]:
    """A load for each setting that measured several paths at once, unless one of them failed."""
    groups: dict[tuple[str, Direction], list[Seen]] = {}
    for one in seen:
        if len(one.beside) > 1:
            groups.setdefault((one.asked.id, one.direction), []).append(one)
    for (_, way), group in groups.items():
        rates = {n: _of_them(s for s in group if s.path == n) for n in group[0].beside}
        if all(bps is not None for bps in rates.values()):
            busy = next((s.busy for s in group if s.busy), "")
            yield Load(way, {n: bps or 0.0 for n, bps in rates.items()}, busy)


def _of_them(seen: Iterable[Seen]) -> float | None:
    """The median rate of a path's loads, which is 0 where each of them carried nothing."""
    loads = list(seen)
    return 0.0 if all(s.silent for s in loads) else rate(loads)[0]


def _apart(
    rung: RungResult, way: Direction, seen: Sequence[Seen]
) -> list[dict[int, tuple[float | None, float | None]]]:
    """For each set of paths measured together: what each carries alone, and beside the others.

    If the paths join several pairs of ends, sets in which two paths have a common end are left out.
    """
    found, mine = [], [s for s in seen if s.direction is way]
    for group in dict.fromkeys(s.beside for s in mine if len(s.beside) > 1):
        ends = [end for n in group for end in (rung.paths[n].origin or NEAR, rung.paths[n].peer)]
        if several_pairs(rung.paths) and len(ends) != len(set(ends)):
            continue
        own = {n: [s for s in mine if s.path == n] for n in group}
        alone = {n: rate(s for s in own[n] if s.beside == (n,))[0] for n in group}
        found.append({n: (alone[n], rate(s for s in own[n] if s.beside == group)[0]) for n in group})
    return found


def _nothing_shared(rung: RungResult, way: Direction, seen: Sequence[Seen]) -> bool:
    """Whether paths that share no end were measured together, and each kept what it carries alone."""
    rates = [pair for group in _apart(rung, way, seen) for pair in group.values()]
    kept = all(alone and beside is not None and beside >= KEPT * alone for alone, beside in rates)
    return several_pairs(rung.paths) and bool(rates) and kept


def _sharing(rung: RungResult, way: Direction, seen: Sequence[Seen]) -> list[Sharing]:
    """For each such set: those that are slower than alone, if they are two or more."""
    found: dict[tuple[int, ...], Sharing] = {}
    for group in _apart(rung, way, seen):
        rates = {n: (a, b) for n, (a, b) in group.items() if a and b is not None and b < KEPT * a}
        if len(rates) > 1:
            paths = tuple(rates)
            names = [_name(rung, n, way) for n in paths]
            text = say.shared(names, [a for a, _ in rates.values()], [b for _, b in rates.values()])
            found[paths] = Sharing(paths, str(way), sum(b for _, b in rates.values()), text)
    return list(found.values())
