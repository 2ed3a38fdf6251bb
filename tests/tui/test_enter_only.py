"""A newcomer who only ever presses Enter, and never looks, gets from boot to a first verdict.

The site has put a plan of its own beside the built-in ones and named it in link.toml as the first to offer, so that
this takes seconds; with LINKLADDER_FULL=1 nothing is prepared, and what is offered is the quick plan.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from console import Console
from journey import LINKLADDER, REAL_CONSOLES
from world import SITES, Lab

pytestmark = [*REAL_CONSOLES, pytest.mark.timeout(900)]
FULL = bool(os.environ.get("LINKLADDER_FULL"))
EVERY = 1.3  # seconds between two Enters
BRIEF = """
name = "brief"
[[experiment]]
tool = "ping"
protocol = "echo"
rungs = ["same-host", "same-vlan", "dc-link"]
count = 5
[[experiment]]
direction = "both"
duration = 1
warmup = 0
"""
PATIENCE = 600.0 if FULL else 180.0


@pytest.fixture
def unpaired():
    """Two appliances as they boot: nobody is paired and no link is described."""
    with Lab("lle").unpaired() as made:
        if not FULL:
            plans = made.state("alpha") / "plans"
            plans.mkdir(exist_ok=True)
            (plans / "brief.toml").write_text(BRIEF)
            (made.state("alpha") / "link.toml").write_text('plan = "brief"\n')
        yield made


def press_until(consoles: tuple[Console, ...], done: Callable[[str], bool]) -> None:
    """Enter on one after the other, whatever their screens may say, until `done` of what the last of them shows."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for one in consoles:
            one.keys("Enter")
        time.sleep(EVERY)
        text = " ".join(consoles[-1].screen().split())
        assert "left with" not in text, text
        if done(text):
            return
    screens = "\n".join(one.screen() for one in consoles)
    raise AssertionError(f"Enter alone came only to:\n{screens}")


def test_enter_alone_leads_from_boot_to_a_verdict(unpaired, tmp_path):
    began = time.monotonic()
    keep = Path(os.environ.get("LINKLADDER_ARTIFACTS", tmp_path)) / "tmux" / "enter_alone"
    keep.mkdir(parents=True, exist_ok=True)
    alpha, beta = (Console(unpaired.command(site, LINKLADDER), keep=keep, name=site) for site in SITES)
    try:
        paired = unpaired.state("beta") / "peers.json"
        press_until((alpha, beta), lambda _: paired.exists())  # "one of the two screens is enough", say both
        press_until((alpha,), lambda text: "From same-vlan to dc-link" in text)
        alpha.until("[run]")  # which keeps it
        took = time.monotonic() - began
        (run,) = json.loads(unpaired.linkladder("alpha", "runs", "--json").stdout)
        assert run["state"] == "complete" and run["verdict"], run
        print(f"from two unpaired consoles to {run['verdict']} of plan {run['plan']} by Enter alone: {took:.0f} s")
        document = json.loads(unpaired.linkladder("alpha", "show", "last", "--json").stdout)
        assert {rung["name"] for rung in document["rungs"]} == {"localhost", "same-host", "same-vlan", "dc-link"}
        assert all(rung["experiments"] for rung in document["rungs"]), "every rung was measured"
    finally:
        for one in (alpha, beta):
            one.close()
