"""What kept a trial from more: one answer with its figures, or two with what would tell them apart.

`RULES` go from what settles the question alone (nothing arrived, the ceiling was reached, a quota withheld the CPU)
to what has to be weighed (a full window, lost segments, a growing queue, a busy core).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace

from linkladder.judge.black_holes import OPENED, passing, swallowed, unsized
from linkladder.judge.evidence import BUSY, CLOSE, Evidence, gather
from linkladder.judge.full_window import HELD, full_window, loss_explains, lost_some
from linkladder.judge.loss_signs import (
    ABOVE,
    REAL_LOSS,
    burst_signs,
    bursts,
    loses_below,
    loss_signs,
    no_policer,
    policer_signs,
    rate_shown,
    rising,
    same_share,
)
from linkladder.judge.withheld import EXPLAINS, STARVED
from linkladder.model import Contract, Direction, Experiment, RungResult, TrialResult
from linkladder.phrases import limiters as say
from linkladder.verdicts import Limiter, LimiterKind

AT_CEILING = 0.97
NEAR_CEILING = 0.93  # enough where most seconds run at the ceiling: what is short is lost in single dips
SOME_LOSS = 1e-5
SOME_STALLS = 5  # closed windows in a trial; one or two happen at its end
LONG_MS = 10.0  # a round trip in which TCP grows so slowly that a trial may end before it is done
GROWS = 1.05  # times the first third of the seconds
LITTLE = 4  # segments; where fewer wait while some are lost, what drops them may let bursts of no more through
QUEUE_MS = 3.0  # a round trip that rises by more waits in a queue, however busy the ends are
TRICKLE = 0.002  # of the ceiling: what crawls through where large sends vanish
DROPS = 5e-4  # of the packets that a card must have dropped before it is named
ALONE = 0.2  # of a busy end's rise: pings of an idle end that rise less waited in no queue of the path
CARRIES = 2.0  # times TCP's rate: so much more UDP tells that no plain policer is at work
BY_SIGNS = {LimiterKind.SHAPER, LimiterKind.POLICER, LimiterKind.LOSS, LimiterKind.BURST, LimiterKind.REORDERING}

_Rule = Callable[[Evidence], Limiter | None]


def limiter(
    trial: TrialResult,
    experiment: Experiment,
    contract: Contract,
    rung: RungResult | None = None,
    direction: Direction | None = None,
    bounded: bool = True,
) -> Limiter:
    """The limiter of one direction; `rung` lends its idle round trip, DF probes and paced UDP as further witnesses."""
    way = direction or (Direction.FORWARD if experiment.direction is not Direction.REVERSE else Direction.REVERSE)
    return limiter_of(gather(trial, experiment, contract, way, rung, bounded), bounded)


def limiter_of(evidence: Evidence, bounded: bool) -> Limiter:
    """The first rule that finds something; `bounded`: whether the contract is a limit here."""
    rules = RULES
    if not bounded and _busy_ends(evidence):
        rules = (_nothing_arrived, _starved, _busy)  # inside a host a saturated core is the expected end of all
    for rule in rules:
        if found := rule(evidence):
            found = _though_withheld(evidence, found)
            return _with_queues(evidence, found) if LimiterKind.RECEIVER in found.candidates else found
    return _unknown(evidence)


def host_bound(evidence_limiter: Limiter | None) -> bool:
    """Whether an end, not the path, is or may be what limits."""
    ends = {LimiterKind.SENDER, LimiterKind.RECEIVER}
    return evidence_limiter is not None and bool(ends & {evidence_limiter.kind, *evidence_limiter.candidates})


def held_by_window(found: Limiter | None) -> bool:
    """Whether a window limits, or may be what does: one that is full, or one that is still growing."""
    windows = {LimiterKind.WINDOW, LimiterKind.GROWTH}
    return found is not None and bool(windows & {found.kind, *found.candidates})


def holds_each_flow(found: Limiter, measured: bool) -> LimiterKind | None:
    """What holds, or may hold, each flow by itself, so that many get more over a single way too; None: the way does.

    Where no rule finds a limit the way is what is left, if the ends were `measured`: it would have been found there.
    """
    if host_bound(found):
        return LimiterKind.RECEIVER if LimiterKind.RECEIVER in found.candidates else LimiterKind.SENDER
    if held_by_window(found):
        return LimiterKind.GROWTH if found.kind is LimiterKind.GROWTH else LimiterKind.WINDOW
    if found.kind in (LimiterKind.LINK, LimiterKind.SHAPER) or (not found.known and measured):
        return None
    return found.kind


def of_an_end(kind: LimiterKind | None) -> bool:
    return kind in (LimiterKind.SENDER, LimiterKind.RECEIVER)


def at_ceiling(found: Limiter | None) -> bool:
    return found is not None and found.kind is LimiterKind.LINK


def own_card(sentence: str, evidence: tuple[str, ...]) -> Limiter:
    """An end's own card, which other figures than a trial's have shown to be in trouble."""
    return Limiter(LimiterKind.OWN_CARD, sentence, (LimiterKind.OWN_CARD,), evidence)


def _limiter(kind: LimiterKind, said: say.Said, *others: LimiterKind) -> Limiter:
    """`others` that the evidence fits as well."""
    return Limiter(kind, said.sentence, (kind, *others), said.evidence, said.experiment)


def _nothing_arrived(e: Evidence) -> Limiter | None:
    if e.goodput <= 0 and e.without_link:
        return _limiter(LimiterKind.OWN_CARD, say.without_link(e.without_link))
    if hole := swallowed(e):
        found = e.goodput, hole.mtu, hole.failed
        if e.goodput <= 0 and e.total_bytes >= OPENED * e.mss:
            return _limiter(LimiterKind.PATH_MTU, say.silent_at_hole(e.total_bytes, *found[1:]), LimiterKind.OUTAGE)
        if unsized(e, hole):
            return _limiter(LimiterKind.PATH_MTU, say.hole_above(*found), LimiterKind.LARGE_SENDS)
        return _limiter(LimiterKind.PATH_MTU, say.black_hole(*found))
    passes = passing(e)
    # What loses a tenth of paced UDP is open, and TCP backs off for seconds all the same.
    stalled = _lossy(e) if loss_signs(e) else None
    if passes is not None and 0 < e.goodput <= TRICKLE * (e.ceiling or 0.0):
        if stalled and any(p.loss > REAL_LOSS for p in e.paced):
            return stalled
        return _limiter(LimiterKind.LARGE_SENDS, say.trickle(e.goodput, passes))
    if e.goodput > 0:
        return None
    if e.flows == 0:
        return _no_limit(LimiterKind.UNKNOWN, say.no_connection())
    if e.total_bytes < OPENED * e.mss and passes is not None:
        return _limiter(LimiterKind.LARGE_SENDS, say.opened_only(e.total_bytes, passes))
    if e.total_bytes < OPENED * e.mss:
        return _limiter(LimiterKind.PATH_MTU, say.opened_unprobed(e.total_bytes), LimiterKind.LARGE_SENDS)
    return stalled or _no_limit(LimiterKind.OUTAGE, say.went_silent(e.total_bytes))


def _no_limit(kind: LimiterKind, said: say.Said) -> Limiter:
    """What is no limit has no candidates."""
    return Limiter(kind, said.sentence, evidence=said.evidence, experiment=said.experiment)


def _link(e: Evidence) -> Limiter | None:
    if e.ratio is None or e.ceiling is None:
        return None
    level = statistics.median(e.seconds) / e.ceiling if e.seconds else 0.0
    dips = e.ratio < AT_CEILING
    if dips and (e.ratio < NEAR_CEILING or level < 0.985):
        return None
    return _limiter(LimiterKind.LINK, say.link(e.goodput, e.ceiling, level if dips else None))


def _starved(e: Evidence) -> Limiter | None:
    """An end that was kept from its CPU, in the measure that this explains; what is short beyond it has another cause.

    Needs the share withheld.  Where no ceiling tells how much is short, all of it may be the end's.
    """
    kind, end, lacked, share = _most_withheld(e)
    if share < STARVED or (e.ratio is not None and 1 - e.ratio > EXPLAINS * share):
        return None
    return _limiter(kind, say.starved(kind, end, lacked, e.goodput))


def _most_withheld(e: Evidence) -> tuple[LimiterKind, str, float, float]:
    if e.sender_starved >= e.receiver_starved:
        return LimiterKind.SENDER, e.sender, e.sender_lacked, e.sender_starved
    return LimiterKind.RECEIVER, e.receiver, e.receiver_lacked, e.receiver_starved


def _though_withheld(e: Evidence, found: Limiter) -> Limiter:
    """What the path's signs name beside an end that stood still at times: said, and open where that gives such signs.

    A standing queue shows in the quick round trips too, and loss of the path in datagrams that came evenly.
    """
    kind, end, lacked, share = _most_withheld(e)
    if share < STARVED or found.kind not in BY_SIGNS or host_bound(found):
        return found
    if found.kind is LimiterKind.SHAPER:
        quick_ones_too = e.floor_ms is not None and rising(replace(e, loaded_ms=e.floor_ms))
        certain = quick_ones_too or rate_shown(e)
    else:
        certain = found.kind is not LimiterKind.BURST and _lost_evenly(e)
    said = say.though_withheld(found.sentence, end, lacked, EXPLAINS * share, certain)
    candidates = found.candidates if certain else (*found.candidates, kind)
    return replace(found, sentence=said.sentence, evidence=(*found.evidence, *said.evidence), candidates=candidates)


def _with_queues(e: Evidence, found: Limiter) -> Limiter:
    from linkladder.judge.busy_queues import with_queues  # imported late, as few runs have a receiver that limits

    return with_queues(found, e.heard, CLOSE) if e.heard else found


def _lost_evenly(e: Evidence) -> bool:
    """Whether paced UDP was lost that no busy sender sent in bursts: the path's loss, not an end's."""
    return any(p.loss > REAL_LOSS and not p.uneven for p in e.paced)


def _window(e: Evidence) -> Limiter | None:
    said = full_window(e)
    return said and _limiter(LimiterKind.WINDOW, said)


def _growth(e: Evidence) -> Limiter | None:
    """A long way on which TCP goes on growing to the end: what has met neither loss nor a queue met no limit.

    Needs the seconds, that nothing was sent again or that it had arrived, and the round trip with and without load.
    """
    part, d = len(e.seconds) // 3, e.disorder
    none_lost = e.retransmits == 0 or (d is not None and d.nothing_lost and not d.slows_tcp)
    if part < 1 or not none_lost or e.rise_ms is None or e.idle_ms is None or e.loaded_ms is None:
        return None
    if e.idle_ms < LONG_MS or rising(e):
        return None
    first, last = e.seconds[:part], e.seconds[-part:]
    if min(last) <= max(first) or statistics.fmean(last) < GROWS * statistics.fmean(first):
        return None
    found = _limiter(LimiterKind.GROWTH, say.growth(e.goodput, first[0], last[-1], (e.idle_ms, e.loaded_ms)))
    for end, busiest in _busy_ends(e):  # by other work, or by what it sends: the growth alone does not tell
        said = say.or_the_end(found.sentence, end, busiest)
        found = replace(found, sentence=said, candidates=(*found.candidates, end))
    return found


def _queue(e: Evidence) -> Limiter | None:
    if not rising(e) or e.rise_ms is None or e.idle_ms is None or e.loaded_ms is None:
        return None
    if _busy_ends(e) and not (e.loss or 0.0) > REAL_LOSS and e.rise_ms < QUEUE_MS:
        return None  # a saturated core makes pings wait a little as well
    if bursts(e) and policer_signs(e):
        return None  # what a policer lets through in bursts waits behind it, though nothing is shaped
    if loss_signs(e) and any(p.delivered_bps > ABOVE * e.goodput for p in e.paced):
        return None  # a path that carries more, and loses at any rate, is not shaped to what TCP gets
    waiting = e.rise_ms / 1000 * e.goodput / 8
    for_nothing = e.disorder is not None and e.disorder.nothing_lost
    lost = e.loss if e.loss and e.loss > SOME_LOSS and not for_nothing else None
    end, busiest = _busier(e)
    if busiest >= CLOSE and not rate_shown(e):
        # In a machine whose cores are that busy a standing queue is its own until something shows otherwise.
        if _seen_by_busy_alone(e):
            return _limiter(end, say.queue_inside(end, e.idle_ms, e.loaded_ms, e.calm_ms or 0.0, e.goodput, busiest))
        own = say.own_queue(e.idle_ms, e.loaded_ms, e.goodput, lost, end, busiest, e.calm_ms)
        return _limiter(LimiterKind.SHAPER, own, end)
    found = say.queue(e.idle_ms, e.loaded_ms, waiting, e.goodput, lost)
    if e.held is not None and e.held >= HELD and not lost_some(e) and not rate_shown(e):
        # What waits may be all that the receiver's window let out, held up by the receiver or by others' traffic.
        return _limiter(LimiterKind.SHAPER, say.or_the_window(found, e.held), LimiterKind.WINDOW)
    if e.zero_windows >= SOME_STALLS and not lost_some(e) and not rate_shown(e):
        return _limiter(LimiterKind.SHAPER, say.or_the_receiver(found, e.zero_windows), LimiterKind.RECEIVER)
    if lost and waiting < LITTLE * e.mss and not rate_shown(e):
        said = say.or_a_burst(found.sentence, found.experiment, uneven=False)
        return _limiter(LimiterKind.SHAPER, found._replace(sentence=said.sentence), LimiterKind.BURST)
    if e.disorder and e.disorder.slows_tcp and not rate_shown(e):
        either = say.or_reordered(found, e.disorder.out_of_order, e.disorder.again)
        return _limiter(LimiterKind.SHAPER, either, LimiterKind.REORDERING)
    return _limiter(LimiterKind.SHAPER, found)


def _seen_by_busy_alone(e: Evidence) -> bool:
    """Whether the round trip rises for the pings of the busy end only: no packet waits on the path then."""
    if e.calm_ms is None or e.idle_ms is None or e.rise_ms is None:
        return False
    return e.calm_ms - e.idle_ms < ALONE * e.rise_ms and not rising(replace(e, loaded_ms=e.calm_ms))


def _reordered(e: Evidence) -> Limiter | None:
    """Packets that overtake each other; needs both ends' counters, and the receiver's word of what came twice."""
    if not (d := e.disorder) or not d.slows_tcp:
        return None
    queue = [LimiterKind.SHAPER] if rising(e) else []
    others = (*([] if d.nothing_lost else [LimiterKind.LOSS]), *queue, *(end for end, _ in _busy_ends(e)))
    return _limiter(LimiterKind.REORDERING, say.reordered(d.out_of_order, d.again, d.needless or 0.0, others), *others)


def _sent_twice(e: Evidence) -> Limiter | None:
    """Reordering so strong that what is sent again for nothing stands in a queue of its own making."""
    return _reordered(e) if e.disorder and e.disorder.fills_the_way else None


def _lossy(e: Evidence) -> Limiter | None:
    found = _loss_or_policer(e)
    return found and _or_busy(e, _or_burst(e, found))


def _or_burst(e: Evidence, found: Limiter) -> Limiter:
    """A bucket too small for bursts loses what comes in them, and no paced UDP of a busy machine comes quite evenly.

    It is no burst that two rates of UDP lose the same share of.  It may be one where paced UDP of a busy end lost some,
    where nobody sent more than TCP got, and where far more UDP gets through than a policer lets TCP have.
    """
    if found.kind is LimiterKind.BURST:
        return found
    uneven = any(p.uneven and p.loss > REAL_LOSS for p in e.paced)
    beyond = any(p.delivered_bps > CARRIES * e.goodput for p in e.paced)
    excluded = same_share(e) if found.kind is LimiterKind.LOSS else len(found.candidates) < 2 and not beyond
    if excluded and not uneven:
        return found
    said = say.or_a_burst(found.sentence, found.experiment, uneven)
    candidates = (*found.candidates, LimiterKind.BURST)
    return replace(found, sentence=said.sentence, candidates=candidates, experiment=said.experiment)


def _or_busy(e: Evidence, found: Limiter) -> Limiter:
    """What a busy machine loses may be all that was lost, until datagrams that came evenly show who loses it."""
    if _lost_evenly(e) and not {LimiterKind.LOSS, LimiterKind.POLICER} <= set(found.candidates):
        return found
    for end, busiest in _busy_ends(e, CLOSE):
        said = say.or_the_end(found.sentence, end, busiest)
        found = replace(found, sentence=said, candidates=(*found.candidates, end))
    return found


def _loss_or_policer(e: Evidence) -> Limiter | None:
    if e.loss is None or e.loss <= SOME_LOSS or (e.retransmits or 0) < 3:
        return None
    if shallow := burst_signs(e):
        return _limiter(LimiterKind.BURST, say.shallow(e.loss, e.retransmits, shallow))
    policed = policer_signs(e)
    random = loss_signs(e)
    if not (policed or random or loss_explains(e)):
        return None
    flat = None if e.rise_ms is None else not rising(e)
    uneven = any(p.uneven for p in e.paced)  # a busy sender's bursts look policed
    if policed and not random and not uneven and not loses_below(e):
        return _limiter(LimiterKind.POLICER, say.policer(e.loss, e.retransmits, e.goodput, flat, policed))
    if random and not policed:
        return _limiter(LimiterKind.LOSS, say.random_loss(e.loss, e.retransmits, flat, random))
    if clean := no_policer(e):
        return _limiter(LimiterKind.LOSS, say.random_loss(e.loss, e.retransmits, flat, (clean,)))
    kind = LimiterKind.POLICER if len(policed) > len(random) else LimiterKind.LOSS
    either = say.loss_or_policer(e.loss, e.retransmits, flat, (*policed, *random))
    return Limiter(kind, either.sentence, (LimiterKind.LOSS, LimiterKind.POLICER), either.evidence, either.experiment)


def _busier(e: Evidence) -> tuple[LimiterKind, float]:
    """The end with the busiest core, and how many percent of it are used."""
    sender, receiver = e.sender_busy or 0.0, e.receiver_busy or 0.0
    return (LimiterKind.SENDER, sender) if sender >= receiver else (LimiterKind.RECEIVER, receiver)


def _busy_ends(e: Evidence, least: float = BUSY) -> list[tuple[LimiterKind, float]]:
    """Each end with a core that is so busy, and how many percent of that are used."""
    both = (LimiterKind.SENDER, e.sender_busy or 0.0), (LimiterKind.RECEIVER, e.receiver_busy or 0.0)
    return [(end, share) for end, share in both if share >= least]


def _busy(e: Evidence) -> Limiter | None:
    sender, receiver = e.sender_busy or 0.0, e.receiver_busy or 0.0
    signs = [say.stalls(e.zero_windows)] if e.zero_windows >= SOME_STALLS else []
    if e.receiver_drops > DROPS * max(1, e.receiver_packets):
        signs.append(say.card_drops(e.receiver_drops, e.receiver_packets))
    if (receiver >= BUSY and (signs or receiver > sender + 2 or sender < BUSY)) or (signs and sender < BUSY):
        kind, end = LimiterKind.RECEIVER, e.receiver
    elif sender >= BUSY:
        kind, end, signs = LimiterKind.SENDER, e.sender, []
    else:
        return None
    if sender >= BUSY and receiver >= BUSY and abs(sender - receiver) <= 2 and not signs:
        both = say.both_busy(sender, receiver)
        return Limiter(kind, both.sentence, (LimiterKind.SENDER, LimiterKind.RECEIVER), both.evidence, both.experiment)
    return _limiter(kind, say.busy(kind, end, sender, receiver, BUSY, e.goodput, signs))


def _unknown(e: Evidence) -> Limiter:
    cores = None if e.sender_busy is None or e.receiver_busy is None else (e.sender_busy, e.receiver_busy)
    trips = None if e.idle_ms is None or e.loaded_ms is None else (e.idle_ms, e.loaded_ms)
    kind, end, lacked, share = _most_withheld(e)
    found = _no_limit(LimiterKind.UNKNOWN, say.unknown(e.goodput, cores, e.loss, trips))
    busier, busiest = _busier(e)
    if busiest >= CLOSE:
        found = replace(found, candidates=(busier,))
    if share < STARVED:
        return found
    said = say.though_withheld(found.sentence, end, lacked, EXPLAINS * share, certain=True)
    return replace(found, sentence=said.sentence, evidence=(*found.evidence, *said.evidence), candidates=(kind,))


RULES: tuple[_Rule, ...] = (
    _nothing_arrived,
    _link,
    _starved,
    _window,
    _growth,
    _sent_twice,
    _queue,
    _reordered,
    _lossy,
    _busy,
)
