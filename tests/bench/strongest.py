"""strongest.py DATABASE: the generator as the appliance makes it strongest, beside the best of iperf and iperf3.

Those with options that make them strong, in turn with ours, within one machine and on the lab's unshaped path; prints
JSON.  DATABASE is not used.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from linkladder.codec import from_json
from linkladder.model import Document
from world import Lab

ROUNDS, SECONDS, WARMUP, PORT = 2, 3, 1, 5299
PLAN = """
name = "strongest"
[[experiment]]
rungs = ["{rung}"]
streams = "auto"
duration = {seconds}
warmup = {warmup}
"""
OPTIONS = {
    "iperf": ([], ["-l", "1M"], ["-w", "4M", "-l", "1M"], ["-P", "2"], ["-P", "2", "-l", "1M"]),
    "iperf3": ([], ["-l", "1M"], ["-Z"], ["-Z", "-l", "1M"], ["-P", "2", "-l", "1M"]),
}
LOCAL = "127.0.0.1"


def bare(lab: Lab, rung: str, tool: str, options: list[str]) -> float:
    """What the receiver of the tool alone got a second; 0 where it does not run with these options."""
    here, there = ("alpha", "alpha") if rung == "localhost" else ("alpha", "beta")
    remote = LOCAL if rung == "localhost" else lab.address("beta", rung)
    serving = [tool, "-s", "-B", remote, "-p", str(PORT)]
    serving += ["-1"] if tool == "iperf3" else [*("-e", "-i", "1", "-f", "b"), *_without_streams(options)]
    server = subprocess.Popen(
        lab.command(there, serving), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        time.sleep(0.5)
        client = [tool, "-c", remote, "-p", str(PORT), "-t", str(SECONDS + WARMUP), *options]
        client += ["-O", str(WARMUP), "-J"] if tool == "iperf3" else []
        said = subprocess.run(lab.command(here, client), capture_output=True, text=True, start_new_session=True)
        time.sleep(0.3)
    finally:
        server.terminate()
        out, _ = server.communicate()
    if tool == "iperf3":
        told = json.loads(said.stdout or "{}")
        return float(told.get("end", {}).get("sum_received", {}).get("bits_per_second", 0.0))
    counted = re.findall(r"^\[ *\d+\] (\d+)\.\d+-\d+\.\d+ sec +(\d+) Bytes", out, re.M)
    seconds = [int(size) for begin, size in counted if WARMUP <= int(begin) < WARMUP + SECONDS]
    return sum(seconds) * 8 / SECONDS


def _without_streams(options: list[str]) -> list[str]:
    return options[2:] if options[:1] == ["-P"] else options


def ours(lab: Lab, rung: str, folder: Path) -> float:
    plan = folder / f"{rung}.toml"
    plan.write_text(PLAN.format(rung=rung, seconds=SECONDS, warmup=WARMUP))
    argv = lab.command("alpha", [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta"])
    done = subprocess.run([*argv, "--json", "-"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    document = from_json(Document, json.loads(done.stdout))
    print(*(f"  {note}" for note in document.run.notes), sep="\n", file=sys.stderr)
    (trial,) = document.rungs[0].experiments[0].trials
    return trial.goodput_bps


def main() -> int:
    found: dict[str, list[float]] = {}
    with Lab("lls").paired() as lab, tempfile.TemporaryDirectory() as scratch:
        for rung in ("localhost", "same-host"):
            mine: list[float] = []
            others: dict[str, list[float]] = {}
            for _ in range(ROUNDS):
                mine.append(ours(lab, rung, Path(scratch)))
                for tool, many in OPTIONS.items():
                    for options in many if shutil.which(tool) else ():
                        name = " ".join([tool, *options])
                        others.setdefault(name, []).append(bare(lab, rung, tool, options))
                mine.append(ours(lab, rung, Path(scratch)))
            best = max(others, key=lambda name: statistics.median(others[name]))
            print(f"  {rung}: best alone: {best}, {statistics.median(others[best]) / 1e9:.1f} Gb/s", file=sys.stderr)
            found[f"strongest_{rung}"] = [statistics.median(mine) / statistics.median(others[best])]
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
