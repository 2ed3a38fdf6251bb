"""Reports on bundles that were set up as settings on loan: the rates of one flow and of many, and reordering."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from linkladder.judge.bundles import as_uneven
from linkladder.judge.disorder import counted, disorder
from linkladder.model import Direction, ExperimentResult, Protocol, RungResult, TrialResult
from linkladder.phrases import bundles as say

WHOLE = 0.95  # share of a flow's bytes that one card must carry; the rest are acknowledgements of other traffic


def lent_bundles(rung: RungResult) -> list[str]:
    """Sentences on each kind of bundle in each direction, and on each card's share of the most flows."""
    said: list[str] = []
    lent = dict.fromkeys(
        e.parameters.settings for e in rung.experiments if e.parameters.bundled and not e.parameters.member_down
    )
    for settings in lent:
        for way in (Direction.FORWARD, Direction.REVERSE):
            mine = [e for e in rung.experiments if e.parameters.settings == settings and e.parameters.direction is way]
            said += _of_kind(way, [e for e in mine if e.parameters.protocol is Protocol.TCP])
    return said


def _of_kind(way: Direction, experiments: list[ExperimentResult]) -> Iterable[str]:
    """Sentences on the rates of the fewest and the most flows over one kind of bundle; the best port block counts."""
    by_flows: dict[int, list[TrialResult]] = {}
    for e in experiments:
        good = [t for t in e.trials if t.ok and t.goodput_bps > 0]
        if good:
            by_flows[e.parameters.streams] = max(by_flows.get(e.parameters.streams, good), good, key=_median)
    if not by_flows:
        return
    asked = experiments[0].parameters
    rates = {flows: _median(good) for flows, good in by_flows.items()}
    fewest, most = min(rates), max(rates)
    first = by_flows[fewest][0]
    cards = max(1, len(first.sender(way).members))
    order = disorder(first, way)
    yield say.lent(
        asked.bundled,
        [one for one in asked.settings if not one.of_bundle],
        str(way),
        cards,
        [(flows, rates[flows]) for flows in dict.fromkeys((fewest, most))],
        one_card=fewest == 1 and max(_sent(first, way).values(), default=0.0) >= WHOLE,
        out_of_order=order.out_of_order if order else None,
        for_nothing=order.again * order.needless if order and order.needless is not None else None,
        counted=counted(first, way) if order and order.kind else "",
    )
    trial = by_flows[most][0]
    for end, sends in ((trial.sender(way), True), (trial.receiver(way), False)):
        found = _shares({m.name: m.tx_bytes if sends else m.rx_bytes for m in end.members})
        if len(found) > 1:
            chance = None if asked.bundled == "roundrobin" else as_uneven(most, found)
            yield say.shares(end.name, sends, most, found, chance)


def _median(trials: list[TrialResult]) -> float:
    return statistics.median(t.goodput_bps for t in trials)


def _sent(trial: TrialResult, way: Direction) -> dict[str, float]:
    return _shares({m.name: m.tx_bytes for m in trial.sender(way).members})


def _shares(counted: dict[str, int]) -> dict[str, float]:
    total = sum(counted.values())
    return {name: moved / total for name, moved in counted.items()} if total else {}
