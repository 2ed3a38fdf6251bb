"""Estimates how many members a bundle of links has, perhaps a carrier's, from the rates of one flow and of many.

A bundle assigns flows to members by a hash of their ports. The rate of n flows, divided by the rate of one flow, tells
how many members they use. How likely that is for each number of members follows from throwing n balls into as many
bins. Needs a single flow that the way held (a queue, its ceiling): a window, a busy end or lost packets hold each by
itself, so that many get many times as much over a single link too, and no number of members is told.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import gather
from linkladder.judge.limiters import holds_each_flow, limiter_of, of_an_end
from linkladder.model import Contract, Direction, Experiment, Protocol, RungName, RungResult, TrialResult
from linkladder.phrases import bundles as say
from linkladder.verdicts import BundleJudgement, LimiterKind

MOST = 8  # the largest number of members that is considered
SLACK = 0.25  # how far a sum may lie from a whole number of members
NO_MORE = 1.1  # times the rate of one flow; what many get beyond it is more than one member's
SURE = 0.5  # the chance above which a number of members is called likely
SHORT = 0.12  # share of what the members can carry; if more is unused, the flows are called uneven
LOPSIDED = 1.4  # times its even share of the flows on one member; 70 % of them where there are two


def judge_bundles(rung: RungResult, deal: Contract) -> tuple[BundleJudgement, ...]:
    """A judgement for each direction in which single flows and many flows from stated client ports were measured."""
    found = (_judge(rung, way, deal) for way in (Direction.FORWARD, Direction.REVERSE))
    return tuple(one for one in found if one is not None)


@dataclass
class _Rates:
    """What flows from stated client ports got in one direction."""

    blocks: dict[int, dict[int, float]] = field(default_factory=dict)  # median bit/s by first port and number of flows
    held: list[tuple[float, LimiterKind]] = field(default_factory=list)  # single flows that something of their own held
    ends: dict[int, LimiterKind] = field(default_factory=dict)  # numbers of flows whose sum an end held, or may have


def _rates(rung: RungResult, deal: Contract, way: Direction) -> _Rates:
    found = _Rates()
    for e in rung.experiments:
        p = e.parameters
        if p.protocol is not Protocol.TCP or not p.client_port or p.direction is not way or p.settings:
            continue
        good = [(t.goodput_bps, held_by(t, p, deal, rung, way)) for t in e.trials if t.ok and t.goodput_bps > 0]
        if p.streams == 1:
            found.held += [(bps, hold) for bps, hold in good if hold]
            good = [one for one in good if not one[1]]
        elif good and (hold := max(good, key=lambda one: one[0])[1]) and of_an_end(hold):
            found.ends[p.streams] = hold
        if good:
            found.blocks.setdefault(p.client_port, {})[p.streams] = statistics.median(bps for bps, _ in good)
    return found


def held_by(trial: TrialResult, p: Experiment, deal: Contract, rung: RungResult, way: Direction) -> LimiterKind | None:
    """What held the flow, or may have; None: the way itself."""
    bounded = rung.name is RungName.DC_LINK
    seen = gather(trial, p, deal, way, rung, bounded)
    measured = None not in (seen.sender_busy, seen.receiver_busy, seen.loaded_ms or seen.idle_ms)
    return holds_each_flow(limiter_of(seen, bounded), measured)


def _judge(rung: RungResult, way: Direction, deal: Contract) -> BundleJudgement | None:
    seen = _rates(rung, deal, way)
    blocks, limit = seen.blocks.values(), ceiling(deal).bps
    singles = [rates[1] for rates in blocks if 1 in rates]
    many = [(flows, bps) for rates in blocks for flows, bps in rates.items() if flows > 1]
    if not (singles or seen.held) or not many:
        return None
    one = statistics.median(singles or [bps for bps, _ in seen.held])
    top = max(flows for flows, _ in many)
    steps = {flows: max(bps for n, bps in many if n == flows) for flows in sorted({n for n, _ in many})}
    made = BundleJudgement(str(way), one, top, steps[top], 0, 0.0, {str(n): bps for n, bps in steps.items()})
    if not singles:
        hold = statistics.mode(hold for _, hold in seen.held)
        return replace(made, held=str(hold), sentences=(say.cannot_tell(made, hold),))
    chances = likely([(flows, bps / one) for flows, bps in many])
    members = max(chances, key=lambda m: chances[m])
    few = chances[members] <= SURE and members > 1  # few flows say that they took different members, and no more
    if few:
        members = min(MOST, max(1, round(max(bps for _, bps in many) / one)))
    if members == 1 and top in seen.ends:
        hold = seen.ends[top]
        return replace(made, held=str(hold), sentences=(say.cannot_tell_together(made, hold),))
    if members == 1 and made.most_bps > NO_MORE * one:
        return replace(made, sentences=(say.between(made),))
    worst = [rates[top] for rates in blocks if top in rates]
    unused = 1 - max(worst) / (members * one)
    chance = sum(p for m, p in chances.items() if few or m == members)
    lopsided = min(1.0, LOPSIDED / members)
    luck = odds(top, members, lopsided)
    made = replace(made, members=members, chance=chance, odds=luck, unused=max(0.0, unused))
    at_ceiling, by_end = made.most_bps > 0.95 * limit, top in seen.ends
    least = say.AT_CEILING if at_ceiling else say.BY_AN_END if by_end else say.FEW_FLOWS if few else ""
    sentences = [say.concluded(made, least)]
    if members > 1 and unused > SHORT and (at_ceiling or not least):
        sentences.append(say.uneven(made, len(worst), lopsided) if len(worst) > 1 else say.one_block(made))
    return replace(made, sentences=tuple(sentences))


def member_shares(rung: RungResult) -> list[str]:
    """Sentences on what share each card of an end's bundle carried, in each direction's trial with the most flows."""
    said = []
    for way in (Direction.FORWARD, Direction.REVERSE):
        loads = [e for e in rung.experiments if e.parameters.protocol is Protocol.TCP and e.parameters.direction is way]
        trials = [(e.parameters.streams, t) for e in loads if not e.parameters.settings for t in e.trials if t.ok]
        if not trials:
            continue
        flows, trial = max(trials, key=lambda one: one[0])
        for end, sends in ((trial.sender(way), True), (trial.receiver(way), False)):
            counted = {m.name: m.tx_bytes if sends else m.rx_bytes for m in end.members}
            total = sum(counted.values())
            if len(counted) > 1 and total:
                found = {name: moved / total for name, moved in counted.items()}
                said.append(say.shares(end.name, sends, flows, found, as_uneven(flows, found)))
    return said


def likely(seen: Sequence[tuple[int, float]], most: int = MOST) -> dict[int, float]:
    """How likely each number of members is, given pairs of (flows, their rate in units of one flow's rate)."""
    weights = {}
    for members in range(1, most + 1):
        weight = 1.0
        for flows, sum_of_them in seen:
            weight *= sum(
                occupied(flows, members, used) * _fits(sum_of_them, used) for used in range(1, min(flows, members) + 1)
            )
        weights[members] = weight
    total = sum(weights.values())
    if total <= 0:
        return {1: 0.0}
    return {members: weight / total for members, weight in weights.items()}


def _fits(measured: float, used: int) -> float:
    """How well a rate, in units of one member's rate, fits `used` members in use."""
    off = (measured - used) / (SLACK * max(1.0, used / 2))
    return math.exp(-0.5 * off * off) + 1e-6


@cache
def occupied(flows: int, members: int, used: int) -> float:
    """The chance that `flows` flows fall on exactly `used` of the members."""
    if used > min(flows, members) or used < 1:
        return 0.0
    ways = sum((-1) ** k * math.comb(used, k) * (used - k) ** flows for k in range(used + 1))
    return float(math.comb(members, used) * ways / members**flows)


def odds(flows: int, members: int, share: float) -> float:
    """The chance that hashing puts at least the share `share` of the flows on one member."""
    if members < 2:
        return 1.0
    least = math.ceil(share * flows - 1e-9)
    counted = _no_member_with(least, flows, members)
    return float(1 - counted / members**flows)


def as_uneven(flows: int, shares: Mapping[str, float]) -> float:
    """The chance that hashing alone is as uneven as these shares; bytes come close to those of whole flows."""
    return odds(flows, len(shares), round(max(shares.values()) * flows) / flows)


def _no_member_with(least: int, flows: int, members: int) -> int:
    """In how many ways the flows can fall such that every member has fewer than `least` of them."""
    ways: Mapping[int, int] = {0: 1}  # flows placed -> draws
    for _ in range(members):
        after: dict[int, int] = {}
        for placed, count in ways.items():
            for more in range(min(least - 1, flows - placed) + 1):
                after[placed + more] = after.get(placed + more, 0) + count * math.comb(flows - placed, more)
        ways = after
    return ways.get(flows, 0)
