"""A pair beside neighbours that come and go: the one behind the same uplink is named, the one beside it is not."""

from __future__ import annotations

import json
import subprocess

import pytest

from linkladder import formats
from linkladder.judge.company import judge_company
from linkladder.judge.withheld import STARVED
from linkladder.model import Role
from many import ManyEnds
from network import Link

pytestmark = [pytest.mark.lab, pytest.mark.calm, pytest.mark.timeout(240)]
RATE = 100e6
PLAN = """name = "noisy"
[[path.dc-link]]
peer = "beta"
[[path.dc-link]]
from = "gamma"
peer = "delta"
[[path.dc-link]]
from = "gamma"
peer = "epsilon"
[[experiment]]
rungs = "dc-link"
company = ["alone", "neighbours"]
duration = 3
warmup = 1
ping_under_load = true
[[experiment]]
rungs = "dc-link"
company = "visited"
duration = 4
warmup = 1
"""


def test_the_neighbour_behind_the_same_uplink_takes_and_the_one_on_this_side_does_not() -> None:
    """alpha, gamma and epsilon stand on one side of an uplink that carries what one pair can, beta and delta beyond."""
    with ManyEnds("llv", Link(rate=RATE), ends=5, shared=RATE).paired() as lab:
        plan = lab.folder / lab.prefix / "plan.toml"
        plan.write_text(PLAN)
        done = lab.linkladder("alpha", "run", "--plan", str(plan), "--json", "-", stdin=subprocess.DEVNULL)
    assert done.stdout, done.stderr
    document = formats.document(json.loads(done.stdout))
    (rung,) = document.rungs
    trials = [t for e in rung.experiments for t in e.trials]
    assert len(trials) == 3 + 2 + 1 and all(t.ok for t in trials), [t.reason for t in trials]
    visitors = [leg for leg in trials[-1].legs if leg.role is Role.VISITOR]
    assert [leg.path for leg in visitors] == [1, 2] and all(leg.outcome.ok for leg in visitors)
    first, second = (leg.began for leg in visitors)
    assert first >= 1 + 4 and second >= first + 8 - 0.5, "one at a time, with the path alone in between"
    seen = judge_company(rung, document.run.plan.contract)
    assert seen
    crossing, aside = seen.neighbours
    assert (crossing.path, aside.path) == (1, 2) and (crossing.visits, aside.visits) == (1, 1)
    assert crossing.takes
    if not any((end.cpu.starved or 0.0) >= STARVED / 2 for t in trials for end in t.ends if end.cpu):
        assert not aside.takes
        assert crossing.beside_bps / crossing.alone_bps < 0.9 * aside.beside_bps / aside.alone_bps
        told = "gamma to delta takes from near to beta; gamma to epsilon does not."
        assert any(text.startswith(told) for text in seen.findings), seen.findings
