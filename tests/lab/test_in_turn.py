"""Two peers in turn in one run: the second visit to the first goes as the first one did."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from linkladder import formats
from many import ManyEnds
from network import Link

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]
VISITS = {"same-host": "beta", "same-vlan": "gamma", "dc-link": "beta"}
LOAD = '[[experiment]]\nrungs = ["same-host", "same-vlan", "dc-link"]\nduration = 2\nwarmup = 1\n'


def test_beta_gamma_and_beta_again_are_measured_in_one_run() -> None:
    with ManyEnds("lln", Link(rate=200e6), ends=3).paired() as lab:
        here = lab.address("alpha", "dc-link")
        paths = "".join(
            f'[path.{rung}]\nlocal = "{here}"\nremote = "{lab.address(peer, "dc-link")}"\npeer = "{peer}"\n'
            for rung, peer in VISITS.items()
        )
        plan = lab.folder / lab.prefix / "plan.toml"
        plan.write_text(f'name = "in-turn"\n{paths}{LOAD}')
        argv = [sys.executable, "-m", "linkladder", "run", "--plan", str(plan), "--json", "-"]
        done = subprocess.run(
            lab.command("alpha", argv), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100
        )
    assert done.stdout, done.stderr
    document = formats.document(json.loads(done.stdout))
    assert document.run.state == "complete" and [str(r.name) for r in document.rungs] == list(VISITS)
    for rung in document.rungs:
        assert [path.peer for path in rung.paths] == [VISITS[rung.name]] and not rung.unavailable
        trials = [t for e in rung.experiments for t in e.trials]
        assert trials and all(t.ok for t in trials), [t.reason for t in trials]
        assert all([end.name for end in t.ends] in (["near", "far"], ["near", VISITS[rung.name]]) for t in trials)
