"""Finds signs that tell random loss, a policer and a shallow buffer apart; `phrases.loss_signs` puts them into words.

Needs paced UDP beside the TCP trial, other numbers of streams, or round trips under load; without the figures that it
needs a sign is not given.
"""

from __future__ import annotations

import math

from linkladder.judge.evidence import Evidence, Paced
from linkladder.phrases import loss_signs as say

RUNS_DRY = 0.4  # share of the median rise; if a fifth of the round trips rise less, the queue comes and goes
REAL_LOSS = 1e-4
ABOVE = 1.15  # times TCP's rate; UDP that gets through at more shows that no rate limit holds TCP
POLICED = 0.01  # share of the datagrams that a policer takes at least, of a rate that is clearly above its own
CLEAN = 1e-4  # share of the datagrams
CLOSE = 1.25  # factor within which two shares of loss count as equal
MORE = 3.0  # times the loss that UDP may have; if TCP loses more, its bursts cause that, not random loss
FEW = 2.5  # lost datagrams; from fewer no share can be told


def rising(e: Evidence) -> bool:
    """Whether the round trip under load shows a standing queue rather than a busy machine's jitter."""
    if e.rise_ms is None or e.idle_ms is None:
        return False
    jitter = (e.idle.stddev_ms or 0.0) if e.idle else 0.0
    return e.rise_ms > max(0.25, 0.08 * e.idle_ms, 2 * jitter)


def bursts(e: Evidence) -> bool:
    """Whether the queue comes and goes with bursts, unlike a shaper's, which hardly ever runs empty under TCP."""
    if (e.loss or 0.0) < REAL_LOSS or e.rise_ms is None or e.idle_ms is None or e.floor_ms is None:
        return False
    lasting = (e.floor_ms - e.idle_ms) / e.rise_ms
    return lasting < RUNS_DRY or (lasting < 0.6 and (e.burst or 0.0) > 1.2)


def no_policer(e: Evidence) -> str:
    """A sentence on paced UDP far above TCP's rate that lost hardly any, which no policer at that rate lets through."""
    top = max(e.paced, key=lambda p: p.offered_bps, default=None)
    if top is None or top.delivered_bps <= ABOVE * e.goodput or top.loss > POLICED:
        return ""
    return say.carries_more(top.offered_bps, top.loss, e.goodput)


def policer_signs(e: Evidence) -> tuple[str, ...]:
    """Signs of a policer, which drops packets above a certain rate; none if paced UDP far above TCP's gets through."""
    if no_policer(e):
        return ()
    signs = []
    offers = sorted(e.paced, key=lambda p: p.offered_bps)
    if len(offers) > 1 and offers[-1].loss > POLICED:
        low, high = offers[0], offers[-1]
        flat = [p.delivered_bps for p in offers if p.loss > POLICED]
        if low.loss < 0.2 * high.loss and not _lost_alike(e, low, high):
            signs.append(say.loses_above(low.loss, low.offered_bps, high.loss, high.offered_bps))
        elif len(flat) > 1 and max(flat) < 1.25 * min(flat) and high.offered_bps > 1.4 * low.offered_bps:
            signs.append(say.delivers_no_more(flat[0]))
    if e.burst is not None and e.burst > 1.2 and (e.cv or 0.0) < 0.05:
        signs.append(say.first_second(e.burst, even=True))
    elif e.burst is not None and e.burst > 1.2 and (e.cv or 0.0) < 0.2 and rising(e) and bursts(e):
        signs.append(say.first_second(e.burst, even=False))
    calm = next((p for p in reversed(offers) if p.offered_bps <= 1.05 * e.goodput), None)
    if calm and e.loss and calm.datagrams * e.loss > 20 and _at_most(calm) * 10 < e.loss:
        signs.append(say.calm_loses_less(calm.loss, calm.offered_bps, e.loss))
    others = [bps for streams, bps in e.by_streams if streams >= 2 * e.streams or e.streams >= 2 * streams]
    if others and all(0.9 * e.goodput < bps < 1.1 * e.goodput for bps in others):
        signs.append(say.streams_add_nothing())
    return tuple(signs)


def burst_signs(e: Evidence) -> tuple[str, ...]:
    """Signs of a path that can carry more than TCP got, and drops only packets that come in bursts."""
    if not e.loss:
        return ()
    above = [p for p in e.paced if p.delivered_bps > ABOVE * e.goodput and p.datagrams * e.loss > 20]
    if not above or any(p.loss > max(CLEAN, 0.05 * e.loss) for p in above):
        return ()
    best = max(above, key=lambda p: p.offered_bps)
    return (say.carries_more(best.offered_bps, best.loss, e.goodput),)


def loss_signs(e: Evidence) -> tuple[str, ...]:
    """Signs of random loss, which does not depend on the rate."""
    signs = []
    offers = sorted(e.paced, key=lambda p: p.offered_bps)
    below = [p for p in offers if p.offered_bps <= (e.ceiling or math.inf)]
    if len(below) > 1:
        low, high = below[0], below[-1]
        proportional = high.delivered_bps > 1.1 * low.delivered_bps or high.offered_bps < 1.2 * low.offered_bps
        alike = _alike(low, high) and low.loss < 3 * (e.loss or 1.0)  # random loss hits TCP as much
        if low.loss > 1e-4 and alike and proportional:
            signs.append(say.loses_alike(low.loss, low.offered_bps, high.loss, high.offered_bps))
        elif _lost_alike(e, low, high):
            signs.append(say.loses_as_tcp(low.loss, low.offered_bps))
    for streams, bps in e.by_streams:
        if streams >= 2 * e.streams and bps > 1.4 * e.goodput:
            signs.append(say.streams_add(streams, bps, e.streams, e.goodput))
    return tuple(signs)


def same_share(e: Evidence) -> bool:
    """Whether different rates of paced UDP lose the same share, or more streams carry more, as with random loss.

    Equal shares do not count if TCP loses several times as much, as its bursts may be dropped besides.
    """
    offers = [p for p in e.paced if p.offered_bps <= (e.ceiling or math.inf)]
    pairs = [(a, b) for a in offers for b in offers if b.offered_bps > 1.2 * a.offered_bps]
    return any(_alike(a, b, CLOSE) and _of_tcp_too(e, a, b) for a, b in pairs) or any(
        streams >= 2 * e.streams and bps > 1.4 * e.goodput for streams, bps in e.by_streams
    )


def loses_below(e: Evidence) -> bool:
    """Whether UDP paced below TCP's own rate loses more than single datagrams: no policer alone does that."""
    return any(p.offered_bps <= e.goodput and p.loss > 5 * REAL_LOSS and p.loss * p.datagrams > 10 for p in e.paced)


def _lost_alike(e: Evidence, low: Paced, high: Paced) -> bool:
    """Whether UDP loses as much as TCP at a rate far above TCP's, which no policer at TCP's rate lets through."""
    if not e.loss or low.loss * low.datagrams <= 10 or high.delivered_bps < 1.6 * e.goodput:
        return False
    return 0.3 < low.loss / e.loss < 2.5 and high.delivered_bps > 1.1 * low.delivered_bps


def _of_tcp_too(e: Evidence, low: Paced, high: Paced) -> bool:
    """Whether TCP's loss is below MORE times the largest loss that both rates of UDP together allow."""
    datagrams = low.datagrams + high.datagrams
    lost = low.loss * low.datagrams + high.loss * high.datagrams
    return not datagrams or (e.loss or 0.0) < MORE * _most(lost, datagrams)


def _at_most(p: Paced) -> float:
    """The largest share of loss that so few lost datagrams allow (95 %, of a Poisson count)."""
    return _most(p.loss * p.datagrams, p.datagrams) if p.datagrams else p.loss


def _most(lost: float, datagrams: int) -> float:
    return (lost + 1.65 * math.sqrt(lost) + 3) / datagrams


def _alike(low: Paced, high: Paced, factor: float = 2.0) -> bool:
    """Whether both rates lose the same share, within that factor and the uncertainty of the few lost datagrams."""
    lost = [p.loss * p.datagrams for p in (low, high)]
    if min(lost) < FEW:
        return False
    open_by = 2 * math.sqrt(sum(1 / count for count in lost))
    return abs(math.log(low.loss / high.loss)) < math.log(factor) + open_by


def rate_shown(e: Evidence) -> bool:
    """Whether paced UDP met a rate above which the path takes no more."""
    offers = sorted(e.paced, key=lambda p: p.offered_bps)
    return len(offers) > 1 and offers[-1].loss > 0.01 and offers[0].loss < 0.2 * offers[-1].loss
