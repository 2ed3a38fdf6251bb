"""How long a trial is let run before it counts: a long way needs more than a plan could know."""

from __future__ import annotations

from dataclasses import replace

from linkladder.model import Experiment, Protocol

LONG_WAY_MS = 20.0  # round trip above which the warm-up is 5 s
LONG_WARMUP = 5.0


def timed(exp: Experiment, round_trip_ms: float) -> Experiment:
    """The experiment with the warm-up that this way needs."""
    throughput = exp.protocol in (Protocol.TCP, Protocol.UDP)
    if round_trip_ms > LONG_WAY_MS and throughput and exp.warmup < LONG_WARMUP:
        return replace(exp, warmup=LONG_WARMUP)
    return exp
