"""Between two machines the setting that was found carries as much as iperf and iperf3 do with any of their options."""

from __future__ import annotations

import shlex
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bare_tools import OPTIONS, as_found_plan, received, sending, serving

import mischief

from .machine import SLOW
from .pair import Pair
from .test_failures import VmWorld, world
from .test_loans import SITES

__all__ = ["world"]

ROUNDS, ENOUGH = 2, 0.95


@contextmanager
def open_to_all(world: VmWorld) -> Iterator[None]:
    """Outside a trial the image's firewall refuses the ports of the tools."""
    for site in SITES:
        world.run(site, "pfctl -d")
    try:
        yield
    finally:
        for site in SITES:
            world.run(site, "pfctl -e")


def alone(world: VmWorld, address: str, tool: str, options: list[str]) -> float:
    said = f"{world.folder}/bare"
    server, client = shlex.join(serving(tool, address, options)), shlex.join(sending(tool, address, options))
    world.run("beta", f"mkdir -p {world.folder}")
    pid = world.run("beta", f"{server} >{said} 2>&1 </dev/null & echo $!").strip()
    time.sleep(0.5 * SLOW)
    sender = world.run("alpha", client, check=False)
    time.sleep(0.3 * SLOW)
    return received(tool, sender, world.run("beta", f"kill {pid} 2>/dev/null; sleep 1; cat {said}"))


def as_found(world: VmWorld) -> float:
    run = mischief.Run(world, as_found_plan(world.rung), name="strongest")
    assert run.wait(180) == 0
    print(*run.document().run.notes, sep="\n")
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    return trial.goodput_bps


def test_no_setting_of_a_tool_carries_more_than_the_one_that_was_found(world: VmWorld, pair: Pair) -> None:
    ours: list[float] = []
    others: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        ours.append(as_found(world))
        with open_to_all(world):
            for tool in ("iperf", "iperf3"):
                for options in OPTIONS[tool]:
                    seen = alone(world, pair.beta.test, tool, options)
                    others.setdefault(" ".join([tool, *options]), []).append(seen)
        ours.append(as_found(world))
    for name, values in (("ours", ours), *others.items()):
        print(f"{name:<20}", *(f"{value / 1e6:7.0f}" for value in values), "Mb/s")
    best = max(others, key=lambda name: statistics.median(others[name]))
    assert min(map(statistics.median, others.values())) > 0, "a tool did not run with its options"
    assert statistics.median(ours) >= ENOUGH * statistics.median(others[best]), best
