"""Judges whether what was measured bounds the loss below the contract's limit, as few packets without a loss do not.

Of n packets of which none is lost, up to 1 - 0.05^(1/n) of all may be (at 95 %): of 20 pings 13.9 %, and it takes 2995
to show 0.1 %. Needs paced UDP's datagrams, pings, or TCP's count of segments sent again; the strongest of them decides
for each path and direction. Segments sent again bound the path's loss from above, also where TCP's own queue lost them;
whether they are too many is another question. They stand beside pings or datagrams, and for none: TCP does not count
the acknowledgements that were lost, nor what is lost on an idle link. What is lost in seconds that count for no figure
bounds nothing, but is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkladder.judge.besides_the_rate import FEW
from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import of_path, ways
from linkladder.judge.outages import by_chance
from linkladder.judge.udp import UNLIKELY, above_contract, lost_between, of_path_alone
from linkladder.model import (
    Contract,
    Direction,
    Experiment,
    ExperimentResult,
    Fault,
    Leg,
    Protocol,
    Role,
    Rtt,
    RungName,
    RungResult,
    TrialResult,
)
from linkladder.model.several_legs import share
from linkladder.phrases import besides_the_rate as say
from linkladder.phrases.outages import of_path as name
from linkladder.verdicts import Cause, Concern, Verdict

MORE = 2.0  # times the share lost in the counted seconds; less than that more is told by their own loss
UNSURE = 0.05  # probability of so few losses at the bound


@dataclass(frozen=True)
class Seen:
    """Packets of one kind, and how many of them were lost or may have been."""

    kind: str  # "pings", "datagrams", "segments"
    sent: int
    lost: int
    of: int = 1  # among how many alike; the best of several may be mere luck

    @property
    def at_most(self) -> float:
        """The share of loss that this leaves possible."""
        return most_lost(self.lost, self.sent, UNSURE / self.of)


def most_lost(lost: int, sent: int, unsure: float = UNSURE) -> float:
    """The largest share of loss with which so few of those sent are lost with that probability or more."""
    if lost >= sent:
        return 1.0
    if lost <= 0:
        return -math.expm1(math.log(unsure) / sent)
    low, high = lost / sent, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - by_chance(lost + 1, sent, middle) > unsure else (low, middle)
    return high


def loss_bound(rung: RungResult, deal: Contract) -> list[Concern]:
    """A concern, of a PASS alone, about the path and direction of whose loss the least is known, if that is too little.

    `pings` tells of series of pings none of which was answered.
    """
    if deal.loss_percent >= 100:
        return []
    loads = [e for e in rung.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP)]
    loaded = {
        (g.path, way)
        for e in loads
        for way in ways(e.parameters)
        for t in e.trials
        for g in t.legs
        if g.role is Role.LOAD and g.outcome.ok
    }
    asked = {
        g.path for e in rung.experiments if e.parameters.protocol is Protocol.ECHO for t in e.trials for g in t.legs
    }
    worst: tuple[float, str] | None = None
    for path, way in sorted(loaded):
        seen = [*_pings(rung, path, deal), *_datagrams(loads, path, way, deal)]
        if seen or path in asked:
            seen += _segments(loads, path, way, deal)
        best = min(seen, key=lambda one: one.at_most, default=None)
        possible = best.at_most if best else math.inf
        if 100 * possible > deal.loss_percent and (worst is None or possible > worst[0]):
            which = name(rung.paths, (path,), way)
            said = say.loss_up_to(best.kind, best.sent, best.lost, possible, which, deal.loss_percent) if best else ""
            worst = possible, said or say.loss_unmeasured(deal.loss_percent, which)
    if worst is None:
        return []
    figures = {"loss_at_most_percent": 100 * worst[0]} if worst[0] <= 1 else {}
    return [Concern(Cause.PING_LOSS, worst[1], Verdict.PASS, provisional=True, figures=figures)]


def _pings(rung: RungResult, path: int, deal: Contract) -> Iterator[Seen]:
    """Those on the idle link, and together with those beside loads; a series without any answer may be filtered.

    Beside loads a queue may lose more of them than the limit allows, which then tells nothing of the limit.
    """
    idle, beside = _series(rung, path, Role.LOAD), _series(rung, path, Role.PING)
    sent, lost = _sums(beside)
    kept = by_chance(lost, sent, deal.loss_percent / 100) >= FEW
    for known in (idle, [*idle, *beside] if kept else []):
        sent, lost = _sums(known)
        if sent:
            yield Seen("pings", sent, lost)


def _sums(known: list[Rtt]) -> tuple[int, int]:
    sent = sum(r.sent for r in known)
    return sent, sent - sum(r.received for r in known)


def _series(rung: RungResult, path: int, role: Role) -> list[Rtt]:
    legs = (g for e in rung.experiments for t in e.trials for g in t.legs if g.path == path and g.role is role)
    return [g.outcome.rtt for g in legs if g.outcome.rtt is not None and g.outcome.rtt.received]


def _trials(
    loads: list[ExperimentResult], path: int, way: Direction, kind: Protocol
) -> Iterator[tuple[ExperimentResult, TrialResult, int]]:
    """Each trial of the kind that loaded the path this way, without other paths, and how many it loaded in all."""
    for e in loads:
        for t in e.trials if e.parameters.protocol is kind and way in ways(e.parameters) else ():
            one = of_path_alone(t, path, way) if kind is Protocol.UDP else of_path(t, path)
            if one.ok:
                yield e, one, len(t.loads)


def _datagrams(loads: list[ExperimentResult], path: int, way: Direction, deal: Contract) -> Iterator[Seen]:
    """Those paced within the contract; what an end lost by its own counters was not lost on the path."""
    sent, lost = 0, 0.0
    for e, t, paths in _trials(loads, path, way, Protocol.UDP):
        if not above_contract(e.parameters, deal) and t.datagrams and t.lost is not None:
            sent += t.datagrams
            lost += t.datagrams * lost_between(t, e.parameters, paths, way)
    if sent:
        yield Seen("datagrams", sent, math.ceil(lost - 0.01))


def _segments(loads: list[ExperimentResult], path: int, way: Direction, deal: Contract) -> list[Seen]:
    """TCP's segments of each setting and how many it sent again; the setting that fills the queue least tells most.

    An end's own count is of all its paths, so that it may be too high.
    """
    size = ceiling(deal).payload_bytes
    counts: dict[str, tuple[int, int]] = {}
    for e, t, paths in _trials(loads, path, way, Protocol.TCP):
        flows = [f for f in t.flows if f.direction is way]
        by_flow = [f.retransmits for f in flows if f.retransmits is not None]
        by_tool = [sum(by_flow)] if by_flow and len(by_flow) == len(flows) else []
        counted = t.sender(way).tcp
        by_end = [counted.retransmits] if counted is not None and counted.retransmits is not None else []
        known = by_tool if by_tool and paths > 1 else [*by_tool, *by_end]
        if known:
            sent, again = counts.get(e.parameters.id, (0, 0))
            counts[e.parameters.id] = sent + sum(f.total_bytes for f in flows) // size, again + max(known)
    return [Seen("segments", sent, again, len(counts)) for sent, again in counts.values() if sent]


def uncounted(rung: RungResult, sold: Contract, together: Contract) -> list[Concern]:
    """Findings about what was lost in seconds that count for no figure; `sold`: for one path, `together`: for all.

    They decide nothing: in the warm-up a first packet may wait for an address, and a load that is discarded finds
    adapters that have just started anew.
    """
    return [*(_early(rung, sold, together) if rung.name is RungName.DC_LINK else ()), *_discarded(rung)]


def _early(rung: RungResult, sold: Contract, together: Contract) -> Iterator[Concern]:
    limit = sold.loss_percent / 100
    for e in rung.experiments:
        p = e.parameters
        for way in ways(p) if p.protocol is Protocol.UDP else ():
            within = [t for t in e.trials if t.loads and not _offers_more(p, len(t.loads), sold, together)]
            loads = [g for t in within for g in t.legs if g.role is Role.LOAD]
            counts = [_before_it(leg, way) for leg in loads]
            lost, sent = sum(lost for lost, _ in counts), sum(sent for _, sent in counts)
            later = sum(g.outcome.lost or 0 for g in loads) / max(1, sum(g.outcome.datagrams or 0 for g in loads))
            surely = lost > limit * sent and by_chance(lost, sent, limit) <= UNLIKELY
            if surely and lost > MORE * later * sent:
                figures = {"lost": float(lost), "datagrams": float(sent)}
                yield Concern(
                    Cause.SEEN,
                    say.lost_early(p, way, lost, sent, later, sold.loss_percent, rung.paths),
                    figures=figures,
                )


def _offers_more(p: Experiment, paths: int, sold: Contract, together: Contract) -> bool:
    return above_contract(p, together) or above_contract(share(p, paths), sold)


def _before_it(leg: Leg, way: Direction) -> tuple[int, int]:
    """Lost and sent before the first counted second."""
    seconds = [i for i in leg.outcome.intervals if i.direction is way]
    first = min((i.start for i in seconds if i.counted), default=0.0)
    early = [i for i in seconds if i.start < first and i.datagrams and i.lost is not None]
    return sum(i.lost or 0 for i in early), sum(i.datagrams or 0 for i in early)


def _discarded(rung: RungResult) -> Iterator[Concern]:
    for e in rung.experiments:
        p, before = e.parameters, [[g for g in t.legs if g.role is Role.DISCARDED] for t in e.trials]
        failed = [[g for g in legs if g.outcome.fault is Fault.PATH] for legs in before]
        stalled, trials = sum(map(bool, failed)), sum(map(bool, before))
        if size := _never_answered(before):
            said = say.size_unanswered(p, size, trials, sum(map(len, failed)), rung.paths)
        elif stalled:
            why = next(g.outcome.reason for legs in failed for g in legs)
            said = say.discarded_load(p, stalled, trials, sum(map(len, failed)), why, rung.paths)
        else:
            continue
        yield Concern(Cause.SEEN, said, figures={"trials": float(stalled)})


def _never_answered(before: Sequence[Sequence[Leg]]) -> int:
    """The size of the packets that were sent before every trial, and of which none was answered; 0 otherwise.

    An adapter that starts anew may miss the first of them: where a later one was answered, the way carries them.
    """
    probes = [[g.outcome.path_mtu for g in legs if g.outcome.path_mtu] for legs in before if legs]
    if not probes or not all(probes) or any(seen.passed for each in probes for seen in each):
        return 0
    return min((size for each in probes for seen in each for size in seen.failed), default=0)
