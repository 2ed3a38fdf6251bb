"""Experiments between two appliances: settings of the kernel with their modules, offloads, and the built-in plans.

The built-in plans have short trials here and as few pairs as a plan may have; LINKLADDER_PLANS names those to run.
"""

from __future__ import annotations

import os
import re
import statistics
import time

import pytest

import mischief
from linkladder.model import ExperimentResult, TrialResult
from short_plans import short_plan

from .machine import SLOW
from .pair import Pair
from .test_failures import VmWorld, world
from .test_loans import SITES, nothing_is_left

__all__ = ["world"]

KERNEL = {
    "congestion": ("htcp", "net.inet.tcp.cc.algorithm", "htcp"),
    "stack": ("rack", "net.inet.tcp.functions_default", "rack"),
    "stack-tso": ("off", "net.inet.tcp.tso", "0"),
    "sack": ("off", "net.inet.tcp.sack.enable", "0"),
    "delayed-ack": ("off", "net.inet.tcp.delayed_ack", "0"),
    "initial-window": ("20", "net.inet.tcp.initcwnd_segments", "20"),
    "send-buffer": ("16777216", "net.inet.tcp.sendbuf_max", "16777216"),
    "receive-buffer": ("16777216", "net.inet.tcp.recvbuf_max", "16777216"),
}
MODULES = ["cc_htcp.ko", "tcp_rack.ko", "tcphpts.ko"]
PLANS = os.environ.get("LINKLADDER_PLANS", "sizing rr tune offload").split()


def kernel(world: VmWorld, site: str) -> list[str]:
    names = " ".join(name for _, name, _ in KERNEL.values())
    return world.run(site, f"sysctl -n {names}").split()


def modules(world: VmWorld, site: str) -> list[str]:
    return [name for name in MODULES if name in world.run(site, "kldstat").split()]


def test_settings_of_the_kernel_are_lent_with_their_modules_and_put_back(world: VmWorld) -> None:
    before = {site: kernel(world, site) for site in SITES}
    listed = ", ".join(f'{{kind = "{kind}", value = "{value}"}}' for kind, (value, _, _) in KERNEL.items())
    run = mischief.Run(world, mischief.plan_text(world, more=f"settings = [{listed}]"))
    wanted = [value for _, _, value in KERNEL.values()]

    def inside() -> bool | None:
        assert run.process.poll() is None, f"it ended: {run.process.communicate()}"
        return all(kernel(world, site) == wanted for site in SITES) or None

    mischief.until(inside, 90, "not both ends took it")
    assert all(modules(world, site) == MODULES for site in SITES)
    mischief.tool(world, "alpha", "-c")
    told = world.run("alpha", "netstat -nc -p tcp")
    print(told)
    assert run.wait(180) == 0, run.said
    nothing_is_left(world)
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    for site in SITES:
        assert kernel(world, site) == before[site]
        assert modules(world, site) == []
    assert re.search(r"ESTABLISHED +rack", told), told


def rates(arm: ExperimentResult) -> list[float]:
    return [trial.goodput_bps for trial in arm.trials]


def test_large_sends_are_worth_something(world: VmWorld) -> None:
    """Without them an emulated machine takes several times as many steps for each byte."""
    lines = 'baseline = true\nsettings = [{kind = "tso", value = "off"}]'
    run = mischief.Run(world, mischief.plan_text(world, duration=1, repeats=4, streams=1, more=lines))
    assert run.wait(900) == 0, run.said
    nothing_is_left(world)
    (rung,) = run.document().rungs
    found = {bool(arm.parameters.settings): rates(arm) for arm in rung.experiments}
    on, off = (statistics.median(found[changed]) for changed in (False, True))
    print(f"TSO on {on / 1e6:.0f} Mb/s {found[False]}, off {off / 1e6:.0f} Mb/s {found[True]}")
    print(world.run("alpha", world.as_user(f"{world.program} judge last"), check=False))
    assert on > 1.2 * off


def to_its_end(world: VmWorld, name: str) -> list[TrialResult]:
    """The trials of a built-in plan, all of them good, with everything put back."""
    began = time.monotonic()
    run = mischief.Run(world, short_plan(name, world.rung), name=name)
    status = run.wait(3600 / SLOW)
    nothing_is_left(world)
    found = [trial for rung in run.document().rungs for arm in rung.experiments for trial in arm.trials]
    failed = [trial.reason for trial in found if not trial.ok]
    print(f"{name}: {len(found)} trials in {time.monotonic() - began:.0f} s, status {status}")
    print(world.run("alpha", world.as_user(f"{world.program} judge last"), check=False))
    assert found and not failed, failed
    assert status == 0, "it did not go on to its end"
    return found


@pytest.mark.parametrize("name", PLANS)
def test_a_built_in_plan_runs_to_its_end_and_leaves_nothing(world: VmWorld, name: str) -> None:
    to_its_end(world, name)


def test_the_tool_runs_beside_and_away_from_an_adapters_only_queue(pair: Pair, world: VmWorld) -> None:
    """As shipped every core serves a queue of each adapter: there is no other place to compare."""
    for site in SITES:
        for which in ("nrxqs", "ntxqs"):
            world.run(site, f"echo 'dev.vmx.1.iflib.override_{which}=\"1\"' >>/boot/loader.conf.local")
    pair.again()
    found = to_its_end(world, "affinity")
    places = {place for trial in found for place in ("beside", "away") if place in trial.id}
    assert places == {"beside", "away"}
