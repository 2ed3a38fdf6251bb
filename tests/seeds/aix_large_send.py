"""A published AIX test of large send: cores consumed and throughput with mtu_bypass off and on, as typed there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linkladder.model import (
    CpuUse,
    Document,
    Experiment,
    ExperimentResult,
    HostFacts,
    Nic,
    Path,
    Plan,
    Protocol,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    Setting,
    SettingKind,
    Transactions,
    TrialResult,
)
from trials import trial

# threads, mtu_bypass, cores consumed over LPARs and VIO servers, Mb/s
THROUGHPUT = (
    (1, False, 4.02, 2500.0),
    (1, True, 3.22, 6200.0),
    (8, False, 5.52, 3900.0),
    (8, True, 4.13, 8800.0),
)

# sessions, mtu_bypass, cores, transactions a second of 700 bytes
TRANSACTIONS = (
    (10, False, 4.06, 52_000.0),
    (10, True, 4.06, 52_000.0),
    (50, False, 6.50, 131_000.0),
    (50, True, 6.50, 131_000.0),
)

LARGE_SEND = (Setting(SettingKind.TSO, "on"), Setting(SettingKind.LRO, "on"))


def document(scatter: tuple[float, ...] = (0.0,)) -> Document:
    """The article as a run of `offload`, of as many repeats as `scatter` has shares to add to each figure.

    Half of the cores at each end, as the article gives only those of all machines together.
    """
    path = Path("192.168.30.180", "192.168.30.181", "far", "ent0", "ent0")
    arms = tuple(
        ExperimentResult(p, tuple(_trial(p, n, cores, rate, more) for n, more in enumerate(scatter)))
        for p, cores, rate in _arms(len(scatter))
    )
    plan = Plan("offload", rungs=(Rung(RungName.SAME_VLAN, (path,), tuple(e.parameters for e in arms)),))
    card = Nic("ent0", up=True, offloads={"tso": False, "lro": False})
    host = HostFacts("lpar", "AIX", "7.2", cores=8, nics=(card,))
    ends = (RunEnd("near", host), RunEnd("far", host))
    run = RunInfo("aix-seed", "2017-01-01T00:00:00Z", plan, RunState.COMPLETE, ends=ends)
    return Document(run, (RungResult(RungName.SAME_VLAN, (path,), arms),))


def _arms(repeats: int) -> Iterator[tuple[Experiment, float, float]]:
    for rows, load in ((THROUGHPUT, _streams), (TRANSACTIONS, _sessions)):
        for number, bypass, cores, rate in rows:
            plain = replace(load(number), repeats=repeats, warmup=0.0, duration=60.0)
            changed = replace(plain, id=f"{plain.id}-on", settings=LARGE_SEND, baseline=plain.id)
            yield changed if bypass else plain, cores, rate


def _streams(number: int) -> Experiment:
    return Experiment(f"tcp-{number}s", streams=number, write_size=1 << 20)


def _sessions(number: int) -> Experiment:
    return Experiment(f"rr-{number}", "netperf", Protocol.RR, sessions=number)


def _trial(p: Experiment, n: int, cores: float, rate: float, more: float) -> TrialResult:
    cores, rate = cores * (1 + more), rate * (1 + more)
    each = CpuUse(percent=100 * cores / 16, busiest=100 * cores / 16, cores_used=cores / 2)
    used = {"near": each, "far": each}
    if p.protocol is Protocol.RR:
        made = Transactions(rate, p.sessions, request=p.request, response=p.response)
        return trial(f"{p.id}-{n}", n, seconds=60.0, transactions=made, cpu=used)
    bps = rate * 1e6
    return trial(f"{p.id}-{n}", n, seconds=60.0, goodput_bps=bps, by_direction={"forward": bps}, cpu=used)
