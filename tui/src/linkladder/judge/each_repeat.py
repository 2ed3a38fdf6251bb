"""Holds several pairs of ends to the rule that a single path is held to: the worst repeat and the interval of all.

Needs the loads of each trial. A path by itself is judged in `company`; here are the sums of paths that went together,
of which every repeat counts, by what they carried at the same time and for good.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from linkladder import phrases
from linkladder.judge.across import groups
from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import counted, of_path
from linkladder.judge.experiments import reached, spread_of, without_link
from linkladder.judge.families import of_its_family
from linkladder.judge.interim_looks import confidence
from linkladder.judge.outages import plateau
from linkladder.model import (
    Company,
    Contract,
    Direction,
    EndRecord,
    Experiment,
    ExperimentResult,
    Fault,
    Protocol,
    Role,
    RungName,
    RungResult,
    TrialResult,
)
from linkladder.phrases import company as say
from linkladder.phrases.outages import carriers_lost
from linkladder.verdicts import Cause, Concern, Spread, Verdict


@dataclass(frozen=True)
class Repeats:
    """The repeats of one setting, in which some paths were loaded at once."""

    spread: Spread | None  # of the good ones
    failed: tuple[str, ...]  # why the others failed
    without_link: str = ""  # which cards lost their link in every repeat below what the paths need, if that explains it


def carried(t: TrialResult, paths: Collection[int], way: Direction, bounded: bool) -> float | None:
    """What these paths carried together in one trial in bit/s, or the later level if it fell; None if one failed."""
    part = of_paths(t, paths)
    if not part.ok:
        return None
    lasting = plateau(counted(part.intervals, way)) if bounded else None
    return part.goodput_bps if lasting is None else min(part.goodput_bps, lasting)


def whole_repeats(trials: Sequence[TrialResult]) -> list[TrialResult]:
    """The trials without those that an end or a tool broke for some of their paths, if others of them are whole.

    Whoever is left in a broken one has the others' share as well. A path that carried nothing breaks none: it counts.
    """
    return [t for t in trials if not _broken(t)] or list(trials)


def _broken(t: TrialResult) -> bool:
    loads = [g for g in t.legs if g.role is Role.LOAD]
    return len(loads) > 1 and any(not g.outcome.ok and g.outcome.fault is not Fault.PATH for g in loads)


def of_paths(t: TrialResult, paths: Collection[int]) -> TrialResult:
    """The trial with only the loads of these paths, and nothing of other ends than theirs."""
    legs = tuple(g for g in t.legs if g.role is Role.LOAD and g.path in paths)
    used = {n for g in legs for n in (g.near, g.far)}
    ends = tuple(end if n in used else EndRecord(end.name) for n, end in enumerate(t.ends))
    return replace(t, legs=legs, ends=ends)


def repeats(
    trials: Sequence[TrialResult],
    p: Experiment,
    paths: Collection[int],
    way: Direction,
    bounded: bool,
    needed: float = 0.0,
) -> Repeats:
    """What these paths carried together in each of the setting's trials that loaded them all; they need so much."""
    mine = [part for part in (of_paths(t, paths) for t in trials) if {g.path for g in part.legs} >= set(paths)]
    good = [(t, bps) for t in mine if (bps := carried(t, paths, way, bounded)) is not None]
    seen = spread_of([t for t, _ in good], [bps for _, bps in good], way, confidence(p))
    gone = without_link([t for t, _ in good], p, way, needed)
    return Repeats(seen, tuple(t.reason for t in mine if not t.ok), gone)


def of_sums(rung: RungResult, needed: float = 0.0) -> dict[str, Repeats]:
    """For each direction of what the paths share, the repeats of the setting that carried most; it needs so much."""
    bounded = rung.name is RungName.DC_LINK
    found: dict[str, Repeats] = {}
    for e in one_way(rung):
        way = e.parameters.direction
        loaded = {n for t in e.trials for g in t.legs if g.role is Role.LOAD and 0 <= (n := g.path) < len(rung.paths)}
        for name, paths in groups(rung.paths, loaded, way).items() if len(loaded) > 1 else ():
            one = repeats(e.trials, e.parameters, paths, way, bounded, needed)
            if name not in found or _median(one) > _median(found[name]):
                found[name] = one
    return found


def _median(one: Repeats) -> float:
    return one.spread.median if one.spread is not None else -1.0


def one_way(rung: RungResult) -> Iterator[ExperimentResult]:
    """The TCP settings that loaded paths in one direction, and throughout."""
    for e in rung.experiments:
        p = e.parameters
        both = p.direction in (Direction.DUPLEX, Direction.BOTH)
        if p.protocol is Protocol.TCP and not p.settings and not both and p.company is not Company.VISITED:
            yield e


def alone(rung: RungResult) -> dict[tuple[int, Direction], Repeats]:
    """For each path by itself, the repeats of the setting that carried most."""
    found: dict[tuple[int, Direction], Repeats] = {}
    for e in one_way(rung):
        way = e.parameters.direction
        loaded = {g.path for t in e.trials for g in t.legs if g.role is Role.LOAD}
        for n in loaded if len(loaded) == 1 and loaded <= set(range(len(rung.paths))) else ():
            one = repeats(e.trials, e.parameters, (n,), way, rung.name is RungName.DC_LINK)
            if (n, way) not in found or _median(one) > _median(found[n, way]):
                found[n, way] = one
    return found


def rests_on_repeats(rung: RungResult, deal: Contract, shared: float | None) -> tuple[str, ...]:
    """Sentences on which interval of what, from how many repeats, the verdict on several pairs rests."""
    own = [deal.pass_ratio * ceiling(of_its_family(deal, rung.paths, (n,))).bps for n in range(len(rung.paths))]
    seen = [(say.alone(rung.paths, n, way), one.spread, own[n]) for (n, way), one in alone(rung).items()]
    for name, one in of_sums(rung).items() if shared is not None else ():
        seen.append((say.together(name, rung.paths).rstrip(","), one.spread, deal.pass_ratio * (shared or 0.0)))
    return tuple(phrases.rests_on_repeats(name, spread, bar) for name, spread, bar in seen if spread is not None)


def each_repeat(rung: RungResult, deal: Contract, shared: float | None) -> list[Concern]:
    """Concerns about trials that a sum or a median hides; `shared`: the ceiling of what all paths share, in bit/s."""
    found = [*stalled(rung, (1, len(rung.paths))), *_fell(rung)]
    for name, one in of_sums(rung).items() if shared is not None else ():
        seen, needed = one.spread, deal.pass_ratio * (shared or 0.0)
        count = (seen.count if seen else 0) + len(one.failed)
        if seen is not None and seen.count < 2:
            found.append(Concern(Cause.WORST_TRIAL, say.once(say.together(name, rung.paths)), provisional=True))
        elif seen is not None and seen.median >= needed and (why := reached(seen, needed)) is not Cause.REACHED:
            said = say.not_sure(say.together(name, rung.paths), seen, needed)
            found.append(Concern(why, said, Verdict.CANNOT_JUDGE))
        if one.failed and seen is not None:
            said = say.failed_together(say.together(name, rung.paths), len(one.failed), count, one.failed[0])
            best = Verdict.CANNOT_JUDGE if 2 * len(one.failed) >= count else Verdict.PASS
            found.append(Concern(Cause.TRIALS_FAILED, said, best, provisional=True))
    return found


def _fell(rung: RungResult) -> Iterator[Concern]:
    """Findings about a path by itself whose rate did not last; what it carried from then on is judged."""
    for e in one_way(rung) if rung.name is RungName.DC_LINK else ():
        way = e.parameters.direction
        for t in e.trials:
            loads = {g.path for g in t.legs if g.role is Role.LOAD}
            lasting = carried(t, loads, way, bounded=True) if len(loads) == 1 else None
            if lasting is not None and lasting < t.goodput_bps:
                first = max(counted(t.intervals, way))
                said = say.did_not_last(e.parameters, way, first, lasting, t.repeat, rung.paths)
                yield Concern(Cause.LEVEL_FELL, said, figures={"lasting_bps": lasting})
                break


def stalled(rung: RungResult, judged: Collection[int]) -> Iterator[Concern]:
    """Concerns about loads of TCP in which a path carried nothing.

    `judged`: how many paths at once are judged elsewhere, where they were loaded one way and throughout.
    """
    for e in rung.experiments:
        p = e.parameters
        if p.protocol is not Protocol.TCP or p.settings:
            continue
        elsewhere = p.direction is not Direction.DUPLEX and p.company is not Company.VISITED
        for t in e.trials:
            loads = [g for g in t.legs if g.role is Role.LOAD and 0 <= g.path < len(rung.paths)]
            for g in () if elsewhere and len(loads) in judged else loads:
                if not g.outcome.ok and g.outcome.fault is Fault.PATH:
                    lost = of_path(t, g.path).carriers_lost
                    gone = carriers_lost(lost) if lost else ""
                    said = say.stalled(rung.paths, g.path, p, t.repeat, gone or g.outcome.reason)
                    cause, best = (Cause.OWN_CARD, Verdict.CANNOT_JUDGE) if gone else (Cause.SILENCE, Verdict.FAIL)
                    yield Concern(cause, said, best, paths=(g.path,))
