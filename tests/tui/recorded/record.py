"""Real lab runs, kept for tests and pictures to replay: `sudo .venv/bin/python tests/tui/recorded/record.py [NAME]`.

It sets the lab up (two network namespaces, alpha and beta), pairs the two as two people would, and measures what
RECORDINGS lists through the process that the console uses; that takes ten minutes, in which other work on the machine
would show in the figures.  Of each run it keeps the event log as it was written (NAME.jsonl.xz) and what the store
then has of it (NAME.json.xz); of alpha, what it says of itself and of its pairing (alpha.json).  Where linkladder lies
on the machine that recorded, and what that machine is, is left out.
"""

from __future__ import annotations

import asyncio
import json
import lzma
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path[:0] = [str(TOP / "tests" / "lab"), str(TOP / "tui" / "src")]

import spaces  # noqa: E402
from linkladder.run.lock import announced  # noqa: E402
from linkladder.run.progress import Progress  # noqa: E402
from linkladder.run.session import LiveSession  # noqa: E402
from linkladder.run.steering import Seat  # noqa: E402
from network import Link  # noqa: E402
from world import Lab  # noqa: E402

SOLD = 4e8  # a rate which machines that others use as well still fill

MATRIX = """
name = "matrix"
title = "Streams and windows on the link, and both ways at once"
[[experiment]]
tool = "ping"
protocol = "echo"
rungs = ["same-host", "dc-link"]
count = 10
[[experiment]]
rungs = ["same-host"]
duration = 2
warmup = 1
[[experiment]]
rungs = ["dc-link"]
streams = [1, 4]
window = ["default", "800k"]
direction = "both"
duration = 2
warmup = 1
repeats = 2
[[experiment]]
rungs = ["dc-link"]
streams = 2
direction = "duplex"
duration = 3
warmup = 1
repeats = 2
[[experiment]]
rungs = ["dc-link"]
tool = "netperf"
protocol = "rr"
sessions = 10
duration = 2
warmup = 1
"""
REPEATED = """
name = "repeated"
title = "Three repeats a rung"
[[experiment]]
rungs = ["localhost", "same-host", "dc-link"]
streams = 2
duration = 4
warmup = 1
repeats = 3
"""

Meddling = Callable[[Lab, Progress], Iterator[None]]


def nothing(lab: Lab, seen: Progress) -> Iterator[None]:
    yield from ()


def server_killed(lab: Lab, seen: Progress) -> Iterator[None]:
    """In the second trial on the link beta's iperf dies."""
    while not _within(seen, "dc-link", 1):
        yield
    for pid, line in _on_beta(lab):
        if line.split(" ", 1)[0].endswith("iperf"):
            os.kill(pid, signal.SIGKILL)


def beta_lost(lab: Lab, seen: Progress) -> Iterator[None]:
    """In the second trial on the same host beta's control channel is gone for some seconds, on the link for good."""
    for rung, away in (("same-host", 3.0), ("dc-link", 0.0)):
        while not _within(seen, rung, 1):
            yield
        lab.stop_control("beta")
        for pid, line in _on_beta(lab):
            if line.startswith("sshd"):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if away:
            back = time.monotonic() + away
            while time.monotonic() < back:
                yield
            lab.start_control("beta")


def _within(seen: Progress, rung: str, repeat: int) -> bool:
    trial = seen.trial
    return bool(trial and trial.rung == rung and trial.repeat == repeat and len(trial.intervals) > 2)


def _on_beta(lab: Lab) -> list[tuple[int, str]]:
    return list(spaces.processes(lab.space("beta")).items())


@dataclass(frozen=True)
class Recording:
    """A plan climbed once, and what befalls it."""

    plan: str  # a built-in one, or the text of one
    carries: float = SOLD  # by the link, of what was sold
    meddling: Meddling = nothing
    instead: dict[str, str] = field(default_factory=dict)  # a rung -> the one whose addresses are entered for it


RECORDINGS = {
    "quick": Recording("quick"),
    "contradicted": Recording("quick", carries=0.6 * SOLD, instead={"same-vlan": "dc-link"}),
    "matrix": Recording(MATRIX),
    "failed": Recording(REPEATED, meddling=server_killed),
    "lost": Recording(REPEATED, meddling=beta_lost),  # the last: nobody starts beta's control channel again
}


def main(names: list[str]) -> None:
    with Lab("llr", Link(rate=SOLD)).unpaired() as lab:
        pairing = pair(lab)
        lab.describe_link()
        alpha = {**told(lab, "alpha", "facts"), "pairing": pairing}
        if not names:
            keep(HERE / "alpha.json", json.dumps(alpha, indent=1) + "\n")
        for name, recording in RECORDINGS.items():
            if not names or name in names:
                record(lab, name, recording)


def pair(lab: Lab) -> list[Any]:
    """beta waits, alpha calls; what alpha's screen had at each stage."""
    argv = lab.command("beta", [sys.executable, str(HERE / "aboard.py"), "pair", "answer"])
    beta = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    seen: list[Any] = told(lab, "alpha", "pair", "call")
    if beta.wait(60):
        raise SystemExit("beta did not pair")
    return seen


def record(lab: Lab, name: str, recording: Recording) -> None:
    print(f"{name} ...", flush=True)
    describe(lab, recording)
    plan = recording.plan
    if "\n" in plan:
        (lab.state("alpha") / "plans").mkdir(exist_ok=True)
        plan = re.findall('^name = "(.*)"', plan, re.M)[0]
        (lab.state("alpha") / "plans" / f"{plan}.toml").write_text(recording.plan)
    told(lab, "alpha", "plan", plan)
    runner = [sys.executable, "-m", "linkladder.run.process", str(lab.state("alpha") / "next-plan.json")]
    process = subprocess.Popen(lab.command("alpha", runner))
    seen = asyncio.run(steer(lab, process, recording.meddling))
    log = max((lab.state("alpha") / "live").glob("*.jsonl"))
    keep(HERE / f"{name}.jsonl.xz", log.read_text(encoding="utf-8"))
    stored = told(lab, "alpha", "stored", seen.run_id)
    keep(HERE / f"{name}.json.xz", json.dumps(stored, separators=(",", ":")))
    print(f"{name}: {stored['summary']['verdict']}, {stored['summary']['state']} {seen.reason}", flush=True)


def describe(lab: Lab, recording: Recording) -> None:
    """What was entered, and what is so."""
    lab.impair(replace(lab.link, rate=SOLD))
    lab.describe_link()
    text = (lab.state("alpha") / "link.toml").read_text()
    for rung, other in recording.instead.items():
        for site in ("alpha", "beta"):
            text = text.replace(lab.address(site, rung), lab.address(site, other))
    (lab.state("alpha") / "link.toml").write_text(text)
    lab.impair(replace(lab.link, rate=recording.carries))


async def steer(lab: Lab, process: subprocess.Popen[bytes], meddling: Meddling) -> Progress:
    """The operator: goes on wherever asked, after a moment; and what befalls the run meanwhile."""
    state = lab.state("alpha")
    while (found := announced(state)) is None or found.pid not in spaces.processes(lab.space("alpha")):
        if process.poll() is not None:
            raise SystemExit((state / "linkladder.log").read_text())
        await asyncio.sleep(0.1)
    session, seen, asked = LiveSession(state, found, Seat(state, "recording")), Progress(), ""
    befalls = meddling(lab, seen)
    while not seen.over:
        for at, event in await session.poll():
            seen.apply(event, at)
        next(befalls, None)
        if seen.instruction and seen.instruction != asked:
            asked = seen.instruction
            await asyncio.sleep(2)
            await session.control("proceed")
        await asyncio.sleep(0.1)
    process.wait(30)
    return seen


def told(lab: Lab, site: str, *words: str) -> Any:
    argv = lab.command(site, [sys.executable, str(HERE / "aboard.py"), *words])
    return json.loads(subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout)


def keep(path: Path, text: str) -> None:
    """Without what tells the machine that recorded from another."""
    for ours, instead in _ours().items():
        text = re.sub(rf"\b{re.escape(ours)}\b" if ours[0].isalnum() else re.escape(ours), instead, text)
    path.write_bytes(lzma.compress(text.encode(), preset=9)) if path.suffix == ".xz" else path.write_text(text)
    print(f"  {path.name}: {path.stat().st_size} bytes", flush=True)


def _ours() -> dict[str, str]:
    cpu = re.findall(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    named = {str(TOP): "/usr/local/linkladder", platform.release(): "6.1", platform.node(): "alpha"}
    return {**({cpu[0]: "a lab's processor"} if cpu else {}), **named}


if __name__ == "__main__":
    main(sys.argv[1:])
