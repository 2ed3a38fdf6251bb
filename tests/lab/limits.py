"""What a plan measures, over real paths with a known limit.

A small runner of its own, so that what is tested is the judge: iperf at both ends, each pinned to its own core, their
namespaces' TCP counters, pings idle and under load, DF probes and paced UDP, put into the model's records.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace

import psutil

import trials
from impairments import A, B, Impaired, inside, path, quota, start, withheld
from linkladder.model import (
    CpuUse,
    Direction,
    Experiment,
    ExperimentResult,
    Fault,
    Flow,
    Interval,
    PathMtu,
    Protocol,
    Rtt,
    RungName,
    RungResult,
    TcpCounters,
    TrialResult,
)
from linkladder.model import Path as TestPath

WARMUP, COUNTED = 2.0, 4.0
LINE = re.compile(r"^\[ *\*?(\d+)\] +([\d.]+)-([\d.]+) +sec +(\d+) Bytes +(\d+) bits/sec(.*)$")
LOST = re.compile(r"(\d+)/ *(\d+) \(")


# --- measuring


def measure(p: Impaired, udp: bool = True) -> RungResult:
    """What a plan measures of a link: DF probes, idle round trip, TCP under a ping, paced UDP at 50 and 90 %."""
    with path(p) as (near, far):
        experiments = [_df(far), _idle(far), _tcp(p, near, far)]
        if udp and not p.drop_above and not p.starve:
            experiments += [_udp(p, near, far, share) for share in (0.5, 0.9)]
    return RungResult(RungName.DC_LINK, (TestPath(near, far),), experiments=tuple(experiments))


def _df(far: str) -> ExperimentResult:
    sizes, passed = (1280, 1400, 1500), []
    for size in sizes:
        if inside(
            A,
            "ping",
            "-M",
            "do",
            "-c",
            "2",
            "-i",
            "0.2",
            "-W",
            "1",
            "-s",
            str(size - 28),
            far,
            check=False,
        ):
            passed.append(size)
    failed = tuple(s for s in sizes if s not in passed)
    found = PathMtu(
        tuple(passed),
        failed,
        max(passed, default=None),
        black_hole=bool(failed and passed),
    )
    exp = Experiment("path-mtu-forward", "ping", Protocol.DF)
    return ExperimentResult(exp, (trials.trial("d", 0, True, path_mtu=found),))


def _idle(far: str) -> ExperimentResult:
    text = inside(A, "ping", "-c", "40", "-i", "0.03", far)
    exp = Experiment("round-trip", "ping", Protocol.ECHO)
    return ExperimentResult(exp, (trials.trial("p", 0, True, rtt=_rtt(text)),))


def _rtt(text: str) -> Rtt | None:
    times = sorted(float(t) for t in re.findall(r"time=([\d.]+) ms", text))
    if not times:
        return None
    spread = statistics.pstdev(times)
    return Rtt(len(times), len(times), times[0], statistics.fmean(times), times[-1], statistics.median(times),
               times[int(len(times) * 0.95)], spread, tuple(times))  # fmt: skip


def _tcp(p: Impaired, near: str, far: str) -> ExperimentResult:
    exp = Experiment(
        "tcp-forward",
        streams=p.streams,
        window=p.window,
        duration=COUNTED,
        warmup=WARMUP,
        ping_under_load=True,
    )
    extra = ["-P", str(p.streams), *(["-w", str(p.window)] if p.window else [])]
    trial = _trial(p, exp, near, far, extra, ["-w", str(p.window)] if p.window else [])
    return ExperimentResult(exp, (trial,), trial.goodput_bps, trial.goodput_bps, trial.goodput_bps)


def _udp(p: Impaired, near: str, far: str, share: float) -> ExperimentResult:
    offered = p.contract_bps * 1470 / 1512 * share
    exp = Experiment(
        f"udp-{share}",
        protocol=Protocol.UDP,
        udp_rate_bps=offered,
        duration=2.0,
        warmup=1.0,
        streams=1,
    )
    trial = _trial(p, exp, near, far, ["-u", "-b", f"{int(offered)}"], ["-u"])
    return ExperimentResult(exp, (trial,), trial.goodput_bps, trial.goodput_bps, trial.goodput_bps)


def _trial(
    p: Impaired,
    exp: Experiment,
    near: str,
    far: str,
    client: Sequence[str],
    server: Sequence[str],
) -> TrialResult:
    port = "6201"
    seconds = exp.warmup + exp.duration
    common = ["-p", port, "-f", "b", "-i", "1", "-e"]
    with quota(p, "far") as held_far, quota(p, "near") as held_near:
        serve = start(B, 1, held_far, ["iperf", "-s", "-B", far, *common, *server])
        _listening(exp.protocol, int(port))
        before = _counters()
        load = start(A, 0, None, ["ping", "-i", "0.1", "-w", str(int(seconds)), far]) if exp.ping_under_load else None
        send = start(
            A,
            0,
            held_near,
            ["iperf", "-c", far, "-B", near, "-t", f"{seconds:g}", *common, *client],
        )
        time.sleep(exp.warmup)
        spent, began = [_spent(send), _spent(serve)], time.monotonic()
        stolen = {end: withheld(held) for end, held in (("near", held_near), ("far", held_far))}
        time.sleep(exp.duration)
        span = time.monotonic() - began
        busy = [100 * (_spent(x) - before) / span for x, before in zip((send, serve), spent, strict=True)]
        starved = {
            end: min(1.0, (withheld(held) - stolen[end]) / span) if held else None
            for end, held in (("near", held_near), ("far", held_far))
        }
        try:
            send.wait(8)
        except subprocess.TimeoutExpired:
            send.kill()
        time.sleep(0.4)
        serve.terminate()
        out, _ = serve.communicate(timeout=5)
        send.communicate(timeout=5)
        after = _counters()
        under = load.communicate(timeout=5)[0] if load else ""
    cpu = {end: CpuUse(busy[n], busy[n], busy[n] / 100, starved=starved[end]) for n, end in ((0, "near"), (1, "far"))}
    result = _result(exp, out, cpu, {e: _minus(after[e], before[e]) for e in after})
    return replace(
        result,
        rtt_under_load=_rtt("\n".join(under.splitlines()[5:])) if under else None,
    )


def _listening(protocol: Protocol, port: int) -> None:
    """Wait until the far end's socket is there, however busy this machine is."""
    deadline = time.monotonic() + 10
    while f":{port:04X} " not in inside(B, "cat", f"/proc/net/{protocol}") and time.monotonic() < deadline:
        time.sleep(0.1)


def _result(exp: Experiment, out: str, cpu: dict[str, CpuUse], tcp: dict[str, TcpCounters]) -> TrialResult:
    seconds: dict[float, int] = {}
    totals: dict[str, tuple[int, float]] = {}
    lost = sent = 0
    for line in out.splitlines():
        if not (m := LINE.match(line)):
            continue
        flow, start, end, count = m[1], float(m[2]), float(m[3]), int(m[4])
        if end - start > 1.5 or (start == 0 and flow in totals):
            totals[flow] = (count, end)
            continue
        totals.setdefault(flow, (count, end))
        seconds[round(start)] = seconds.get(round(start), 0) + count
        if (gone := LOST.search(m[6])) and start >= exp.warmup:
            lost, sent = lost + int(gone[1]), sent + int(gone[2])
    intervals = tuple(
        Interval(
            float(t),
            float(t + 1),
            count,
            counted=exp.warmup <= t < exp.warmup + exp.duration,
        )
        for t, count in sorted(seconds.items())
    )
    counted = [i for i in intervals if i.counted]
    bps = sum(i.bytes for i in counted) * 8 / exp.duration
    flows = tuple(
        Flow(name, Direction.FORWARD, "", 0, "", 0, 0, 0.0, count, span) for name, (count, span) in totals.items()
    )
    dead = bps <= 0
    return trials.trial(
        "t", 0, not dead, fault=Fault.PATH if dead else None, reason="nothing arrived" if dead else "",
        goodput_bps=bps, by_direction={"forward": bps}, flows=flows, intervals=intervals, cpu=cpu, tcp=tcp,
        lost=lost if sent else None, datagrams=sent or None,
    )  # fmt: skip


def _counters() -> dict[str, TcpCounters]:
    found = {}
    for end, ns in (("near", A), ("far", B)):
        head, values = [x.split() for x in inside(ns, "grep", "^Tcp:", "/proc/net/snmp").splitlines()]
        tcp = dict(zip(head, values, strict=True))
        head, values = [x.split() for x in inside(ns, "grep", "^TcpExt:", "/proc/net/netstat").splitlines()]
        more = dict(zip(head, values, strict=True))
        found[end] = TcpCounters(int(tcp["OutSegs"]), int(tcp["RetransSegs"]), int(more["TCPOFOQueue"]),
                                 int(more["TCPToZeroWindowAdv"]), int(more.get("TCPWinProbe", 0)))  # fmt: skip
    return found


def _minus(a: TcpCounters, b: TcpCounters) -> TcpCounters:
    return TcpCounters(*(getattr(a, f) - getattr(b, f) for f in a.__dataclass_fields__))


def _spent(process: subprocess.Popen[str]) -> float:
    """CPU seconds of the tool itself: this machine's cores have other work, which an appliance's have not."""
    try:
        used = psutil.Process(process.pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(used.user + used.system)
