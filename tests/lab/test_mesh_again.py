"""A mesh that loses an end while all its pairs are loaded, and has it back: what is measured again, and the verdict."""

from __future__ import annotations

import os
import signal

import pytest

import mischief
import spaces
from many import ManyEnds
from network import Link
from test_pairs import ALONE, MESH, ended, finished, run

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]
LOADS = """
[[experiment]]
rungs = "dc-link"
company = ["alone", "all"]
duration = 4
warmup = 1
"""


def agent(lab: ManyEnds, site: str) -> int | None:
    """The agent that serves alpha there, once a tool runs beside it and the pairs by themselves are over."""
    running = spaces.processes(lab.space(site))
    loaded = any(line.split(" ", 1)[0].rpartition("/")[2] == "iperf" for line in running.values())
    if finished(lab) < 3 or not loaded:
        return None
    return next((pid for pid, line in running.items() if {"agent", "--peer"} <= {*line.split()}), None)


def test_what_an_end_was_missing_from_is_measured_with_it_and_the_mesh_is_judged_by_that() -> None:
    """It came back at once, and the mesh was incomplete for good."""
    with ManyEnds("lme", Link(rate=ALONE), ends=3).paired() as lab:
        process = run(lab, MESH, LOADS)
        os.kill(mischief.until(lambda: agent(lab, "gamma"), 120, "no trial of all pairs began"), signal.SIGKILL)
        document, rung, seen = ended(process)
    assert document.run.state == "complete"
    trials = {e.parameters.paths: e.trials for e in rung.experiments}
    assert [len(trials[n,]) for n in range(3)] == [1, 1, 1]
    broken, *later = trials[()]
    lost = {leg.path for leg in broken.legs if not leg.outcome.ok}
    assert lost == {n for n, path in enumerate(rung.paths) if "gamma" in path.peers}, broken.reason
    assert [t.ok for t in later] == [True, True], [t.reason for t in later]
    assert "dc-link: what was measured without gamma is measured once more with it" in document.run.notes
    (said,) = seen.lacking
    assert "were lost in a repeat, and the sum is that of the others" in said and said in seen.findings
    assert seen.whole.verdict != "INCOMPLETE", seen.whole.sentence
