"""Tells whether a window is full for the counted seconds, and whether loss, rather than the window, holds the rate."""

from __future__ import annotations

import math
import statistics

from linkladder.judge.evidence import Evidence
from linkladder.judge.loss_signs import rising
from linkladder.phrases import limiters as say

HELD = 0.5  # of the time that a sender waited for the receiver's window
BELOW = 0.75  # of the window asked for: a congestion window that stands lower is the smaller of the two
HOLDS = 1.15  # times what is under way: a congestion window that allows no more is what holds it
ROOM = 1.25  # times what is under way: one that always allows so much does not
ROOMY = 4.0  # times the rate: loss that would allow so much more does not limit it
MATHIS = 1.22  # times MSS / (RTT * sqrt(loss)): the rate of one flow under random loss (Mathis et al. 1997)


def full_window(e: Evidence) -> say.Said | None:
    """A window limits where it stands at its bound for the counted seconds while nothing is lost.

    Needs a bound: the buffer that was asked for, the one that the systems granted, or how long the receiver's window
    held the sender.  A congestion window over a round trip is none: it always makes the rate, whatever limits.  But it
    tells which of the two holds: one that loss keeps below the bound does so itself, one above what is under way not.
    """
    round_trip = e.loaded_ms or e.idle_ms
    if not round_trip or round_trip < 1.0 or rising(e) or _kept_below(e) or (lost_some(e) and not _stands_above(e)):
        return None
    if e.held is not None and e.held >= HELD:
        return say.window_held(e.held, e.window, round_trip)
    if e.window is None:
        return None
    allowed = e.window * 8 * max(e.streams, e.flows) / (round_trip / 1000)
    # The kernel may grant up to twice what was asked for, and counts bookkeeping in it.
    if not 0.4 <= e.goodput / allowed <= 2.2:
        return None
    if not e.window_fixed and not (e.steady and 0.75 <= e.goodput / allowed <= 1.3):
        return None
    return say.window_full(e.window, round_trip, e.streams, allowed, e.goodput)


def _under_way(e: Evidence) -> float:
    """The bytes of one connection that are on the way at its rate; 0 without a round trip under load."""
    return e.goodput / 8 * (e.loaded_ms or 0.0) / 1000 / max(1, e.streams, e.flows)


def _kept_below(e: Evidence) -> bool:
    """Whether a congestion window that met loss stood below the window asked for, and let out no more than it held."""
    if not e.window_fixed or e.window is None or not e.congestion or (e.retransmits or 0) < 3:
        return False
    usual = statistics.median(e.congestion)
    return usual < BELOW * e.window and usual < HOLDS * (_under_way(e) or e.window)


def _stands_above(e: Evidence) -> bool:
    """Whether the congestion window let out more than was under way in nearly all seconds, so that another one held."""
    seen = sorted(e.congestion)
    return e.window_fixed and bool(seen) and seen[len(seen) // 5] > ROOM * _under_way(e) > 0


def lost_some(e: Evidence) -> bool:
    """Whether so much was lost that it may be what holds the rate: then the window follows, and does not lead."""
    if not e.loss or (e.retransmits or 0) < 3:
        return False
    round_trip = max(0.05, e.loaded_ms or e.idle_ms or 0.0)
    possible = e.streams * MATHIS * e.mss * 8 / (round_trip / 1000 * math.sqrt(e.loss))
    return possible < ROOMY * e.goodput or not e.window_fixed


def loss_explains(e: Evidence, share: float = 0.15) -> bool:
    """Whether so much loss would hold TCP near this rate at all: is it at least this share of Mathis's?"""
    if not e.loss:
        return True
    # With many losses on a short path the kernel's timers, not the round trips, set the pace.
    least = 1.0 if e.loss > 0.005 else 0.05
    round_trip = max(least, e.loaded_ms or e.idle_ms or 0.0)
    return e.goodput > share * e.streams * MATHIS * e.mss * 8 / (round_trip / 1000 * math.sqrt(e.loss))
