"""Runs whose link has several paths: each loaded alone, then all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from judge_documents import AT_FIRST, F, R, both, one_after_another, shared, trial
from linkladder.model import (
    Company,
    Contract,
    Direction,
    Document,
    Evidence,
    Experiment,
    ExperimentResult,
    HostFacts,
    NicCounters,
    Path,
    Plan,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    TrialResult,
)

STREAMS = 4
CARDS = tuple(Path(f"10.0.{n}.1", f"10.0.{n}.2", "beta", f"eth{n}", f"eth{n}") for n in range(2))
PAIRS = tuple(
    Path("10.0.0.1", f"10.0.0.{n + 2}", name, "eth0", "eth0", origin_site="a", peer_site="b")
    for n, name in enumerate(("beta", "gamma"))
)


def of_paths(
    paths: Sequence[Path],
    alone: float,
    together: float,
    contract: Contract,
    below: float = 20e9,
    facts: Mapping[str, HostFacts] | None = None,
) -> Document:
    """Each path carries `alone` by itself and `together` beside the others; same-host shows `below`."""
    ends = ["near", *dict.fromkeys(path.peer for path in paths)]
    experiments = []
    for way in (F, R):
        for n in range(len(paths)):
            experiments.append(_experiment(way, (n,), alone, paths, ends))
        experiments.append(_experiment(way, (), together, paths, ends))
    link = RungResult(RungName.DC_LINK, tuple(paths), tuple(experiments), Evidence("as claimed", ("a router",)))
    rungs = (both(RungName.SAME_HOST, below), link)
    asked = tuple(Rung(r.name, r.paths, tuple(e.parameters for e in r.experiments)) for r in rungs)
    known = tuple(
        RunEnd(name, (facts or {}).get(name) or HostFacts(f"{name}-host", "FreeBSD", "15.1", cores=4)) for name in ends
    )
    plan = Plan("test", contract=contract, rungs=asked)
    run = RunInfo("run1", AT_FIRST, plan, RunState.COMPLETE, "2026-11-21T08:00:00Z", ends=known)
    return one_after_another(Document(run, rungs))


def _experiment(
    way: Direction, loaded: tuple[int, ...], bps: float, paths: Sequence[Path], ends: Sequence[str]
) -> ExperimentResult:
    p = Experiment(
        id=f"{way}-{loaded or 'all'}",
        direction=way,
        streams=STREAMS,
        repeats=3,
        company=Company.ALONE if loaded else Company.ALL,
        paths=loaded,
    )
    made = tuple(_trial(way, loaded or tuple(range(len(paths))), bps, n, paths, ends) for n in range(3))
    good = sorted(t.goodput_bps for t in made)
    return ExperimentResult(p, made, good[0], good[1], good[2])


def _trial(
    way: Direction, loaded: Sequence[int], bps: float, n: int, paths: Sequence[Path], ends: Sequence[str]
) -> TrialResult:
    base = trial(bps, way, n)
    legs = []
    cards: dict[int, dict[str, list[int]]] = {at: {} for at in range(len(ends))}
    for number in loaded:
        rate = bps * (1 + 0.0005 * n + 0.001 * number)
        one = trial(rate, way, n + 7 * number)
        (leg,) = one.legs
        flows = tuple(replace(f, local_port=50000 + 100 * number + at) for at, f in enumerate(shared(one, STREAMS)))
        seconds = tuple(replace(i, bytes=i.bytes + 1448 * number) for i in leg.outcome.intervals)
        far = ends.index(paths[number].peer)
        legs.append(
            replace(leg, outcome=replace(leg.outcome, flows=flows, intervals=seconds), path=number, near=0, far=far)
        )
        moved = int(1.05 * rate * 13 / 8)
        sides = ((0, paths[number].local_interface), (far, paths[number].remote_interface))
        for (end, card), sends in zip(sides, (way is F, way is R), strict=True):
            cards[end].setdefault(card, [0, 0])[sends] += moved
    records = tuple(
        replace(
            base.ends[0],
            name=name,
            nics=tuple(NicCounters(card, rx_bytes=rx, tx_bytes=tx) for card, (rx, tx) in cards[at].items()),
        )
        for at, name in enumerate(ends)
    )
    return replace(base, legs=tuple(legs), ends=records)
