"""What linkladder costs: bare iperf and linkladder interleaved with the same options on the unshaped veth path.

    .venv/bin/python tests/bench/overhead.py [PAIRS] [SECONDS]

Prints the ratio of the medians (aim: at least 0.99), the dead time of a trial beyond its warm-up and
duration (aim: at most 1 s) and the CPU of linkladder's own processes at both ends.  A pair in which the machine
let either of them stall counts for nothing and is done again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
import spaces
from linkladder import formats
from world import SITES, Lab

WARMUP = 1
PLAN = """
name = "overhead"
[[experiment]]
rungs = ["same-host"]
streams = 1
duration = {seconds}
warmup = {warmup}
"""


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


def ours(lab: Lab, plan: Path, seconds: int) -> tuple[float, float, dict[str, float]]:
    """Goodput, wall time, and the share of a core that linkladder's own processes took at each end."""
    argv = lab.command("alpha", [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta"])
    run = subprocess.Popen([*argv, "--json", "-"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    while not any("iperf" in line and "-c" in line for line in spaces.processes(lab.space("alpha")).values()):
        time.sleep(0.05)
    time.sleep(WARMUP)
    first, began = {site: own_cpu(lab, site) for site in SITES}, time.monotonic()
    time.sleep(seconds - 1)
    took = time.monotonic() - began
    shares = {site: (own_cpu(lab, site) - first[site]) / took for site in SITES}
    out, _ = run.communicate()
    (trial,) = formats.document(json.loads(out)).rungs[0].experiments[0].trials
    if not trial.ok:
        raise Stalled(trial.reason)
    return trial.goodput_bps, trial.seconds, shares


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
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with Lab("llb").paired() as lab:
        plan = lab.state("alpha") / "overhead.toml"
        plan.write_text(PLAN.format(seconds=seconds, warmup=WARMUP))
        alone, with_us, dead = [], [], []
        cpu: dict[str, list[float]] = {site: [] for site in SITES}
        stalls = 0
        while len(dead) < pairs:
            try:
                if len(dead) % 2:  # each goes first as often, so that a drift of the machine hits both alike
                    plain = bare(lab, seconds)
                goodput, took, shares = ours(lab, plan, seconds)
                if not len(dead) % 2:
                    plain = bare(lab, seconds)
            except Stalled as reason:
                stalls += 1
                print(f"     again: {reason}")
                if stalls > pairs:
                    raise
                continue
            alone.append(plain)
            for site in SITES:
                cpu[site].append(shares[site])
            with_us.append(goodput)
            dead.append(took - seconds - WARMUP)
            print(
                f"{len(dead):3}  bare {alone[-1] / 1e9:7.3f} Gb/s   linkladder {goodput / 1e9:7.3f} Gb/s"
                f"   dead {dead[-1]:.2f} s"
            )
        ratio = statistics.median(with_us) / statistics.median(alone)
        for site in SITES:
            print(f"linkladder's own CPU at {site}: {statistics.median(cpu[site]) * 100:.1f} % of a core (median)")
        print(f"ratio of medians {ratio:.4f}; dead time median {statistics.median(dead):.2f} s, most {max(dead):.2f} s")


if __name__ == "__main__":
    main()
