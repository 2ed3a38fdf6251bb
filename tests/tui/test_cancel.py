"""A run that is cancelled by keys: nothing measures any more at either end; how soon is printed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from console import Console
from journey import LINKLADDER, REAL_CONSOLES, climb, running
from network import GENTLE, SITES
from world import Lab

pytestmark = [*REAL_CONSOLES, pytest.mark.timeout(280)]
PLAN = """
name = "long"
[[experiment]]
rungs = ["same-host"]
duration = 90
warmup = 1
repeats = 2
"""


def test_both_ends_stop_after_the_answer(record_property: Callable[[str, object], None]) -> None:
    with Lab("llw", inside=GENTLE).paired() as lab:
        (lab.state("alpha") / "plans").mkdir()
        (lab.state("alpha") / "plans" / "long.toml").write_text(PLAN)
        link = lab.state("alpha") / "link.toml"
        link.write_text('plan = "long"\n' + link.read_text())
        console = Console(lab.command("alpha", LINKLADDER))
        try:
            climb(console, "long")
            console.until("same-host: TCP")
            console.until("Mb/s to far")
            took = cancelled(lab, console)
        finally:
            console.close()
    record_property("figure", f"iperf gone at both ends {took:.2f} s after a cancel by keys (aim: 2 s)")


def cancelled(lab: Lab, console: Console) -> float:
    """Seconds from the answer until the last iperf is gone."""
    console.keys("x")
    console.until("[ No ]")
    console.keys("Left")
    assert all(running(lab.space(site), "iperf") for site in SITES)
    began = time.monotonic()
    console.keys("Enter")
    while any(running(lab.space(site), "iperf") for site in SITES):
        assert time.monotonic() - began < 20
    took = time.monotonic() - began
    console.until("ended early: it was cancelled")
    return took
