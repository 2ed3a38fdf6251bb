"""A run of a mesh of up to eight ends: beta to gamma is slow, and theta was lost when all were at work."""

from __future__ import annotations

from linkladder.model import (
    Company,
    Contract,
    Direction,
    Document,
    Experiment,
    ExperimentResult,
    Fault,
    Leg,
    Outcome,
    Plan,
    Protocol,
    Rtt,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    TrialResult,
)
from linkladder.plan import company

NAMES = ("near", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
RUN = "20261121-101500-ab12"


def leg(number: int, bps: float | None, way: Direction) -> Leg:
    lost = Outcome(False, Fault.PEER, "theta is out of reach: the channel closed")
    good = Outcome(True, goodput_bps=bps or 0.0, by_direction={way.value: bps or 0.0})
    return Leg(lost if bps is None else good, path=number, began=0.003 * number)


def result(paths: tuple[int, ...], rates: list[float | None], way: Direction, kind: Company) -> ExperimentResult:
    name = f"tcp-{way}-{kind}-{'-'.join(map(str, paths))}"
    asked = Experiment(name, direction=way, company=kind, paths=() if kind is Company.ALL else paths)
    legs = tuple(leg(n, bps, way) for n, bps in zip(paths, rates, strict=True))
    return ExperimentResult(asked, (TrialResult(name, 0, legs),))


def document(ends: int = 8) -> Document:
    paths = company.mesh(NAMES[:ends])
    every = tuple(range(len(paths)))
    experiments = []
    for way in (Direction.FORWARD, Direction.REVERSE):
        for n, path in enumerate(paths):
            slow = path.peer == "gamma" and path.origin == "beta" and way is Direction.FORWARD
            experiments.append(result((n,), [120e6 if slow else 191e6], way, Company.ALONE))
        rates: list[float | None] = [None if "theta" in path.peers else 27e6 for path in paths]
        experiments.append(result(every, rates, way, Company.ALL))
    trips = tuple(Leg(Outcome(True, rtt=Rtt(20, 20, p50_ms=0.2 + n / 10)), path=n) for n in every)
    echo = ExperimentResult(Experiment("echo", "ping", Protocol.ECHO), (TrialResult("e", 0, trips),))
    rung = RungResult(RungName.DC_LINK, paths, (echo, *experiments))
    asked = Rung(RungName.DC_LINK, paths, tuple(e.parameters for e in rung.experiments))
    plan = Plan("mesh", contract=Contract(rate_bps=200e6), rungs=(asked,), mesh=True)
    return Document(RunInfo(RUN, "2026-11-22T10:00:00+00:00", plan, RunState.COMPLETE), (rung,))
