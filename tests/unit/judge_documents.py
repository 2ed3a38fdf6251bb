"""Small synthetic runs for the judge's and the report's tests."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

import trials
from linkladder.model import (
    Command,
    Contract,
    CoreLoad,
    CpuUse,
    Direction,
    Document,
    End,
    Evidence,
    Experiment,
    ExperimentResult,
    Fault,
    Flow,
    HostFacts,
    HostSample,
    Interval,
    NicCounters,
    Path,
    PathMtu,
    Plan,
    Protocol,
    Rtt,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    TcpCounters,
    TrialResult,
)
from trials import changed

GIGABIT = Contract(port_bps=10e9, rate_bps=1e9)
F, R = Direction.FORWARD, Direction.REVERSE
AT_FIRST = "2026-11-21T00:00:00Z"
GOOD = 950e6  # 99.3 % of what 1 Gb/s of L2 frames carries at MTU 1500


def trial(
    bps: float,
    direction: Direction = Direction.FORWARD,
    n: int = 0,
    busy: tuple[float, float] = (30.0, 40.0),
    **more: object,
) -> TrialResult:
    """Ten counted seconds after three of warm-up, all but even, near and far cores as busy as said."""
    noise = int(bps / 8 * 0.0004 * (n + (1.3 if direction is R else 1)))  # no two trials are equal to the byte
    seconds = [
        Interval(float(t), float(t + 1), int(bps / 8) + noise * (1 if t % 2 else -1), direction, counted=t >= 3)
        for t in range(13)
    ]
    flow = Flow(
        "1",
        direction,
        "10.0.0.1",
        50000,
        "10.0.0.2",
        6100,
        int(bps * 10 / 8),
        bps,
        int(bps * 13 / 8),
        13.0,
    )
    values: dict[str, object] = {
        "id": f"t{n}",
        "repeat": n,
        "ok": True,
        "started": AT_FIRST,
        "seconds": 14.0,
        "goodput_bps": bps,
        "by_direction": {str(direction): bps},
        "flows": (flow,),
        "intervals": tuple(seconds),
        "cpu": {
            "near": CpuUse(busy[0] / 2, busy[0], busy[0] / 50),
            "far": CpuUse(busy[1] / 2, busy[1], busy[1] / 50),
        },
        "tcp": {"near": TcpCounters(1_000_000, 0), "far": TcpCounters(1_000_000, 0)},
        "nics": cards(bps * 13 / 8),
    }
    return trials.trial(**(values | more))


def cards(moved: float) -> dict[str, NicCounters]:
    """Both cards saw it all, whichever way it went; how many packets it was they did not count."""
    return {end: NicCounters("eth0", rx_bytes=int(1.05 * moved), tx_bytes=int(1.05 * moved)) for end in ("near", "far")}


def failed(fault: Fault, reason: str = "it broke", n: int = 0) -> TrialResult:
    return trials.trial(id=f"f{n}", repeat=n, ok=False, fault=fault, reason=reason)


def tcp(
    direction: Direction,
    trials: tuple[TrialResult, ...],
    streams: int = 4,
    **more: object,
) -> ExperimentResult:
    trials = tuple(changed(t, flows=shared(t, streams)) for t in trials)
    p = Experiment(
        id=f"tcp-{streams}s-{direction}",
        direction=direction,
        streams=streams,
        repeats=len(trials),
        **more,
    )
    return _result(p, trials)


def shared(t: TrialResult, streams: int) -> tuple[Flow, ...]:
    """The trial's one flow, shared among the streams that were asked for."""
    if len(t.flows) != 1:
        return t.flows
    (f,) = t.flows
    part = dataclasses.replace(f, bytes=f.bytes // streams, bps=f.bps / streams, total_bytes=f.total_bytes // streams)
    return tuple(dataclasses.replace(part, id=str(n + 1), local_port=50000 + n) for n in range(streams))


def udp(
    direction: Direction,
    offered: float,
    delivered: float,
    busy: tuple[float, float] = (30, 40),
) -> ExperimentResult:
    p = Experiment(
        id=f"udp-{offered:.0f}-{direction}",
        protocol=Protocol.UDP,
        direction=direction,
        udp_rate_bps=offered,
    )
    count = round(offered * 10 / 8 / 1470)
    lost = round(count * (1 - delivered / offered))
    return _result(p, (trial(delivered, direction, busy=busy, lost=lost, datagrams=count),))


def ping(p50: float, stddev: float = 0.01) -> ExperimentResult:
    rtt = Rtt(100, 100, p50 * 0.9, p50, p50 * 2, p50, p50 * 1.5, stddev)
    p = Experiment(id="round-trip", tool="ping", protocol=Protocol.ECHO)
    return ExperimentResult(p, (trials.trial(id="p", repeat=0, ok=True, rtt=rtt),))


def link_pings(idle: Rtt | None, *experiments: ExperimentResult) -> RungResult:
    """The link, with its idle round trips where there are any."""
    p = Experiment(id="round-trip", tool="ping", protocol=Protocol.ECHO)
    first = ExperimentResult(p, (trials.trial(id="p", repeat=0, ok=True, rtt=idle),))
    return rung(RungName.DC_LINK, *([first] if idle else []), *experiments)


def df(direction: Direction, path_mtu: PathMtu) -> ExperimentResult:
    p = Experiment(
        id=f"path-mtu-{direction}",
        tool="ping",
        protocol=Protocol.DF,
        direction=direction,
    )
    return ExperimentResult(p, (trials.trial(id="d", repeat=0, ok=True, path_mtu=path_mtu),))


def rung(name: RungName, *experiments: ExperimentResult) -> RungResult:
    path = Path("10.0.0.1", "10.0.0.2", "beta", "eth0", "eth0")
    return RungResult(name, (path,), experiments, Evidence("as claimed", ("10.0.0.2 is behind a router",)))


def both(name: RungName, bps: float, repeats: int = 3, **more: object) -> RungResult:
    """A rung that carries so much each way."""
    return rung(
        name,
        *(
            tcp(d, tuple(trial(bps, d, n, **more) for n in range(repeats)))
            for d in (Direction.FORWARD, Direction.REVERSE)
        ),
    )


def document(
    *rungs: RungResult,
    contract: Contract = GIGABIT,
    state: RunState = RunState.COMPLETE,
) -> Document:
    plan = Plan(
        "test",
        contract=contract,
        rungs=tuple(Rung(r.name, r.paths, tuple(e.parameters for e in r.experiments)) for r in rungs),
    )
    ends = (
        RunEnd("near", HostFacts("alpha", "FreeBSD", "15.1", cores=4)),
        RunEnd("beta", HostFacts("beta", "FreeBSD", "15.1", cores=4)),
    )
    run = RunInfo("run1", AT_FIRST, plan, state, "2026-11-21T08:00:00Z", ends=ends)
    return one_after_another(Document(run, rungs))


def one_after_another(made: Document) -> Document:
    """The same, where no time was given to the trials: each begins when the one before it has ended."""
    at = datetime.fromisoformat(AT_FIRST)

    def in_turn(t: TrialResult) -> TrialResult:
        nonlocal at
        if t.started != AT_FIRST:
            return t
        began, at = at, at + timedelta(seconds=max(0.0, t.seconds))
        return dataclasses.replace(t, started=began.isoformat())

    rungs = (
        dataclasses.replace(
            r,
            experiments=tuple(
                dataclasses.replace(e, trials=tuple(in_turn(t) for t in e.trials)) for e in r.experiments
            ),
        )
        for r in made.rungs
    )
    return dataclasses.replace(made, rungs=tuple(rungs))


def with_facts(made: Document, name: str, facts: HostFacts) -> Document:
    """The same of an end that told these facts of itself."""
    ends = tuple(RunEnd(name, facts) if end.name == name else end for end in made.run.ends)
    return dataclasses.replace(made, run=dataclasses.replace(made.run, ends=ends))


def ladder(
    forward: float,
    reverse: float | None = None,
    repeats: int = 3,
    contract: Contract = GIGABIT,
    headroom: float = 4e9,
) -> Document:
    """Headroom on same-host, then the link."""
    back = forward if reverse is None else reverse
    link = rung(
        RungName.DC_LINK,
        tcp(
            Direction.FORWARD,
            tuple(trial(forward, Direction.FORWARD, n) for n in range(repeats)),
        ),
        tcp(
            Direction.REVERSE,
            tuple(trial(back, Direction.REVERSE, n) for n in range(repeats)),
        ),
    )
    return document(both(RungName.SAME_HOST, headroom), link, contract=contract)


def _result(p: Experiment, trials: tuple[TrialResult, ...]) -> ExperimentResult:
    good = sorted(t.goodput_bps for t in trials if t.ok)
    if not good:
        return ExperimentResult(p, trials)
    return ExperimentResult(p, trials, good[0], good[len(good) // 2], good[-1])


OUTPUT = "[  1] 0.0000-1.0000 sec  118000000 Bytes  944000000 bits/sec  45582/0          0      895K/150(10) us  398\n"


def big(trials: int, seconds: int = 13, cores: int = 4) -> Document:
    """So many trials over four rungs, each with samples of both ends and a tool's output of every second."""
    made = []
    per_rung = trials // 4
    for name in RungName:
        experiments = []
        for streams in (1, 2, 4, 8, 16):
            for way in (Direction.FORWARD, Direction.REVERSE):
                seen, said = _samples(seconds, cores), _commands(seconds, streams)
                many = tuple(trial(950e6 + 1e5 * n, way, n, samples=seen, commands=said) for n in range(per_rung // 10))
                experiments.append(tcp(way, many, streams))
        made.append(rung(name, *experiments))
    return document(*made)


def _samples(seconds: int, cores: int) -> dict[str, tuple[HostSample, ...]]:
    return {
        end: tuple(
            HostSample(t + 0.1, tuple(CoreLoad(3.1, 20.5 + t + c, 1.2, 75.2 - t - c) for c in range(cores)), 512 << 20)
            for t in range(seconds)
        )
        for end in ("near", "far")
    }


def _commands(seconds: int, streams: int) -> tuple[Command, ...]:
    """Of roles that nobody reads again: what they printed bears nothing out."""
    text = OUTPUT * seconds * streams
    argv = ("iperf", "-c", "10.0.0.2", "-P", str(streams))
    return (Command(End.NEAR, "near log", argv, 0, text), Command(End.FAR, "far log", ("iperf", "-s"), 0, text))


def both_ways(there: TrialResult, back: TrialResult, streams: int) -> TrialResult:
    """Both at once, as one trial."""
    sent, got = (int(1.05 * sum(f.total_bytes for f in one.flows)) for one in (there, back))
    nics = {"near": NicCounters("eth0", rx_bytes=got, tx_bytes=sent), "far": NicCounters("eth0", sent, got)}
    return changed(
        there,
        nics=nics,
        by_direction=there.by_direction | back.by_direction,
        goodput_bps=there.goodput_bps + back.goodput_bps,
        intervals=(*there.intervals, *back.intervals),
        flows=(*shared(there, streams), *shared(back, streams)),
    )
