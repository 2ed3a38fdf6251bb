"""Tells how many cores the rate that was bought needs, by trials with the tool confined to more and more cores."""

from __future__ import annotations

from dataclasses import replace

from linkladder.judge.ceilings import at_lent_mtu, ceiling, duplex_share
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.pairs import ERROR
from linkladder.judge.stats import difference, spread
from linkladder.model import Contract, Direction, Experiment, ExperimentResult, Fault, Protocol, RungResult
from linkladder.phrases import sizing as say


def sizing(rung: RungResult, deal: Contract) -> tuple[str, ...]:
    """A sentence for each load and direction measured with confined cores, and for where more streams carry less."""
    groups: dict[tuple[Experiment, Direction], dict[int, list[float]]] = {}
    for e in rung.experiments:
        p = e.parameters
        if p.cores and p.protocol is Protocol.TCP:
            for way in ways(p):
                values = _carried(e, way)
                if values:
                    groups.setdefault((_load(p), way), {}).setdefault(p.cores, []).extend(values)
    answers = [_needed(load, way, by, deal) for (load, way), by in groups.items()]
    return (*answers, *_worse_with_streams(groups))


def _load(p: Experiment) -> Experiment:
    """The experiment without what differs between numbers of cores, to group trials of the same load."""
    return replace(p, id="", cores=None, baseline="", begins=False, label="", repeats=1)


def _carried(e: ExperimentResult, way: Direction) -> list[float]:
    """Of each trial; one that the path failed carried nothing."""
    return [direction_bps(t, e.parameters, way) if t.ok else 0.0 for t in e.trials if t.ok or t.fault is Fault.PATH]


def _needed(load: Experiment, way: Direction, by: dict[int, list[float]], deal: Contract) -> str:
    lent = at_lent_mtu(deal, load.settings)
    share = duplex_share(lent) if load.direction is Direction.DUPLEX else 1.0
    wanted = deal.pass_ratio * ceiling(lent).bps * share
    seen = {cores: spread(values) for cores, values in sorted(by.items())}
    sure = [cores for cores, s in seen.items() if s.count > 1 and s.low >= wanted]  # one repeat shows no noise
    return say.needed(load, way, min(sure, default=None), seen, wanted)


def _worse_with_streams(groups: dict[tuple[Experiment, Direction], dict[int, list[float]]]) -> list[str]:
    """Sentences on where the same cores carry significantly less with more streams, at 95 % for all together."""
    both = [
        (cores, many, few, way, fewer[cores], by[cores])
        for (many, way), by in groups.items()
        for (few, other), fewer in groups.items()
        if way is other and replace(many, streams=few.streams) == few and many.streams > few.streams
        for cores in sorted(by.keys() & fewer.keys())
    ]
    said = []
    for cores, many, few, way, before, after in both:
        change, noise = difference(before, after, 1 - ERROR / len(both))
        if noise is not None and change < -noise:
            said.append(say.worse_with_streams(cores, -change, many, few.streams, way))
    return said
