"""Every cell of a published FreeBSD/ESXi interconnect test (iperf2, 60 s, 8 vCPUs, one direction), as typed there.

Each row: streams, window, lowest and highest throughput in Gb/s, CPU percent of server and client.  Rows that the
article printed twice are kept twice.  Memory was about 500 MB at both ends throughout.
"""

from __future__ import annotations

from linkladder.model import (
    Command,
    Contract,
    CpuUse,
    Document,
    End,
    Experiment,
    ExperimentResult,
    HostFacts,
    MemoryUse,
    Path,
    Plan,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
)
from trials import trial

W = 800_000
Row = tuple[int, int | None, float, float, float | None, float | None]

TABLE: dict[RungName, tuple[Row, ...]] = {
    RungName.LOCALHOST: (
        (1, None, 75.4, 83.0, 23, 23),
        (2, None, 90.8, 92.0, 28, 28),
        (4, None, 88.5, 89.1, 29, 29),
        (8, None, 91.6, 95.3, 30, 30),
        (1, W, 69.8, 81.0, 28, 28),
        (2, W, 69.8, 69.9, 28, 28),
        (4, W, 69.2, 70.0, 28, 28),
        (8, W, 72.6, 74.0, 28, 28),
    ),
    RungName.SAME_HOST: (
        (1, None, 6.5, 6.71, 70, 40),
        (2, None, 8.42, 8.62, 33, 30),
        (4, None, 19.5, 20.2, 85, 48),
        (8, None, 17.1, 18.4, 85, 30),
        (1, W, 6.57, 6.77, 24, 24),
        (2, W, 7.96, 8.0, 30, 28),
        (4, W, 15.8, 18.8, 85, 40),
        (8, W, 19.1, 22.8, 98, 30),
    ),
    RungName.SAME_VLAN: (
        (1, None, 6.1, 6.34, 23, 17),
        (2, None, 9.31, 10.8, 43, 30),
        (4, None, 19.5, 20.2, 85, 48),
        (8, None, 17.1, 18.4, 80, 50),
        (1, W, 6.11, 6.37, 16, 22),
        (2, W, 9.81, 10.9, 39, 25),
        (4, W, 16.5, 19.8, 85, 40),
        (8, W, 17.7, 18.2, 80, 50),
    ),
    RungName.DC_LINK: ((4, None, 9.74, 9.74, None, None),),
}


def document(mtu: int = 1500, port_bps: float = 10e9) -> Document:
    """The article as a run: the ends of each range stand for its two repeats, a single number for one."""
    rungs = tuple(_rung(name, rows) for name, rows in TABLE.items())
    plan = Plan(
        name="ladder",
        contract=Contract(port_bps=port_bps, mtu=mtu, circuit="DC interconnect"),
        rungs=tuple(Rung(r.name, r.paths, tuple(e.parameters for e in r.experiments)) for r in rungs),
    )
    host = HostFacts(
        name="freebsd",
        os="FreeBSD",
        release="14.2-RELEASE",
        cores=8,
        memory=8 << 30,
        virtual="VMware",
    )
    run = RunInfo(
        id="freebsd-seed",
        started="2025-02-01T00:00:00Z",
        plan=plan,
        state=RunState.COMPLETE,
        ends=(RunEnd("near", host), RunEnd("far", host)),
    )
    return Document(run=run, rungs=rungs)


def _rung(name: RungName, rows: tuple[Row, ...]) -> RungResult:
    path = Path(remote="localhost" if name is RungName.LOCALHOST else "10.202.201.6", peer="far")
    return RungResult(
        name=name,
        paths=(path,),
        experiments=tuple(_experiment(path.remote, row) for row in rows),
    )


def _experiment(remote: str, row: Row) -> ExperimentResult:
    streams, window, low, high, server, client = row
    values = [low * 1e9] if low == high else [low * 1e9, high * 1e9]
    parameters = Experiment(
        id=f"tcp-{streams}s-{'800k' if window else 'default'}-forward",
        streams=streams,
        window=window,
        duration=60.0,
        warmup=0.0,
        repeats=len(values),
    )
    cpu = {}
    if server is not None and client is not None:
        cpu = {"near": _cpu(client), "far": _cpu(server)}
    argv = (
        "iperf",
        "-c",
        remote,
        *(("-P", str(streams)) if streams > 1 else ()),
        *(("-w", "800k") if window else ()),
    )
    trials = tuple(
        trial(
            id=f"{parameters.id}-{n}",
            repeat=n,
            ok=True,
            seconds=60.0,
            goodput_bps=bps,
            by_direction={"forward": bps},
            cpu=cpu,
            memory={end: MemoryUse(8 << 30, 500 << 20, 500 << 20) for end in ("near", "far")},
            commands=(
                Command(End.NEAR, "client", (*argv, "-t", "60")),
                Command(End.FAR, "server", ("iperf", "-s")),
            ),
        )
        for n, bps in enumerate(values)
    )
    return ExperimentResult(parameters, trials, min(values), sum(values) / len(values), max(values))


def _cpu(percent: float) -> CpuUse:
    """The article gives only the machine's average, so no core is known to be busier than it."""
    return CpuUse(percent=percent, busiest=percent, cores_used=8 * percent / 100)
