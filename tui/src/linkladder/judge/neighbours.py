"""One path measured while others come and go beside it: what it loses to each, and who causes that.

Needs the path alone and beside each of the others by itself, in turns.  A neighbour is named where the path carries
less beside it in every repeat than alone in any, and by more than a twentieth; pings beside the loads tell the rest.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from linkladder.judge.evidence import BUSY
from linkladder.model import Company, Direction, End, Fault, Protocol, Role, Rtt, RungResult, TrialResult
from linkladder.phrases import neighbours as say
from linkladder.verdicts import Neighbour

KEPT = 0.95  # of its rate alone: a path that keeps so much lost nothing
WATCHED = 0  # the rung's first path is the one that is watched


@dataclass(frozen=True)
class _Side:
    """The watched path in the trials of one kind."""

    rates: tuple[float, ...]
    pings: tuple[Rtt, ...]

    @property
    def rtt_ms(self) -> float | None:
        told = [one.p50_ms for one in self.pings if one.p50_ms is not None]
        return statistics.median(told) if told else None

    @property
    def lost_percent(self) -> float | None:
        sent = sum(one.sent for one in self.pings)
        return 100 * (1 - sum(one.received for one in self.pings) / sent) if sent else None


def judge_neighbours(rung: RungResult) -> tuple[Neighbour, ...]:
    """Each other path beside the first one, each way that was measured; what they come to is in `sentences`."""
    found = []
    for way in (Direction.FORWARD, Direction.REVERSE):
        alone = _side(_trials(rung, way, (WATCHED,)))
        for other in range(len(rung.paths)):
            trials = _trials(rung, way, tuple(sorted((WATCHED, other)))) if other != WATCHED else []
            beside = _side(trials)
            if alone.rates and beside.rates:
                found.append(_neighbour(rung, way, other, alone, beside, trials))
    return tuple(found)


def sentences(found: Sequence[Neighbour], name: Callable[[int, Direction], str]) -> tuple[str, ...]:
    """For each way: the figures, and who takes; `name` is a path's that way."""
    told: list[str] = []
    for way in dict.fromkeys(Direction(one.direction) for one in found):
        mine = [one for one in found if one.direction == way]
        said = name(WATCHED, way), mine, [name(one.path, way) for one in mine]
        told += [say.beside_each(*said), say.who(*said)]
    return tuple(told)


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
    """Those with just these paths at work; with two paths, all of them at once are the neighbours, too."""
    kinds = [e for e in rung.experiments if e.parameters.protocol is Protocol.TCP and not e.parameters.settings]
    mine = [e for e in kinds if e.parameters.direction is way and tuple(sorted(e.parameters.paths)) == paths]
    asked = any(e.parameters.company is Company.NEIGHBOURS for e in kinds)
    return [t for e in mine for t in e.trials] if asked else []


def _side(trials: Iterable[TrialResult]) -> _Side:
    legs = [leg for t in trials for leg in t.legs if leg.path == WATCHED]
    loads = (leg.outcome for leg in legs if leg.role is Role.LOAD)
    rates = tuple(one.goodput_bps if one.ok else 0.0 for one in loads if one.ok or one.fault is Fault.PATH)
    pings = (g.outcome.rtt for g in legs if g.role is Role.PING and g.pinged_by is End.NEAR)
    return _Side(rates, tuple(one for one in pings if one is not None))


def _busy(trials: Iterable[TrialResult]) -> str:
    """An end of the watched path that had no core to spare."""
    for t in trials:
        for leg in t.legs:
            for n in (leg.near, leg.far) if leg.path == WATCHED else ():
                cpu = t.ends[n].cpu if n < len(t.ends) else None
                if cpu is not None and cpu.busiest >= BUSY:
                    return t.ends[n].name
    return ""
