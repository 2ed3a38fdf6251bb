"""What linkladder costs: bare iperf and linkladder interleaved with the same options on the unshaped veth path.

    .venv/bin/python tests/bench/overhead.py [PAIRS] [SECONDS]

Prints the ratio of the medians (aim: at least 0.99), the dead time of a trial beyond its warm-up and
duration (aim: at most 1 s) and the CPU of linkladder's own processes at both ends.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
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


def bare(lab: Lab, seconds: int) -> float:
    """Receiver's bits per second after the warm-up, of iperf alone."""
    remote, port = lab.address("beta", "same-host"), 5299
    server = subprocess.Popen(
        lab.command("beta", ["iperf", "-s", "-B", remote, "-p", str(port), "-e", "-i", "1", "-f", "b"]),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    time.sleep(0.5)
    client = ["iperf", "-c", remote, "-B", lab.address("alpha", "same-host"), "-p", str(port), "-e", "-i", "1"]
    client += ["-t", str(seconds + WARMUP), "-f", "b"]
    subprocess.run(lab.command("alpha", client), capture_output=True, check=True)
    time.sleep(0.3)
    server.terminate()
    out, _ = server.communicate()
    counted = [
        int(match[3])
        for match in re.finditer(r"\] (\d+)\.\d+-(\d+)\.\d+ sec +(\d+) Bytes", out)
        if int(match[2]) == int(match[1]) + 1 and WARMUP <= int(match[1]) < WARMUP + seconds
    ]
    return sum(counted) * 8 / len(counted)


def ours(lab: Lab, plan: Path) -> tuple[float, float, float]:
    """Goodput, dead time, and CPU seconds of our own processes at both ends for each second of trial."""
    before = own_cpu()
    shown = lab.linkladder("alpha", "run", "--plan", str(plan), "--peer", "beta", "--json", "-")
    spent = own_cpu() - before
    (trial,) = json.loads(shown.stdout)["rungs"][0]["experiments"][0]["trials"]
    assert trial["ok"], trial["reason"]
    return trial["goodput_bps"], trial["seconds"], spent


def own_cpu() -> float:
    """CPU seconds of all ended children: linkladder at the near end and the tools it reaped."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    lab = Lab("llb")
    lab.up()
    try:
        lab.describe_link()
        for site in SITES:
            lab.start_control(site)
        lab.pair()
        plan = lab.state("alpha") / "overhead.toml"
        plan.write_text(PLAN.format(seconds=seconds, warmup=WARMUP))
        alone, with_us, dead = [], [], []
        for number in range(pairs):
            alone.append(bare(lab, seconds))
            goodput, took, _ = ours(lab, plan)
            with_us.append(goodput)
            dead.append(took - seconds - WARMUP)
            print(
                f"{number + 1:3}  bare {alone[-1] / 1e9:7.3f} Gb/s   linkladder {goodput / 1e9:7.3f} Gb/s"
                f"   dead {dead[-1]:.2f} s"
            )
        ratio = statistics.median(with_us) / statistics.median(alone)
        print(f"ratio of medians {ratio:.4f}; dead time median {statistics.median(dead):.2f} s, most {max(dead):.2f} s")
    finally:
        lab.down()


if __name__ == "__main__":
    main()
