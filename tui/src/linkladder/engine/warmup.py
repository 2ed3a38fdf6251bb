"""Gives trials on a path with a long round trip a longer warm-up, once the first pings have shown how long it is."""

from __future__ import annotations

from dataclasses import replace

from linkladder.model import Experiment, Plan, Protocol, RungName

LONG_WAY_MS = 20.0  # round trip above which the warm-up is 5 s
LONG_WARMUP = 5.0


def with_longer_warmup(plan: Plan, rung: RungName, round_trip_ms: float) -> Plan:
    """The plan to measure and to store: with the warm-ups that this round trip asks for."""
    if round_trip_ms <= LONG_WAY_MS:
        return plan
    rungs = (
        replace(r, experiments=tuple(_long(e) for e in r.experiments)) if r.name is rung else r for r in plan.rungs
    )
    return replace(plan, rungs=tuple(rungs))


def _long(exp: Experiment) -> Experiment:
    short = exp.protocol in (Protocol.TCP, Protocol.UDP) and exp.warmup < LONG_WARMUP
    return replace(exp, warmup=LONG_WARMUP) if short else exp
