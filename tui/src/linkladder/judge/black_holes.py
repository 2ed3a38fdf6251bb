"""Tells whether a black hole that DF probes found swallows the packets of a load, or only larger ones than it sends.

How large those are the sender's system alone tells, as cards may send larger packets than the contract has.
"""

from __future__ import annotations

import math

from linkladder.judge.evidence import Evidence
from linkladder.model import PathMtu

HEADERS = 40  # bytes that a segment has on its way at least
ALL_HEADERS = 72  # with IPv6 and timestamps
OPENED = 20  # segments; where more arrived, packets of full size passed at first
HARDLY = 0.01  # of the ceiling


def swallowed(e: Evidence) -> PathMtu | None:
    """The black hole, if the load carried next to nothing, and its packets may be as large as what vanished."""
    probed = e.path_mtu
    hole = probed is not None and probed.black_hole and not _fits(e, probed)
    return probed if hole and e.goodput < HARDLY * (e.ceiling or math.inf) else None


def unsized(e: Evidence, hole: PathMtu) -> bool:
    """Whether only packets larger than those that were sold vanished, and nobody knows whether the load's are."""
    return not e.segment and min(hole.failed, default=0) > e.mss + ALL_HEADERS


def passing(e: Evidence) -> int | None:
    """The largest packet that passed, if the load's own pass; None where nobody knows that."""
    probed = e.path_mtu
    return probed.mtu if probed is not None and (not probed.black_hole or _fits(e, probed)) else None


def _fits(e: Evidence, probed: PathMtu) -> bool:
    """Whether packets as large as the load's passed, and what vanished was larger whatever headers they have."""
    least = min(probed.failed, default=0)
    return bool(e.segment) and e.segment + HEADERS <= (probed.mtu or 0) and e.segment + ALL_HEADERS < least
