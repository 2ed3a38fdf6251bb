"""Judges what one path loses to each of the other paths beside it.

Needs trials of the path alone and beside each of the others, in turns; or one trial in which the others came and went,
with the moments at which they began. A neighbour is named if the path carries less in every repeat beside it than in
any alone, and the medians differ by more than a twentieth; pings beside the loads show round trips and loss.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from linkladder.judge.evidence import CLOSE
from linkladder.model import Company, Direction, End, Fault, Leg, Protocol, Role, Rtt, RungResult, TrialResult
from linkladder.phrases import neighbours as say
from linkladder.verdicts import Neighbour

KEPT = 0.95  # share of a path's rate alone; if it keeps as much, it lost nothing
WATCHED = 0  # the rung's first path is the one that is watched
SETTLING = 1.0  # seconds after a visitor began or ended that count neither as with it nor as without it


@dataclass(frozen=True)
class _Side:
    """The watched path in the trials of one kind."""

    rates: tuple[float, ...]
    pings: tuple[Rtt, ...]

    @property
    def rtt_ms(self) -> float | None:
        medians = [one.p50_ms for one in self.pings if one.p50_ms is not None]
        return statistics.median(medians) if medians else None

    @property
    def lost_percent(self) -> float | None:
        sent = sum(one.sent for one in self.pings)
        return 100 * (1 - sum(one.received for one in self.pings) / sent) if sent else None


def judge_neighbours(rung: RungResult) -> tuple[Neighbour, ...]:
    """A record of each other path beside the first one in each measured direction; `sentences` puts them into words."""
    found = []
    for way in (Direction.FORWARD, Direction.REVERSE):
        visited = _visited(rung, way)
        alone = _side(_trials(rung, way, (WATCHED,)), [_without(t, way) for t in visited])
        for other in range(len(rung.paths)):
            trials = _trials(rung, way, tuple(sorted((WATCHED, other)))) if other != WATCHED else []
            visits = [t for t in visited if any(leg.path == other for leg in _came(t))]
            beside = _side(trials, [_with(t, way, other) for t in visits])
            if alone.rates and beside.rates:
                made = _neighbour(rung, way, other, alone, beside, [*trials, *visits])
                found.append(replace(made, visits=len(beside.rates) - len(_side(trials).rates)))
    return tuple(found)


def absent(rung: RungResult, name: Callable[[int, Direction], str]) -> tuple[str, ...]:
    """Sentences on paths that should have been loaded beside the first one and failed, with the reason.

    `name` gives a path's name in a direction.
    """
    lost: dict[tuple[int, Direction], list[str]] = {}
    for way in (Direction.FORWARD, Direction.REVERSE):
        for leg in (leg for t in _visited(rung, way) for leg in t.legs):
            if leg.role is Role.VISITOR and not leg.outcome.ok:
                lost.setdefault((leg.path, way), []).append(leg.outcome.reason)
    return tuple(say.did_not_come(name(*which), reasons) for which, reasons in lost.items())


def sentences(found: Sequence[Neighbour], name: Callable[[int, Direction], str]) -> tuple[str, ...]:
    """For each direction, the figures and which neighbours take from the first path; `name` gives a path's name."""
    answers: list[str] = []
    for way in dict.fromkeys(Direction(one.direction) for one in found):
        mine = [one for one in found if one.direction == way]
        said = name(WATCHED, way), mine, [name(one.path, way) for one in mine]
        answers += [say.beside_each(*said), say.who(*said)]
    return tuple(answers)


def _neighbour(
    rung: RungResult, way: Direction, other: int, alone: _Side, beside: _Side, trials: Sequence[TrialResult]
) -> Neighbour:
    least, most = statistics.median(beside.rates), statistics.median(alone.rates)
    ends = [{path.origin or "near", path.peer} for path in (rung.paths[WATCHED], rung.paths[other])]
    made = Neighbour(
        path=other,
        direction=str(way),
        alone_bps=most,
        beside_bps=least,
        takes=least < KEPT * most and max(beside.rates) < min(alone.rates),
        once=min(len(alone.rates), len(beside.rates)) < 2,
        common_end=next(iter(sorted(ends[0] & ends[1])), ""),
        busy=_busy(trials),
    )
    return replace(
        made,
        alone_rtt_ms=alone.rtt_ms,
        beside_rtt_ms=beside.rtt_ms,
        alone_lost_percent=alone.lost_percent,
        beside_lost_percent=beside.lost_percent,
    )


def _trials(rung: RungResult, way: Direction, paths: tuple[int, ...]) -> list[TrialResult]:
    """The trials that loaded exactly these paths; if the rung has two paths, loading all at once counts as well."""
    kinds = [e for e in rung.experiments if e.parameters.protocol is Protocol.TCP and not e.parameters.settings]
    asked = any(e.parameters.company in (Company.NEIGHBOURS, Company.VISITED) for e in kinds)
    kinds = [e for e in kinds if e.parameters.company is not Company.VISITED]
    mine = [e for e in kinds if e.parameters.direction is way and tuple(sorted(e.parameters.paths)) == paths]
    return [t for e in mine for t in e.trials] if asked else []


def _visited(rung: RungResult, way: Direction) -> list[TrialResult]:
    """The good trials in which the watched path was loaded throughout, and the others came and went."""
    return [
        t
        for e in rung.experiments
        if e.parameters.company is Company.VISITED
        and e.parameters.protocol is Protocol.TCP
        and e.parameters.direction is way
        for t in e.trials
        if t.ok
    ]


def _came(t: TrialResult) -> list[Leg]:
    return [leg for leg in t.legs if leg.role is Role.VISITOR and leg.outcome.ok and leg.outcome.intervals]


def _span(leg: Leg) -> tuple[float, float]:
    return leg.began, leg.began + max(i.end for i in leg.outcome.intervals)


def _with(t: TrialResult, way: Direction, other: int) -> float | None:
    """The watched path's rate in bit/s over the whole seconds in which path `other` was loaded as well."""
    spans = [_span(leg) for leg in _came(t) if leg.path == other]
    return _rate(t, way, lambda a, b: any(a >= first + SETTLING and b <= last for first, last in spans))


def _without(t: TrialResult, way: Direction) -> float | None:
    """The watched path's rate in bit/s over the seconds in which no other path was loaded."""
    spans = [_span(leg) for leg in _came(t)]
    return _rate(t, way, lambda a, b: all(b <= first or a >= last + SETTLING for first, last in spans))


def _rate(t: TrialResult, way: Direction, wanted: Callable[[float, float], bool]) -> float | None:
    seconds = [i for i in t.intervals if i.counted and i.direction is way and wanted(i.start, i.end)]
    span = sum(i.end - i.start for i in seconds)
    return 8 * sum(i.bytes for i in seconds) / span if span > 0 else None


def _side(trials: Iterable[TrialResult], parts: Iterable[float | None] = ()) -> _Side:
    """The watched path in these trials; `parts` are its rates in parts of other trials."""
    legs = [leg for t in trials for leg in t.legs if leg.path == WATCHED]
    loads = (leg.outcome for leg in legs if leg.role is Role.LOAD)
    rates = tuple(one.goodput_bps if one.ok else 0.0 for one in loads if one.ok or one.fault is Fault.PATH)
    pings = (g.outcome.rtt for g in legs if g.role is Role.PING and g.pinged_by is End.NEAR)
    return _Side(rates + tuple(bps for bps in parts if bps is not None), tuple(one for one in pings if one is not None))


def _busy(trials: Iterable[TrialResult]) -> str:
    """The name of an end of the watched path that had no CPU core to spare; '' if none."""
    for t in trials:
        for leg in t.legs:
            for n in (leg.near, leg.far) if leg.path == WATCHED else ():
                cpu = t.ends[n].cpu if 0 <= n < len(t.ends) else None
                if cpu is not None and cpu.busiest >= CLOSE:
                    return t.ends[n].name
    return ""
