"""strongest.py DATABASE: the generator as the appliance makes it strongest, beside the best of other tools.

iperf, iperf3 and, where it is installed, xfr (cargo install xfr), with options that make them strong, in turn with
ours, within one machine and on the lab's unshaped path; prints JSON.  DATABASE is not used.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from bare_tools import OPTIONS, as_found_plan, received, sending, serving, side_by_side

from linkladder.codec import from_json
from linkladder.model import Document
from world import Lab

LOCAL = "127.0.0.1"


def bare(lab: Lab, rung: str, tool: str, options: list[str]) -> float:
    """What the receiver of the tool alone got a second; 0 where it does not run with these options."""
    here, there = ("alpha", "alpha") if rung == "localhost" else ("alpha", "beta")
    remote = LOCAL if rung == "localhost" else lab.address("beta", rung)
    server = subprocess.Popen(
        lab.command(there, serving(tool, remote, options)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        time.sleep(0.5)
        client = lab.command(here, sending(tool, remote, options))
        said = subprocess.run(client, capture_output=True, text=True, start_new_session=True)
        time.sleep(0.3)
    finally:
        server.terminate()
        out, _ = server.communicate()
    return received(tool, said.stdout, out)


def ours(lab: Lab, rung: str, folder: Path) -> float:
    plan = folder / f"{rung}.toml"
    plan.write_text(as_found_plan(rung))
    argv = lab.command("alpha", [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--peer", "beta"])
    done = subprocess.run([*argv, "--json", "-"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    document = from_json(Document, json.loads(done.stdout))
    print(*(f"  {note}" for note in document.run.notes), sep="\n", file=sys.stderr)
    (trial,) = document.rungs[0].experiments[0].trials
    assert trial.ok, trial.reason
    return trial.goodput_bps


def main() -> int:
    found: dict[str, list[float]] = {}
    installed = [tool for tool in OPTIONS if shutil.which(tool)]
    with Lab("lls").paired() as lab, tempfile.TemporaryDirectory() as scratch:
        for rung in ("localhost", "same-host"):
            beside = side_by_side(
                installed,
                partial(ours, lab, rung, Path(scratch)),
                lambda tool, options, on=rung: bare(lab, on, tool, options),
            )
            print(f"{rung}:\n{beside}", file=sys.stderr)
            found[f"strongest_{rung}"] = [beside.ratio]
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
