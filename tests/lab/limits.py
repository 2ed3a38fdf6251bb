"""Real paths with a known limit: namespaces, impairments drawn at random, and trials measured over them.

A small runner of its own, so that what is tested is the judge: iperf at both ends, each pinned to its own core, their
namespaces' TCP counters, pings idle and under load, DF probes and paced UDP, put into the model's records.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from linkladder.model import (
    Contract,
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
    Tool,
    TrialResult,
)
from linkladder.model import Path as TestPath

A, B, MIDDLE = "llj-a", "llj-b", "llj-m"
HERE = Path(__file__).parent
WARMUP, COUNTED = 2.0, 4.0
LINE = re.compile(r"^\[ *\*?(\d+)\] +([\d.]+)-([\d.]+) +sec +(\d+) Bytes +(\d+) bits/sec(.*)$")
LOST = re.compile(r"(\d+)/ *(\d+) \(")


@dataclass(frozen=True)
class Impaired:
    """What is put between the ends, and what the ends are made to suffer."""

    name: str
    contract_bps: float = 300e6
    rate: float | None = None  # token bucket in the middle; None: at the contract
    buffer: int | None = None  # its queue in bytes; None: 20 ms
    police: float | None = None  # IP bits per second above which the middle drops
    burst: int = 0
    loss: float = 0.0
    drop_above: int | None = None  # packets longer than this vanish in the middle
    delay_ms: float = 0.0  # one way, through the relay
    window: int | None = None
    starve: str = ""  # the end whose CPU a quota withholds
    quota: float = 0.0  # its share of a core
    streams: int = 4

    @property
    def contract(self) -> Contract:
        return Contract(port_bps=10e9, rate_bps=self.contract_bps)


def draw(kind: str, rng: random.Random) -> Impaired:
    """A path of the kind with its figures drawn at random."""
    sold = rng.choice([40e6, 60e6, 80e6, 120e6])
    share = rng.uniform(0.25, 0.8)
    streams = rng.choice([1, 2, 4])
    if kind == "control":
        return Impaired(kind, sold, streams=streams)
    if kind == "shaper":
        return Impaired(
            kind,
            sold,
            rate=share * sold,
            buffer=int(share * sold / 8 * rng.uniform(0.01, 0.05)),
            streams=streams,
        )
    if kind == "small-buffer":
        return Impaired(
            kind,
            sold,
            rate=share * sold,
            buffer=rng.randrange(12_000, 60_000),
            streams=streams,
        )
    if kind == "policer":
        rate = min(share, 0.65) * sold  # nearer to the contract its own bucket would be a second limit
        return Impaired(
            kind,
            sold,
            police=rate,
            burst=int(rate / 8 * rng.uniform(0.005, 0.1)),
            streams=streams,
        )
    if kind == "loss":
        return Impaired(
            kind,
            100e6,
            loss=rng.uniform(0.003, 0.03),
            delay_ms=rng.uniform(3, 15),
            streams=streams,
        )
    if kind == "window":
        return Impaired(
            kind,
            100e6,
            window=rng.choice([32768, 65536, 131072]),
            delay_ms=rng.uniform(12, 40),
            streams=1,
        )
    if kind == "black-hole":
        return Impaired(kind, sold, drop_above=rng.randrange(1280, 1480), streams=streams)
    if kind in ("starved-sender", "starved-receiver"):
        # Receiving costs less than sending: a larger quota would not be the limit on a machine with other work.
        end, least = ("near", (0.03, 0.10)) if kind == "starved-sender" else ("far", (0.01, 0.03))
        return Impaired(kind, 1e9, starve=end, quota=rng.uniform(*least), streams=streams)
    raise ValueError(kind)


# --- the path


@contextlib.contextmanager
def path(p: Impaired) -> Iterator[tuple[str, str]]:
    """The namespaces with the path between them; yields the near and the far address."""
    down()
    relay = None
    try:
        for ns in (A, B, MIDDLE):
            run("ip", "netns", "add", ns)
            inside(ns, "ip", "link", "set", "lo", "up")
            # Where the host allows only others, reno does: what matters is that loss slows it, as it does FreeBSD's.
            shell = "echo cubic > {0} || echo reno > {0}".format("/proc/sys/net/ipv4/tcp_congestion_control")
            inside(ns, "sh", "-c", f"({shell}) 2>/dev/null")
            for key, value in (
                ("net/ipv4/tcp_no_metrics_save", "1"),
                ("net/ipv4/ip_forward", "1"),
            ):
                inside(ns, "sh", "-c", f"echo {value} > /proc/sys/{key}")
        if p.delay_ms:
            relay = _relay(p)
            yield "10.97.9.1", "10.97.9.2"
        else:
            _routed(p)
            yield "10.97.1.1", "10.97.2.1"
    finally:
        if relay is not None:
            assert relay.stdin is not None
            relay.stdin.close()
            relay.wait(5)
        down()


def _relay(p: Impaired) -> subprocess.Popen[str]:
    argv = [sys.executable, str(HERE / "relay.py"), A, "10.97.9.1", B, "10.97.9.2", "--delay", str(p.delay_ms),
            "--loss", str(p.loss), "--rate", str(p.contract_bps * 1500 / 1514), "--queue", "400000"]  # fmt: skip
    relay = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert relay.stdout is not None
    if relay.stdout.readline().strip() != "ready":
        raise RuntimeError("the relay did not start")
    return relay


def _routed(p: Impaired) -> None:
    for n, ns in ((1, A), (2, B)):
        run(
            "ip",
            "link",
            "add",
            "e0",
            "netns",
            ns,
            "type",
            "veth",
            "peer",
            "name",
            f"m{n}",
            "netns",
            MIDDLE,
        )
        inside(ns, "ip", "addr", "add", f"10.97.{n}.1/24", "dev", "e0")
        # One segment a packet, as on a wire: a drop must not take sixty-four kilobytes at once.
        inside(ns, "ip", "link", "set", "e0", "up", "gso_max_segs", "1")
        inside(MIDDLE, "ip", "addr", "add", f"10.97.{n}.254/24", "dev", f"m{n}")
        inside(MIDDLE, "ip", "link", "set", f"m{n}", "up", "gso_max_segs", "1")
        inside(ns, "ip", "route", "add", "default", "via", f"10.97.{n}.254")
        rate = p.rate or p.contract_bps
        limit = p.buffer or int(rate / 8 * 0.02)
        inside(MIDDLE, "tc", "qdisc", "add", "dev", f"m{n}", "root", "tbf", "rate", f"{int(rate)}bit",
               "burst", str(max(5000, int(rate / 8 / 250))), "limit", str(max(5000, limit)))  # fmt: skip
    rules = []
    if p.police:
        # Every packet of the payload's way counts against one bucket; what is over it goes.
        rules.append(
            f"iifname m1 limit rate over {int(p.police / 8)} bytes/second burst {max(p.burst, 6000)} bytes drop"
        )
    if p.drop_above:
        rules.append(f"meta length > {p.drop_above} drop")
    if rules:
        body = "; ".join(rules)
        text = f"table ip llj {{ chain f {{ type filter hook forward priority 0; {body}; }}; }}"
        inside(MIDDLE, "nft", text)


def down() -> None:
    """No namespace of ours, nor a process in one, is left."""
    listed = run("ip", "netns", "list").split()
    for ns in (A, B, MIDDLE):
        if ns in listed:
            for pid in run("ip", "netns", "pids", ns).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            run("ip", "netns", "delete", ns)


# --- measuring


def measure(p: Impaired) -> RungResult:
    """What a plan measures of a link: DF probes, idle round trip, TCP under a ping, paced UDP at 50 and 90 %."""
    with path(p) as (near, far):
        experiments = [_df(far), _idle(far), _tcp(p, near, far)]
        if not p.drop_above and not p.starve:
            experiments += [_udp(p, near, far, share) for share in (0.5, 0.9)]
    return RungResult(RungName.DC_LINK, TestPath(near, far), experiments=tuple(experiments))


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
    exp = Experiment("path-mtu-forward", Tool.PING, Protocol.DF)
    return ExperimentResult(exp, (TrialResult("d", 0, True, path_mtu=found),))


def _idle(far: str) -> ExperimentResult:
    text = inside(A, "ping", "-c", "40", "-i", "0.03", far)
    exp = Experiment("round-trip", Tool.PING, Protocol.ECHO)
    return ExperimentResult(exp, (TrialResult("p", 0, True, rtt=_rtt(text)),))


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
    with _quota(p, "far") as held_far, _quota(p, "near") as held_near:
        serve = _start(B, 1, held_far, ["iperf", "-s", "-B", far, *common, *server])
        time.sleep(0.5)
        before = _counters()
        load = _start(A, 0, None, ["ping", "-i", "0.1", "-w", str(int(seconds)), far]) if exp.ping_under_load else None
        send = _start(
            A,
            0,
            held_near,
            ["iperf", "-c", far, "-B", near, "-t", f"{seconds:g}", *common, *client],
        )
        time.sleep(exp.warmup)
        spent, began = [_spent(send), _spent(serve)], time.monotonic()
        stolen = {end: _withheld(held) for end, held in (("near", held_near), ("far", held_far))}
        time.sleep(exp.duration)
        span = time.monotonic() - began
        busy = [100 * (_spent(x) - before) / span for x, before in zip((send, serve), spent, strict=True)]
        starved = {
            end: min(1.0, (_withheld(held) - stolen[end]) / span) if held else None
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
    return TrialResult(
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


# --- a quota of a core


@contextlib.contextmanager
def _quota(p: Impaired, end: str) -> Iterator[Path | None]:
    """A control group whose processes get only a share of a core; version 1 or 2, whichever is there."""
    if p.starve != end:
        yield None
        return
    old = Path("/sys/fs/cgroup/cpu")
    group = (old if old.is_dir() else Path("/sys/fs/cgroup")) / f"llj-{end}"
    group.mkdir(exist_ok=True)
    period = 100_000
    if old.is_dir():
        (group / "cpu.cfs_period_us").write_text(str(period))
        (group / "cpu.cfs_quota_us").write_text(str(int(period * p.quota)))
    else:
        (group / "cpu.max").write_text(f"{int(period * p.quota)} {period}")
    try:
        yield group
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def _withheld(group: Path | None) -> float:
    """Seconds that the quota has withheld so far."""
    if group is None:
        return 0.0
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(stat["throttled_time"]) / 1e9 if "throttled_time" in stat else int(stat["throttled_usec"]) / 1e6


# --- plumbing


def _start(ns: str, core: int, group: Path | None, argv: Sequence[str]) -> subprocess.Popen[str]:
    cores = sorted(os.sched_getaffinity(0))
    # The group is entered first: inside the namespace /sys is another, without control groups.
    enter = f"echo $$ > {group}/cgroup.procs; " if group else ""
    pin = ["taskset", "-c", str(cores[min(core, len(cores) - 1)])]
    run_ = [
        "sh",
        "-c",
        f'{enter}exec "$@"',
        "sh",
        *pin,
        "ip",
        "netns",
        "exec",
        ns,
        *argv,
    ]
    return subprocess.Popen(run_, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run(*argv: str, check: bool = True) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode and check:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout if not done.returncode else ""


def inside(ns: str, *argv: str, check: bool = True) -> str:
    return run("ip", "netns", "exec", ns, *argv, check=check)
