"""Paths with a known limit: what is put between two ends, its figures drawn at random, and the namespaces it takes."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import spaces
import taken
from linkladder.model import Contract

A, B, MIDDLE = "llj-a", "llj-b", "llj-m"
HERE = Path(__file__).parent


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
    """The namespaces with the path between them, one at a time on a machine; yields the near and the far address."""
    lock = taken.hold("llj")
    relay = None
    try:
        down()
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
        os.close(lock)


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
    spaces.remove(A, B, MIDDLE)


# --- a quota of a core


@contextlib.contextmanager
def quota(p: Impaired, end: str) -> Iterator[Path | None]:
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


def withheld(group: Path | None) -> float:
    """Seconds that the quota has withheld so far."""
    if group is None:
        return 0.0
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(stat["throttled_time"]) / 1e9 if "throttled_time" in stat else int(stat["throttled_usec"]) / 1e6


# --- plumbing


def start(ns: str, core: int, group: Path | None, argv: Sequence[str]) -> subprocess.Popen[str]:
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
