"""Between two machines the setting that was found carries as much as iperf and iperf3 do with any of their options."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bare_tools import as_found_plan, received, sending, serving, side_by_side

import mischief
from linkladder.priv.firewall import LAST

from .machine import SLOW
from .pair import Pair
from .test_failures import VmWorld, world
from .test_loans import SITES

__all__ = ["world"]

ENOUGH = 0.95
HELPER = "/usr/local/libexec/linkladder-measure"


@contextmanager
def as_for_a_trial(world: VmWorld, pair: Pair) -> Iterator[None]:
    """The firewall as a trial has it, so that both pay the same for it."""
    for site, other in zip(SITES, (pair.beta, pair.alpha), strict=True):
        world.run(site, f"{HELPER} trial-open {pair.site(site).card} {other.test} </dev/null")
    try:
        yield
    finally:
        for site in SITES:
            world.run(site, f"{HELPER} trial-close </dev/null")


def alone(world: VmWorld, address: str, tool: str, options: list[str]) -> float:
    said = f"{world.folder}/bare"
    server, client = (shlex.join(command(tool, address, options, LAST)) for command in (serving, sending))
    world.run("beta", f"mkdir -p {world.folder}")
    pid = world.run("beta", f"{server} >{said} 2>&1 </dev/null & echo $!").strip()
    time.sleep(0.5 * SLOW)
    sender = world.run("alpha", client, check=False)
    time.sleep(0.3 * SLOW)
    return received(tool, sender, world.run("beta", f"kill {pid} 2>/dev/null; sleep 1; cat {said}"))


def as_found(world: VmWorld) -> float:
    run = mischief.Run(world, as_found_plan(world.rung), name="strongest")
    assert run.wait(180) == 0, run.said
    print(*run.document().run.notes, sep="\n")
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    return trial.goodput_bps


def test_no_setting_of_a_tool_carries_more_than_the_one_that_was_found(world: VmWorld, pair: Pair) -> None:
    def tool_alone(tool: str, options: list[str]) -> float:
        with as_for_a_trial(world, pair):
            return alone(world, pair.beta.test, tool, options)

    beside = side_by_side(("iperf", "iperf3"), lambda: as_found(world), tool_alone)
    print(beside)
    assert min(looks[0] for looks in beside.first.values()) > 0, "a tool did not run with its options"
    assert beside.ratio >= ENOUGH, beside.best
