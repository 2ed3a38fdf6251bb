"""A rung of two paths: real legs over two cards at once, each held to a rate of its own, counted together."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from linkladder import formats
from linkladder.judge.recount import recount
from linkladder.judge.withheld import STARVED
from linkladder.model import Direction, Document, End, Leg, Protocol, Role, TrialResult
from network import SITES
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.calm, pytest.mark.timeout(200)]
RATES = {"sh0": 1.2e8, "sv0": 0.6e8}  # of each card's token bucket: each path must be told from the other
CARRIES = [rate * 1448 / 1514 for rate in RATES.values()]
PLAN = """
name = "two-paths"
{paths}
[[experiment]]
rungs = "same-host"
tool = "ping"
protocol = "df"
[[experiment]]
rungs = "same-host"
direction = "both"
duration = 4
warmup = 1
ping_under_load = true
[[experiment]]
rungs = "same-host"
streams = 2
window = "800k"
direction = "reverse"
duration = 3
warmup = 1
[[experiment]]
rungs = "same-host"
protocol = "udp"
udp_rate = "40M"
duration = 3
warmup = 1
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("llp").paired() as made:
        for device, rate in RATES.items():
            made.pace(device, rate)
        yield made


@pytest.fixture(scope="module")
def document(lab: Lab) -> Document:
    tables = []
    for rung in ("same-host", "same-vlan"):
        near, far = (lab.address(site, rung) for site in SITES)
        tables.append(f'[[path.same-host]]\nlocal = "{near}"\nremote = "{far}"\npeer = "beta"\n')
    plan = lab.folder / lab.prefix / "two.toml"
    plan.write_text(PLAN.format(paths="".join(tables)))
    done = lab.linkladder("alpha", "run", "--plan", str(plan), "--json", "-", stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return formats.document(json.loads(done.stdout))


def trials(document: Document, protocol: str) -> list[TrialResult]:
    return [t for e in document.rungs[0].experiments if e.parameters.protocol == protocol for t in e.trials]


def loads(trial: TrialResult) -> list[Leg]:
    return [leg for leg in trial.legs if leg.role is Role.LOAD]


def withheld(trial: TrialResult) -> float:
    """The share of its time that an end was kept from its cores, and could fill nothing in."""
    return max(end.cpu.starved or 0.0 for end in trial.ends if end.cpu)


def test_every_trial_has_a_leg_on_each_path(document: Document) -> None:
    assert [path.remote for path in document.rungs[0].paths] == ["10.98.1.2", "10.98.2.2"]
    for protocol, count in (("df", 1), ("tcp", 3), ("udp", 1)):
        found = trials(document, protocol)
        assert len(found) == count
        for trial in found:
            assert trial.ok, trial.reason
            assert [(leg.path, leg.near, leg.far) for leg in loads(trial)] == [(0, 0, 1), (1, 0, 1)]
    assert [t.path_mtu.mtu for t in trials(document, "df") if t.path_mtu] == [1500]


def test_each_path_s_goodput_is_its_bucket_s_and_the_trial_s_their_sum(document: Document) -> None:
    for trial in trials(document, "tcp"):
        rates = [leg.outcome.goodput_bps for leg in loads(trial)]
        assert trial.goodput_bps == sum(rates)
        assert all(rate < 1.03 * carries for rate, carries in zip(rates, CARRIES, strict=True))
        if (kept := withheld(trial)) < STARVED / 2:
            assert rates == [pytest.approx(carries, rel=0.05 + kept) for carries in CARRIES]


def test_both_are_counted_over_the_same_seconds(
    document: Document, record_property: Callable[[str, object], None]
) -> None:
    skews = [max(leg.began for leg in loads(trial)) for trial in trials(document, "tcp")]
    record_property("figure", f"two legs began {1000 * statistics.median(skews):.0f} ms apart (median; aim: 100 ms)")
    for trial in trials(document, "tcp"):
        legs = loads(trial)
        assert min(leg.began for leg in legs) == 0
        seconds = [{round(i.start) for i in leg.outcome.intervals if i.counted} for leg in legs]
        assert seconds[0] == seconds[1] and len(seconds[0]) >= 3
        counted = [i for i in trial.intervals if i.counted]
        assert {round(i.start) for i in counted} == seconds[0]
        assert sum(i.bytes for i in counted) == sum(i.bytes for leg in legs for i in leg.outcome.intervals if i.counted)


def test_each_end_is_recorded_once_with_both_cards(document: Document) -> None:
    for trial in trials(document, "tcp"):
        assert [end.name for end in trial.ends] == ["near", "far"]
        way = Direction.FORWARD if "forward" in trial.by_direction else Direction.REVERSE
        cards = {nic.name.partition(".")[0]: nic for nic in trial.receiver(way).nics}
        moved = [sum(flow.total_bytes for flow in leg.outcome.flows) for leg in loads(trial)]
        assert [cards[name].rx_bytes for name in RATES] == [pytest.approx(one, rel=0.07) for one in moved]
        assert all(end.cpu and end.memory and end.tcp and end.samples for end in trial.ends)
        assert all(end.sockets and len(end.sockets.sockets) >= 2 for end in trial.ends)


def test_a_ping_runs_beside_each_load_and_the_slower_path_speaks(document: Document) -> None:
    for trial in trials(document, "tcp")[:2]:
        every = [leg for leg in trial.legs if leg.role is Role.PING]
        assert [(leg.path, leg.pinged_by) for leg in every] == [(n, end) for n in (0, 1) for end in End]
        pings = [leg for leg in every if leg.pinged_by is End.NEAR]
        slowest = max((leg.outcome.rtt for leg in pings if leg.outcome.rtt), key=lambda rtt: rtt.p50_ms or 0)
        assert trial.rtt_under_load == slowest and slowest.received > 10


def test_a_paced_rate_is_shared(document: Document) -> None:
    (trial,) = trials(document, "udp")
    for leg in loads(trial):
        sent = leg.outcome.offered_bps
        assert sent is not None and sent < 1.02 * 2e7
        assert sent > 0.98 * 2e7 or any("the sender put out" in said for said in leg.outcome.warnings), leg.outcome
        if (kept := withheld(trial)) < STARVED / 2:
            assert leg.outcome.goodput_bps == pytest.approx(sent, rel=0.05 + kept)


def test_each_path_s_share_is_shown(lab: Lab, document: Document) -> None:
    (trial,) = trials(document, "udp")
    shown = lab.linkladder("alpha", "show", "last").stdout
    page = lab.linkladder("alpha", "report", "last", "--html", "-", "--unsigned").stdout
    for path, leg in zip(document.rungs[0].paths, loads(trial), strict=True):
        assert f"{path.local} to {path.remote}: {leg.outcome.goodput_bps / 1e6:.1f} Mb/s" in shown
        assert f"{path.local} to {path.remote}" in page and f"{leg.outcome.goodput_bps / 1e6:.1f} Mb/s" in page


def test_the_output_of_each_path_bears_its_figures_out_and_no_other(document: Document) -> None:
    (rung,) = document.rungs
    for result in rung.experiments:
        for trial in result.trials if result.parameters.protocol is Protocol.TCP else ():
            assert recount(trial, result.parameters, rung, document) == ""
            for leg in loads(trial):
                more = {way: 1.2 * bps for way, bps in leg.outcome.by_direction.items()}
                raised = replace(leg, outcome=replace(leg.outcome, by_direction=more))
                forged = replace(trial, legs=tuple(raised if one is leg else one for one in trial.legs))
                assert "own output makes" in recount(forged, result.parameters, rung, document)
