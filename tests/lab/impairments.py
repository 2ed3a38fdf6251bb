"""Links with a known limit: what is put onto a lab's DC link or an appliance, its figures drawn at random."""

from __future__ import annotations

import contextlib
import math
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import spaces
from network import SITES, Link
from world import Lab


@dataclass(frozen=True)
class Impaired:
    """What is put between the ends, and what the ends are made to suffer."""

    name: str
    contract_bps: float = 300e6
    rate: float | None = None  # token bucket in the middle; None: at the contract
    buffer: int | None = None  # its queue in bytes; None: 20 ms
    police: float | None = None  # IP bits per second above which the middle drops
    burst: int = 0
    at_once: int = 0  # with it the bucket counts packets, and holds so many
    loss: float = 0.0
    drop_above: int | None = None  # packets longer than this vanish in the middle
    delay_ms: float = 0.0  # one way
    window: int | None = None
    outage: float = 0.0  # seconds in mid-trial in which nothing gets through
    back: float | None = None  # token bucket of the way back alone
    direction: str = "forward"
    seconds: int = 4
    starve: str = ""  # the appliance whose CPU a quota withholds
    quota: float = 0.0  # its share of a core
    streams: int = 4
    steps_from: int = 0  # the window in segments above which a flow grows step by step, of itself
    busy: str = ""  # the appliance whose cores others keep busy meanwhile


LARGEST = 1500  # bytes of a packet
LOSSES = {"rare-loss": (0.0008, 0.002), "loss": (0.003, 0.03), "heavy-loss": (0.05, 0.1)}


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
    if kind == "queue":  # as deep as home routers have it
        return Impaired(
            kind, sold, rate=share * sold, buffer=int(share * sold / 8 * rng.uniform(0.1, 0.3)), streams=streams,
            seconds=6,
        )  # fmt: skip
    if kind == "small-burst":  # all of the contract gets through, if it comes evenly
        sold = max(sold, 60e6)  # a slower link is filled so gently that most draws lose nothing
        at_once = rng.randrange(16, 25)
        # A window that fills the way many times over has to grow through bursts larger than the bucket.
        away = 1000 * 4 * at_once * LARGEST * 8 / sold / 2
        return Impaired(
            kind, sold, police=1.02 * sold, at_once=at_once, delay_ms=max(away, rng.uniform(4, 12)), streams=1,
            seconds=6,
        )  # fmt: skip
    if kind == "policer":
        rate = min(share, 0.65) * sold  # nearer to the contract its own bucket would be a second limit
        return Impaired(
            kind,
            sold,
            police=rate,
            burst=int(rate / 8 * rng.uniform(0.005, 0.1)),
            streams=streams,
        )
    if kind == "bucket":  # full rate until it is empty, some five seconds on
        rate = min(share, 0.7) * sold
        return Impaired(kind, sold, police=rate, burst=int((sold - rate) / 8 * 5), streams=streams, seconds=10)
    if kind == "outage":
        return Impaired(kind, sold, outage=rng.uniform(2.5, 4), streams=streams, seconds=9)
    if kind == "one-way":
        return Impaired(kind, sold, back=share * sold, direction="both", streams=streams)
    if kind == "own-card":  # a lab's card calls itself one of 10 Gb/s
        return Impaired(kind, rng.choice([20e9, 40e9]), rate=9e9, streams=streams)
    if kind in LOSSES:
        lost = rng.uniform(*LOSSES[kind])
        # So far that all streams together are held to less than two thirds of what was sold (Mathis et al. 1997).
        away = 1000 * streams * 1.22 * LARGEST * 8 / (0.6 * 100e6 * math.sqrt(lost)) / 2
        return Impaired(
            kind,
            100e6,
            loss=lost,
            seconds=8 if kind == "rare-loss" else 4,
            delay_ms=max(away, rng.uniform(3, 15)),
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
    if kind == "growth":  # as after losses that the kernel remembers: from a small window it grows step by step
        sold, away = rng.choice([50e6, 60e6, 80e6]), rng.uniform(80, 120)
        fills = 2 * away / 1000 * sold / 8 / LARGEST  # segments on the way
        return Impaired(kind, sold, delay_ms=away, buffer=int(sold / 8), streams=1, steps_from=int(0.1 * fills))
    if kind == "black-hole":
        return Impaired(kind, sold, drop_above=rng.randrange(1280, 1480), streams=streams)
    if kind == "busy-sender":
        return Impaired(kind, 3e9, busy="alpha", streams=streams)  # half a fast core still fills 1 Gb/s
    if kind == "busy-queue":  # what waits, waits on the path, whatever the machine does beside it
        return Impaired(
            kind, sold, rate=share * sold, buffer=int(share * sold / 8 * 0.1), busy="alpha", streams=streams
        )  # fmt: skip
    if kind in ("starved-sender", "starved-receiver"):
        # Receiving costs less than sending: a larger quota would not be the limit on a machine with other work.
        end, least = ("alpha", (0.03, 0.10)) if kind == "starved-sender" else ("beta", (0.01, 0.03))
        return Impaired(kind, 1e9, starve=end, quota=rng.uniform(*least), streams=streams)
    raise ValueError(kind)


# --- the link


def put(lab: Lab, p: Impaired) -> None:
    """The DC link is like this from now on."""
    rate = p.rate or p.contract_bps
    lab.impair(Link(rate, delay_ms=2 * p.delay_ms, loss=100 * p.loss))
    limit = p.buffer or int(rate / 8 * 0.02)
    for site in SITES:
        port = f"d{site}"
        # One segment a packet, as on a wire: a drop must not take sixty-four kilobytes at once.
        inside(lab, site, "ip", "link", "set", "dc0", "gso_max_segs", "1")
        way = inside(lab, site, "ip", "route", "show", "10.98.0.0/16").split(" ssthresh ")[0].split()
        first = ["ssthresh", "lock", str(p.steps_from)] if p.steps_from else []
        inside(lab, site, "ip", "route", "replace", *way, *first)
        inside(lab, site, "sysctl", "-w", f"net.ipv4.tcp_no_ssthresh_metrics_save={0 if first else 1}")
        inside(lab, site, "ip", "tcp_metrics", "flush")
        inside(lab, "net", "ip", "link", "set", port, "gso_max_segs", "1")
        burst = str(max(5000, int(rate / 8 / 250)))
        here = p.back if p.back and site == "alpha" else rate  # what leaves by it goes to that site
        bucket = ["tbf", "rate", f"{int(here)}bit", "burst", burst, "limit", str(max(5000, limit))]
        inside(lab, "net", "tc", "qdisc", "replace", "dev", port, "root", "handle", "1:", *bucket)
    rules = []
    if p.police:
        # Every packet of the payload's way counts against one bucket; what is over it goes.
        over = f"limit rate over {int(p.police / 8)} bytes/second burst {max(p.burst, 6000)} bytes"
        if p.at_once:  # of bytes nft's bucket holds a second's more than it is told
            over = f"limit rate over {int(p.police / 8 / LARGEST)}/second burst {p.at_once} packets"
        rules.append(f"iifname dalpha {over} counter drop")
    if p.drop_above:
        rules.append(f"meta length > {p.drop_above} drop")
    if rules:
        chain = f"chain f {{ type filter hook forward priority 0; {'; '.join(rules)}; }};"
        inside(lab, "net", "nft", f"table ip limits {{ {chain} }}")


def inside(lab: Lab, site: str, *argv: str) -> str:
    done = subprocess.run(["ip", "netns", "exec", lab.space(site), *argv], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def dropped(lab: Lab) -> int:
    """Packets that the rule of `police` has dropped, as the kernel counts them."""
    listed = inside(lab, "net", "nft", "list", "ruleset")
    return sum(int(count) for count in re.findall(r"counter packets (\d+)", listed))


# --- a quota of a core


class Quota:
    """A control group, version 1 or 2, whichever is there; what is in it gets a share of a core."""

    PERIOD = 100_000  # microseconds
    OLD = Path("/sys/fs/cgroup/cpu")

    def __init__(self, name: str) -> None:
        self._group = (self.OLD if self.OLD.is_dir() else Path("/sys/fs/cgroup")) / name
        self._group.mkdir(exist_ok=True)

    def take(self, pids: list[int], share: float) -> None:
        self.allow(share)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                (self._group / "cgroup.procs").write_text(str(pid))

    def allow(self, share: float | None) -> None:
        """None is all of it."""
        if self.OLD.is_dir():
            (self._group / "cpu.cfs_period_us").write_text(str(self.PERIOD))
            (self._group / "cpu.cfs_quota_us").write_text(str(int(self.PERIOD * share) if share else -1))
        else:
            (self._group / "cpu.max").write_text(f"{int(self.PERIOD * share) if share else 'max'} {self.PERIOD}")

    def close(self) -> None:
        for _ in range(100):
            with contextlib.suppress(OSError):
                self._group.rmdir()
                return
            time.sleep(0.1)


@contextlib.contextmanager
def suffering(lab: Lab, p: Impaired, run: subprocess.Popen[str]) -> Iterator[None]:
    """What befalls a run in mid-trial."""
    if p.busy:
        with burning(lab, p.busy, run):
            yield
        return
    if not p.outage:
        with starving(lab, p, run):
            yield
        return
    while run.poll() is None and not _tools(lab, "alpha"):
        time.sleep(0.05)
    time.sleep(5)
    nothing = "table ip outage { chain f { type filter hook forward priority 0; iifname { dalpha, dbeta } drop; }; }"
    inside(lab, "net", "nft", nothing)
    time.sleep(p.outage)
    inside(lab, "net", "nft", "delete", "table", "ip", "outage")
    yield


BURNERS = 3
PRIORITY = -10  # so that the tools get a thirtieth of the core


@contextlib.contextmanager
def burning(lab: Lab, site: str, run: subprocess.Popen[str]) -> Iterator[None]:
    """While the run's TCP trial lasts, other processes of the appliance want its cores, and mostly get them."""
    argv = lab.command(site, ["nice", "-n", str(PRIORITY), sys.executable, "-c", "while True: pass"])
    while run.poll() is None and not _tools(lab, "alpha"):
        time.sleep(0.05)
    others = [subprocess.Popen(argv, stdin=subprocess.DEVNULL) for _ in range(BURNERS)]
    try:
        while run.poll() is None and _tools(lab, "alpha"):
            time.sleep(0.05)
    finally:
        for one in others:
            one.kill()
            one.wait()
    yield


@contextlib.contextmanager
def starving(lab: Lab, p: Impaired, run: subprocess.Popen[str]) -> Iterator[None]:
    """While the run's TCP trial lasts, tool and linkladder of one appliance share what the quota leaves them.

    As a hypervisor does it to a machine; not before, since an appliance that gets a hundredth of a core takes minutes
    to start a trial.
    """
    if not p.starve:
        yield
        return
    quota = Quota(f"{lab.prefix}-{p.starve}")
    try:
        while run.poll() is None and not _tools(lab, "alpha"):
            time.sleep(0.05)
        own = [pid for pid, line in spaces.processes(lab.space(p.starve)).items() if "linkladder" in line]
        quota.take([*_tools(lab, p.starve), *own], p.quota)
        while run.poll() is None and _tools(lab, "alpha"):
            time.sleep(0.05)
        quota.allow(None)
        yield
    finally:
        quota.allow(None)
        run.communicate()
        quota.close()


def _tools(lab: Lab, site: str) -> list[int]:
    """The iperf of a trial: one that only tells its version has no port."""
    lines = {pid: line.split() for pid, line in spaces.processes(lab.space(site)).items()}
    return [pid for pid, words in lines.items() if words[0].endswith("iperf") and "-p" in words]
