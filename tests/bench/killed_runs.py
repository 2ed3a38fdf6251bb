"""Real runs between two ends, each ended by kill -9 at a random moment: what was finished must be there, nothing left.

    .venv/bin/python tests/bench/killed_runs.py [TIMES] [SEED]

The unit tests do the same to the store alone, fifty times in seconds; this is the whole program, and takes minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
import spaces
from linkladder import formats
from network import SITES
from world import Lab

PLAN = 'name = "killed"\n[[experiment]]\nrungs = ["same-host"]\nduration = 1\nwarmup = 0\nrepeats = 50\n'
TOOLS = ("iperf", "netperf", "netserver", "ping")


def tools_left(lab: Lab) -> list[str]:
    lines = [line for site in SITES for line in spaces.processes(lab.space(site)).values()]
    return [line for line in lines if os.path.basename(line.split()[0]) in TOOLS]


def once(lab: Lab, plan: Path, moment: float) -> str:
    """Nothing, or what went wrong."""
    argv = lab.command("alpha", [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta"])
    run = subprocess.Popen(argv, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, start_new_session=True)
    time.sleep(moment)
    os.killpg(run.pid, signal.SIGKILL)
    _, said = run.communicate()
    finished = sum("tcp-1s-default-forward" in line for line in said.splitlines())
    names = [line.split()[1].rstrip(":") for line in said.splitlines() if line.startswith("run ")]
    database = lab.state("alpha") / "linkladder.db"
    with contextlib.closing(sqlite3.connect(database)) as db:
        if (state := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            return f"the database says {state}"
    if names:
        shown = lab.linkladder("alpha", "show", names[0], "--json")
        if shown.returncode:
            return f"{names[0]} cannot be shown: {shown.stderr.strip()}"
        document = formats.document(json.loads(shown.stdout))
        trials = [t for r in document.rungs for e in r.experiments for t in e.trials]
        if len(trials) < finished or not all(t.ok for t in trials):
            return f"{finished} trials were told as finished, {len(trials)} are stored"
    deadline = time.monotonic() + 5
    while (left := tools_left(lab)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return f"left running: {left}" if left else ""


def main() -> int:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 8622)
    with Lab("llk").paired() as lab:
        plan = lab.state("alpha") / "killed.toml"
        plan.write_text(PLAN)
        wrong = [found for _ in range(times) if (found := once(lab, plan, rng.uniform(0.2, 6.0)))]
        print("\n".join([*wrong, f"{times} runs killed, {len(wrong)} times something was wrong"]))
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
