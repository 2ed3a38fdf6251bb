"""What it costs to coordinate a mesh: CPU and memory of ends[0] and the skew of the start, at 2, 4 and 8 ends.

    python tests/bench/coordinator.py [SECONDS]

The other ends are agents on this machine, each over pipes as sshd would have them; all pairs ping each other at once on
the loopback, so that what is counted is the coordination and no load.  The last lines extrapolate to 200 ends, and say
what breaks first on the way there.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import psutil

from linkladder import plan as plans
from linkladder.engine import Engine
from linkladder.model import Experiment, Plan, Protocol, Rung, RungName
from linkladder.peer import FarEnd, NearEnd
from linkladder.plan import company
from linkladder.store import Store
from linkladder.tools import TEST_PORTS

INTERVAL = 0.2  # seconds between two pings of a pair
MANY = 200


async def measure(ends: int, seconds: float, folder: Path) -> tuple[float, float, float]:
    """CPU in percent of a core while it runs, MB of resident memory, and the skew of the legs in ms."""
    names = [company.NEAR, *(f"end{n}" for n in range(1, ends))]
    address = {name: f"127.0.0.{n + 1}" for n, name in enumerate(names)}

    async def connect(name: str) -> FarEnd:
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        set_to = ["env", f"LINKLADDER_STATE={folder / name}"]
        argv = [*set_to, sys.executable, "-m", "linkladder", "agent", "--near", "--introduced"]
        return await FarEnd.open(name, argv, near.name)

    paths = tuple(
        type(path)(address[path.origin or company.NEAR], address[path.peer], path.peer, origin=path.origin)
        for path in company.mesh(names)
    )
    ping = Experiment("ping", "ping", Protocol.ECHO, count=int(seconds / INTERVAL), interval=INTERVAL)
    plan = Plan("bench", rungs=(Rung(RungName.DC_LINK, paths, (ping,)),))
    store, near = Store(folder / "near-store"), await NearEnd.open()
    engine = Engine(plan, store, near, connect)
    used, began = 0.0, 0.0
    async for event in engine.run():
        name = type(event).__name__
        if name == "TrialStarted":
            used, began = _cpu(), time.monotonic()
        elif name == "TrialFinished":
            used, began = _cpu() - used, time.monotonic() - began
    memory = psutil.Process().memory_info().rss / 1e6
    (trial,) = store.load(engine.run_id).rungs[0].experiments[0].trials
    await near.close()
    assert trial.ok, trial.reason
    starts = [leg.began for leg in trial.legs]
    return 100 * used / began, memory, 1000 * (max(starts) - min(starts))


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    found = {}
    print("ends  paths  CPU of the coordinator  memory  skew of the start")
    for ends in (2, 4, 8):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LINKLADDER_STATE"] = str(Path(folder) / "near")
            (Path(folder) / "near").mkdir(mode=0o700)
            found[ends] = cpu, memory, skew = asyncio.run(measure(ends, seconds, Path(folder)))
        print(f"{ends:4}  {pairs(ends):5}  {cpu:20.1f} %  {memory:4.0f} MB  {skew:9.0f} ms", flush=True)
    each = (found[8][0] - found[2][0]) / (28 - 1)  # percent a leg
    grown = (found[8][1] - found[2][1]) / 6  # MB an end
    rounds = found[2][0] + each * (MANY // 2 - 1)
    print(
        f"{MANY} ends in rounds of {MANY // 2} pairs, extrapolated: {rounds:.0f} % of a core, "
        f"{found[2][1] + grown * (MANY - 2):.0f} MB, and {MANY - 1} ssh channels beside it"
    )
    print(breaks_first())


def pairs(ends: int) -> int:
    return ends * (ends - 1) // 2


def breaks_first() -> str:
    """Of ever larger meshes: from how many ends on all pairs at once have no ports, and how long the rest takes."""
    crowded = next(ends for ends in range(2, MANY) if pairs(ends) > len(TEST_PORTS))
    seconds = plans.trial_seconds(next(e for e in plans.builtin("mesh").rungs[0].experiments if e.streams == 2))
    alone, rounds = pairs(MANY) * seconds / 3600, (MANY - 1) * seconds / 60
    return (
        f"what breaks first: all pairs at once, with {crowded} ends ({pairs(crowded)} pairs, {len(TEST_PORTS)} test "
        f"ports: left out, and told); then the time: {MANY} ends take {alone:.0f} h pair by pair, and {rounds:.0f} min "
        "in rounds"
    )


if __name__ == "__main__":
    main()
