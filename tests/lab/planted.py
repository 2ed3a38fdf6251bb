"""Changes whose effect is known, as it was put there: each measured in pairs by `linkladder run`, its figures drawn.

A kind says what is done to the lab, what the two arms differ by, and what must be found: the changed arm carries more,
or less, or the same.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import impairments
import spaces
from impairments import Impaired, Quota, inside
from linkladder import formats, judge
from linkladder.model import Document, Fault
from linkladder.verdicts import Answer, Change, Measured
from network import SITES
from world import Lab

DRAWS = int(os.environ.get("LINKLADDER_DRAWS", "0"))  # of each kind; 0: one of the kind whose day it is
FIRST = int(os.environ.get("LINKLADDER_DRAWS_FROM", "0"))
PAIRS = 6
PATIENCE = 240  # seconds for a draw, on a machine with other work
HARDLY = 1e6  # b/s
BETTER = (Measured.GOODPUT, Measured.PER_CORE, Measured.TRANSACTIONS)  # the more of it, the better
MORE, LESS, SAME, NOTHING_THROUGH = "more", "less", "the same", "nothing gets through"
PLAN = """
name = "planted"
[contract]
port = "10G"
[[experiment]]
rungs = "{rung}"
warmup = 0
duration = 2
repeats = {pairs}
{arms}
"""
OFFLOADS = ("tso", "gso", "gro")
LINK = Impaired("none", 200e6, buffer=1 << 20)


@dataclass(frozen=True)
class Planted:
    """One draw: what the arms are, what is done to the lab meanwhile, and what must come of it."""

    arms: str
    expected: str
    link: Impaired | None = None  # of the DC link; None: it is measured on same-host
    meanwhile: Callable[[Lab], AbstractContextManager[None]] = lambda lab: contextlib.nullcontext()
    figure: Measured = Measured.GOODPUT
    environment: dict[str, str] = field(default_factory=dict)  # of both ends, besides what they always have


def swapped(rng: random.Random, plain: str, changed: str, expected: str) -> tuple[str, str]:
    """The two arms, either of them as the baseline, and what is then expected of the other."""
    if rng.random() < 0.5:
        return f"{changed}\nbaseline = {{{plain}}}", expected
    return f"{plain}\nbaseline = {{{changed}}}", {MORE: LESS, LESS: MORE}.get(expected, expected)


def small_buffer(rng: random.Random, round_trip_ms: float) -> Planted:
    """A socket buffer that holds much less than is on the way; the other one holds all of it."""
    on_the_way = LINK.contract_bps / 8 * round_trip_ms / 1000
    small = int(on_the_way * rng.uniform(0.1, 0.4)) // 1024 * 1024
    arms, expected = swapped(rng, 'window = "1M"', f"window = {small}", LESS)
    return Planted(arms, expected, Impaired("", LINK.contract_bps, buffer=1 << 20, delay_ms=round_trip_ms / 2))


def streams(rng: random.Random) -> Planted:
    """Each stream is held by its buffer, so that several carry more."""
    window = int(LINK.contract_bps / 8 * 0.02 * rng.uniform(0.1, 0.2)) // 1024 * 1024
    arms, expected = swapped(rng, "streams = 1", f"streams = {rng.choice([2, 4])}", MORE)
    return Planted(f"window = {window}\n{arms}", expected, Impaired("", LINK.contract_bps, buffer=1 << 20, delay_ms=10))


def quota(rng: random.Random) -> Planted:
    """The arm that writes a little more at a time than the other gets only a share of a core."""
    share, link = rng.uniform(0.02, 0.06), Impaired("", 1e9, buffer=4 << 20)
    arms = 'write_size = "128K"\nbaseline = {write_size = "127K"}'
    return Planted(arms, LESS, link, lambda lab: starved(lab, lambda pid, words: share if "131072" in words else 0))


def mtu(rng: random.Random) -> Planted:
    """Without any offload each packet costs; which way it is changed is drawn."""
    up = rng.random() < 0.5
    before, after = (1500, 9000) if up else (9000, 1500)
    settings = f'settings = [{{kind = "mtu", value = {after}}}]\nbaseline = true'
    off = dict.fromkeys(OFFLOADS, "off")
    return Planted(settings, MORE if up else LESS, meanwhile=lambda lab: cards(lab, before, off, own_cores=True))


def offloads(rng: random.Random) -> Planted:
    """Large sends and receives save work for each byte, or cost it where they are taken away."""
    on = rng.random() < 0.5
    before, after = ("off", "on") if on else ("on", "off")
    made = ", ".join(f'{{kind = "{kind}", value = "{after}"}}' for kind in OFFLOADS)
    settings, flags = f"settings = [{made}]\nbaseline = true", dict.fromkeys(OFFLOADS, before)
    return Planted(settings, MORE if on else LESS, None, lambda lab: cards(lab, 1500, flags), figure=Measured.PER_CORE)


def cores(rng: random.Random) -> Planted:
    """Each core that the sender may run on, as the system tells it, adds the same small share of a core."""
    arms, expected = swapped(rng, "cores = 2", "cores = 1", LESS)
    each, link = rng.uniform(0.03, 0.05), Impaired("", 1e9, buffer=4 << 20)
    both = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    return Planted(
        f"streams = 2\n{arms}",
        expected,
        link,
        lambda lab: starved(lab, lambda pid, words: each * len(os.sched_getaffinity(pid))),
        environment={"LINKLADDER_CORES": both},
    )


def drops(rng: random.Random) -> Planted:
    """The network between drops what is above 1500, and tells nobody: large frames carry nothing."""
    link = Impaired("", LINK.contract_bps, buffer=1 << 20, drop_above=1500, delay_ms=rng.choice([0.0, 1.0]))
    return Planted('settings = [{kind = "mtu", value = 9000}]\nbaseline = true', NOTHING_THROUGH, link, jumbo_between)


def nothing(rng: random.Random) -> Planted:
    """Arms that differ in name alone: iperf writes 128 kB at a time whether it is told to or not."""
    arms = 'baseline = {write_size = "128K"}'
    return Planted(arms, SAME, rng.choice([None, LINK, Impaired("", 200e6, buffer=1 << 20, delay_ms=5)]))


KINDS: dict[str, Callable[[random.Random], Planted]] = {
    "small buffer at 5 ms": lambda rng: small_buffer(rng, 5),
    "small buffer at 20 ms": lambda rng: small_buffer(rng, 20),
    "streams": streams,
    "quota": quota,
    "mtu": mtu,
    "offloads": offloads,
    "cores": cores,
    "drops above 1500": drops,
    "nothing": nothing,
}
NEED_CORES = ("quota", "mtu", "offloads", "cores", "nothing")  # others carry far less than the cores can


def of_day(day: datetime.date) -> tuple[str, int]:
    """The kind and the seed that every run of the tests has on that day: in turn each kind that plants something."""
    planting = [kind for kind in KINDS if kind != "nothing"]
    return planting[day.toordinal() % len(planting)], day.toordinal()


# --- what is done to the lab


@contextlib.contextmanager
def cards(lab: Lab, size: int, flags: dict[str, str], own_cores: bool = False) -> Iterator[None]:
    """Both ends' cards of same-host are like this before the change, and must be so again afterwards.

    `own_cores`: what an end receives is worked on by its own cores, as with real cards; otherwise chance decides
    whether the sender's core does that as well.
    """

    def put(size: int, flags: dict[str, str]) -> None:
        for site in SITES:
            inside(lab, site, "ip", "link", "set", "sh0", "mtu", str(size))
            inside(lab, site, "ethtool", "-K", "sh0", *(word for pair in flags.items() for word in pair))

    def seen(site: str) -> str:
        return inside(lab, site, "ip", "link", "show", "sh0") + inside(lab, site, "ethtool", "-k", "sh0")

    put(size, flags)
    steer(lab, own_cores)
    before = {site: seen(site) for site in SITES}
    try:
        yield
        assert {site: seen(site) for site in SITES} == before, "it was not put back"
    finally:
        put(1500, dict.fromkeys(flags, "on"))
        steer(lab, False)


def steer(lab: Lab, own_cores: bool) -> None:
    """What comes in by same-host goes to the end's own cores or to none in particular; not all kernels can steer it."""
    for site in SITES:
        mine = sum(1 << int(core) for core in lab.cores(site).split(",")) if own_cores else 0
        steering = "/sys/class/net/sh0/queues/rx-0/rps_cpus"
        inside(lab, site, "sh", "-c", f"test ! -e {steering} || echo {mine:x} >{steering}")


@contextlib.contextmanager
def jumbo_between(lab: Lab) -> Iterator[None]:
    """The router's ports take large frames, as a switch that somebody has set up; the ends do not yet."""
    ports = [("net", f"d{site}") for site in SITES]
    for where, port in ports:
        inside(lab, where, "ip", "link", "set", port, "mtu", "9216")
    ways = {site: inside(lab, "net", "ip", "route", "show", "dev", f"d{site}").splitlines() for site in SITES}
    for site, lines in ways.items():
        for line in lines:
            words = line.split()
            keep = words[: words.index("mtu")] if "mtu" in words else words
            inside(lab, "net", "ip", "route", "replace", keep[0], "dev", f"d{site}", "mtu", "lock", "9000")
    try:
        yield
    finally:
        lab.impair(lab.link)


@contextlib.contextmanager
def starved(lab: Lab, share_of: Callable[[int, Sequence[str]], float]) -> Iterator[None]:
    """A sender gets the share of a core that its process and words call for, from its start on; 0: all of it."""
    quota = Quota(f"{lab.prefix}-planted")
    over = threading.Event()

    def watch() -> None:
        done: set[int] = set()
        while not over.wait(0.02):
            for pid, line in spaces.processes(lab.space("alpha")).items():
                words = line.split()
                if pid in done or not words or not words[0].endswith("iperf") or "-c" not in words:
                    continue
                done.add(pid)
                with contextlib.suppress(ProcessLookupError):
                    if share := share_of(pid, words):
                        quota.take([pid], share)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        quota.close()


# --- measuring and asking


@dataclass(frozen=True)
class Found:
    """What came of a draw, in a word and in figures."""

    said: str
    right: bool


def measured(lab: Lab, kind: str, seed: int, folder: Path, control: bool = False) -> list[Found]:
    """What the judge says of one draw of that kind, held against what was planted.

    With `control` the first arm runs against itself as well, and nothing may be found there.
    """
    drawn = KINDS[kind](random.Random(f"{kind} {seed}"))
    impairments.put(lab, drawn.link or LINK)
    plan, document = folder / f"{seed}.toml", folder / f"{seed}.json"
    rung = "dc-link" if drawn.link else "same-host"
    plan.write_text(PLAN.format(rung=rung, pairs=PAIRS, arms=drawn.arms) + "control = true\n" * control)
    document.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta", "--json", str(document)]
    command = lab.command("alpha", argv, drawn.environment)
    lab.environment("beta", **drawn.environment)
    try:
        with drawn.meanwhile(lab):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    finally:
        lab.environment("beta")
    assert document.exists(), done.stderr
    return told(formats.document(json.loads(document.read_text())), drawn)


def told(document: Document, drawn: Planted) -> list[Found]:
    """One answer for the change, and one for the first arm against itself where that was measured."""
    (rung,) = judge.judge_document(document).rungs
    asked = {e.parameters.id: e.parameters for r in document.rungs for e in r.experiments}
    found = []
    for change in rung.changes:
        if asked[change.experiment].label:
            found.append(_answer(change, SAME, drawn.figure, rung.judgement.findings))
        elif drawn.expected == NOTHING_THROUGH:
            found.append(_nothing_through(document, change))
        else:
            found.append(_answer(change, drawn.expected, drawn.figure, rung.judgement.findings))
    return found or [Found(f"nothing was compared: {'; '.join(document.run.notes)}", False)]


def _answer(change: Change, expected: str, wanted: Measured, findings: Sequence[str]) -> Found:
    figure = next((one for one in change.figures if one.measured is wanted), None)
    if figure is None or figure.ratio is None or change.void:
        return Found(f"no answer, {change.void} pairs void: {'; '.join(findings[:3])}", False)
    answer = figure.answer if figure.answer is not Answer.DIFFERS else MORE if figure.ratio > 1 else LESS
    right = answer == expected if expected != SAME else figure.answer is not Answer.DIFFERS
    said = f"{wanted}: {answer}, x{figure.ratio:.3f} ({figure.low:.3f} to {figure.high:.3f}), planted: {expected}"
    beside = [one for one in change.figures if one is not figure and one.answer is Answer.DIFFERS]
    return Found("; ".join([said, *(f"{one.measured} differs, x{one.ratio:.3f}" for one in beside)]), right)


def _nothing_through(document: Document, change: Change) -> Found:
    """Nothing gets through in any trial of the changed arm, and nobody is told that it gains."""
    arm = next(e for r in document.rungs for e in r.experiments if e.parameters.id == change.experiment)
    blocked = [t.fault is Fault.PATH or (t.ok and t.goodput_bps < HARDLY) for t in arm.trials]
    more_is_better = (f for f in change.figures if f.measured in BETTER)
    gained = any(f.answer is Answer.DIFFERS and (f.ratio or 0) > 1 for f in more_is_better)
    said = f"{sum(blocked)} of {len(blocked)} trials got nothing through; {change.pairs} pairs, {change.void} void"
    return Found(said, bool(blocked) and all(blocked) and not gained)
