"""climb.py DATABASE: runs between two appliances of a lab, beside bare iperf with the same options; prints JSON.

The unshaped same-host path.  A pair in which the machine let either of the two stall counts for nothing and is done
again.  The runs that were made are kept in DATABASE.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
from serial_console import Screen

import spaces
from linkladder.codec import from_json
from linkladder.model import Document
from world import Lab

DATABASE = Path(sys.argv[1])
SITES = ("alpha", "beta")  # named here: an earlier tree has them in another module
PAIRS, SECONDS, WARMUP = 4, 5, 1
WATCHED = 40  # seconds: of a core's 1 % a clock of 100 ticks a second tells 40 then
PLAN = """
name = "{name}"
[[experiment]]
rungs = ["same-host"]
streams = 1
duration = {seconds}
warmup = {warmup}
"""
Found = dict[str, list[float]]


class Stalled(Exception):
    """The machine had no time for a trial."""


def bare(lab: Lab, seconds: int) -> float:
    """Receiver's bits per second after the warm-up, of iperf alone."""
    remote, port = lab.address("beta", "same-host"), 5299
    server = subprocess.Popen(
        lab.command("beta", ["iperf", "-s", "-B", remote, "-p", str(port), "-e", "-i", "1", "-f", "b"]),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(0.5)
    client = ["iperf", "-c", remote, "-B", lab.address("alpha", "same-host"), "-p", str(port), "-e", "-i", "1"]
    client += ["-t", str(seconds + WARMUP), "-f", "b"]
    # sessions of their own, as the agent gives its tools: on a busy machine the scheduler shares by session
    subprocess.run(lab.command("alpha", client), capture_output=True, check=True, start_new_session=True)
    time.sleep(0.3)
    server.terminate()
    out, _ = server.communicate()
    counted = [
        int(match[3])
        for match in re.finditer(r"\] (\d+)\.\d+-(\d+)\.\d+ sec +(\d+) Bytes", out)
        if int(match[2]) == int(match[1]) + 1 and WARMUP <= int(match[1]) < WARMUP + seconds
    ]
    if len(counted) < seconds:
        raise Stalled(f"iperf alone told of {len(counted)} of {seconds} seconds")
    return sum(counted) * 8 / len(counted)


def ours(lab: Lab, plan: Path) -> tuple[float, float, float]:
    """Goodput, the wall time of the trial, and that of the whole command."""
    argv = lab.command("alpha", [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta"])
    began = time.monotonic()
    done = subprocess.run([*argv, "--json", "-"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    whole = time.monotonic() - began
    (trial,) = from_json(Document, json.loads(done.stdout)).rungs[0].experiments[0].trials
    if not trial.ok:
        raise Stalled(trial.reason)
    return trial.goodput_bps, trial.seconds, whole


def pairs(lab: Lab, plan: Path, found: Found) -> None:
    stalls = 0
    while len(found["ratio"]) < PAIRS:
        try:
            if len(found["ratio"]) % 2:  # each goes first as often, so that a drift of the machine hits both alike
                plain = bare(lab, SECONDS)
            goodput, took, whole = ours(lab, plan)
            if not len(found["ratio"]) % 2:
                plain = bare(lab, SECONDS)
        except Stalled as reason:
            stalls += 1
            print(f"  again: {reason}", file=sys.stderr)
            if stalls > PAIRS:
                raise
            continue
        found["ratio"].append(goodput / plain)
        found["dead"].append(took - SECONDS - WARMUP)
        found["around"].append(whole - SECONDS - WARMUP)


def watched(lab: Lab, found: Found) -> None:
    """A run from a console, over some seconds of its trial; then it is cancelled there."""
    argv = lab.command("alpha", [sys.executable, "-m", "linkladder"])
    screen = Screen(argv)
    console = screen.terminal
    try:
        screen.until("> Climb the ladder")
        screen.go(b"e", "[ Climb the ladder ]")
        screen.until("Plan < watched")
        screen.go(b"\r", "measuring")
        screen.until("Gb/s to far")
        screen.follow(3)
        began, spent, first = time.monotonic(), screen.cpu(), {site: own_cpu(lab, site) for site in SITES}
        screen.follow(WATCHED)
        took = time.monotonic() - began
        found["console"].append(100 * (screen.cpu() - spent) / took)
        for site, name in (("alpha", "near"), ("beta", "far")):
            found[name].append(100 * (own_cpu(lab, site) - first[site]) / took)
        found["console_memory"].append(psutil.Process(console.process.pid).memory_info().rss / 2**20)
        agents = [pid for pid, line in spaces.processes(lab.space("beta")).items() if "agent" in line.split()]
        found["agent_memory"].append(max(psutil.Process(pid).memory_info().rss for pid in agents) / 2**20)
        screen.go(b"x", "[ No ]")
        screen.follow(1.5)  # keys that come sooner than a person can read are not taken
        console.type(b"\x1b[D")
        screen.follow(0.5)
        assert all(tools(lab, site) for site in SITES)
        began = time.monotonic()
        console.type(b"\r")
        while any(tools(lab, site) for site in SITES):
            time.sleep(0.01)
        found["stop"].append(time.monotonic() - began)
        screen.follow(3)
    finally:
        console.close()


def tools(lab: Lab, site: str) -> list[str]:
    lines = spaces.processes(lab.space(site)).values()
    return [line for line in lines if os.path.basename(line.split()[0]) == "iperf"]


def own_cpu(lab: Lab, site: str) -> float:
    """CPU seconds of linkladder, its agent, ssh and sshd at a site; not of the tools they run."""
    ticks = 0
    for pid, line in spaces.processes(lab.space(site)).items():
        if "linkladder" in line or "ssh" in line.split(" ", 1)[0]:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    names = ("ratio", "dead", "around", "console", "near", "far", "console_memory", "agent_memory", "stop")
    found: Found = {name: [] for name in names}
    with Lab("llb").paired() as lab:
        (lab.state("alpha") / "plans").mkdir()
        plans = {name: lab.state("alpha") / "plans" / f"{name}.toml" for name in ("watched", "pair")}
        for name, seconds in (("watched", 60), ("pair", SECONDS)):
            plans[name].write_text(PLAN.format(name=name, seconds=seconds, warmup=WARMUP))
        described = lab.state("alpha") / "link.toml"
        described.write_text(f'plan = "watched"\n{described.read_text()}')
        watched(lab, found)
        pairs(lab, plans["pair"], found)
        made = lab.state("alpha") / "linkladder.db"
        with contextlib.closing(sqlite3.connect(made)) as source, contextlib.closing(sqlite3.connect(DATABASE)) as kept:
            source.backup(kept)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
