"""A bundle somebody else runs, hashed by ports: one flow takes one member, many take all, each is counted."""

from __future__ import annotations

import json
import subprocess

import pytest

from ecmp import Bundle
from linkladder import formats
from linkladder.judge.bundles import judge_bundles
from linkladder.judge.evidence import WARM
from linkladder.judge.withheld import STARVED
from linkladder.model import Document
from linkladder.verdicts import LimiterKind
from network import Link
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(200)]
EACH = 1e8
CARRIES = EACH * 1448 / 1514
PLAN = """name = "bundle"
[[experiment]]
tool = "ping"
protocol = "echo"
rungs = "dc-link"
count = 10
interval = 0.2
[[experiment]]
rungs = "dc-link"
streams = {streams}
client_port = {ports}
duration = 3
warmup = 1
"""


def measured(lab: Lab, streams: list[int], ports: list[int], more: str = "") -> Document:
    plan = lab.folder / lab.prefix / "bundle.toml"
    path = f'[[path.dc-link]]\nlocal = "{lab.address("alpha", "dc-link")}"\n'
    path += f'remote = "{lab.address("beta", "dc-link")}"\npeer = "beta"\n'
    plan.write_text(PLAN.format(streams=streams, ports=ports) + more + path)
    done = lab.linkladder("alpha", "run", "--plan", str(plan), "--json", "-", stdin=subprocess.DEVNULL)
    assert done.stdout, done.stderr
    return formats.document(json.loads(done.stdout))


def starved(document: Document) -> bool:
    ends = [end for r in document.rungs for e in r.experiments for t in e.trials for end in t.ends]
    return max((end.cpu.starved or 0.0 for end in ends if end.cpu), default=0.0) >= STARVED / 2


def held_by_an_end(document: Document) -> bool:
    """Whether a core was so busy that it may have held the flows, or a receiver closed its window meanwhile."""
    ends = [end for r in document.rungs for e in r.experiments for t in e.trials for end in t.ends]
    closed = any(end.tcp and end.tcp.zero_window_sent for end in ends)
    return closed or max((end.cpu.busiest for end in ends if end.cpu), default=0.0) >= WARM


@pytest.mark.calm  # a busy machine loses packets of its own
def test_one_flow_takes_one_member_and_sixteen_take_both() -> None:
    with Bundle("llb", Link(rate=1e9)).paired() as lab:
        shares, documents = [], []
        for streams, ports in (([1], [20000]), ([16], [20000]), ([1, 2, 16], [20000, 30001])):
            before = lab.sent()
            documents.append(measured(lab, streams, ports))
            moved = [after - first for after, first in zip(lab.sent(), before, strict=True)]
            shares.append(max(moved) / sum(moved))
    one, many, both = documents
    rates = [document.rungs[0].experiments[1].trials[0].goodput_bps for document in (one, many)]
    assert shares[0] > 0.97, "one flow, one member"
    assert shares[1] < 0.75, "the odds of worse are 4 in 100, and these ports are always the same"
    assert rates[0] < 1.05 * CARRIES and rates[1] < 2.1 * CARRIES, "no more members than that"
    (seen,) = judge_bundles(both.rungs[0], both.run.plan.contract)
    if not any(map(starved, documents)):
        assert rates == [pytest.approx(CARRIES, rel=0.05), pytest.approx(2 * CARRIES, rel=0.05)]
    if held_by_an_end(both):
        assert seen.members == 2 or (seen.members == 0 and seen.held), seen
    else:
        assert seen.members == 2 and seen.chance > 0.5 and "2 members are likely" in seen.sentences[0], (seen, both)


@pytest.mark.calm
def test_three_members_are_told_from_sixteen_flows_that_use_all_of_them() -> None:
    with Bundle("lb3", Link(rate=1e9), members=(0.6e8,) * 3).paired() as lab:
        before = lab.sent()
        document = measured(lab, [1, 16], [20000, 30001])
        moved = [after - first for after, first in zip(lab.sent(), before, strict=True)]
    assert min(moved) > 0.1 * sum(moved), "all three are used"
    (seen,) = judge_bundles(document.rungs[0], document.run.plan.contract)
    assert seen.one_bps < 1.05 * 0.6 * CARRIES and seen.most_bps < 1.05 * 3 * 0.6 * CARRIES, "no more than its members"
    if held_by_an_end(document) or starved(document):
        assert seen.members == 3 or (seen.members == 0 and seen.held), seen
    else:
        assert seen.members == 3 and "3 members are likely" in seen.sentences[0], seen


@pytest.mark.alone  # beside others pings wait for a core, and what holds the flow cannot be told from that
def test_a_single_link_whose_one_flow_its_own_window_holds_is_no_bundle() -> None:
    """Eight windows get eight times as much over one link as over eight members."""
    with Lab("lxw", Link(rate=1e9, delay_ms=10)).paired() as lab:
        document = measured(lab, [1, 8], [20000, 30001], 'window = "64k"\n')
    rates = [e.trials[0].goodput_bps for e in document.rungs[0].experiments if e.parameters.client_port]
    (seen,) = judge_bundles(document.rungs[0], document.run.plan.contract)
    assert seen.members == 0 and seen.held, seen
    assert "It cannot be told from that whether the way has several members" in seen.sentences[0]
    if not starved(document):
        assert max(rates) > 5 * min(rates) and seen.held == LimiterKind.WINDOW, seen
