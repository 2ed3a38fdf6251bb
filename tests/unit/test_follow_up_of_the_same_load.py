"""What a verdict asks for is the load that it was made of: with all that makes it, and only if it is not there yet."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from judge_documents import F, R, both, document, ping, rung, tcp, trial
from linkladder import plan as plans
from linkladder.judge import judge_document
from linkladder.judge.to_tell import as_toml, like, tcp_load
from linkladder.model import (
    Affinity,
    Company,
    Contract,
    Direction,
    Document,
    End,
    Experiment,
    ExperimentResult,
    Protocol,
    RungName,
    Setting,
    SettingKind,
)
from linkladder.model.same_setting import identity, same_load

LOADS = {
    "tool": [Experiment("", tool="iperf3"), Experiment("", tool="netperf")],
    "protocol": [
        Experiment("", protocol=Protocol.UDP, udp_rate_bps=478.61e6),
        Experiment("", tool="ping", protocol=Protocol.DF),
    ],
    "direction": [Experiment("", direction=Direction.DUPLEX)],
    "streams": [Experiment("", streams=7)],
    "window": [Experiment("", window=800_000), Experiment("", window=8 << 20)],
    "write_size": [Experiment("", write_size=1 << 20)],
    "duration": [Experiment("", duration=61.5)],
    "udp_rate_bps": [Experiment("", protocol=Protocol.UDP, udp_rate_bps=1e9, write_size=200)],
    "request": [Experiment("", "netperf", Protocol.RR, request=64)],
    "response": [Experiment("", "netperf", Protocol.RR, response=64)],
    "sessions": [Experiment("", "netperf", Protocol.RR, sessions=10)],
    "count": [Experiment("", "ping", Protocol.ECHO, count=20)],
    "interval": [Experiment("", "ping", Protocol.ECHO, interval=1.0)],
    "sizes": [Experiment("", "ping", Protocol.DF, sizes=(1400, 1500))],
    "dscp": [Experiment("", dscp=46)],
    "ping_under_load": [Experiment("", ping_under_load=True)],
    "label": [Experiment("", label='a "b"')],
    "client_port": [Experiment("", client_port=20_000)],
    "incompressible": [Experiment("", "netperf", incompressible=True)],
    "zero_copy": [Experiment("", "iperf3", zero_copy=True)],
    "cores": [Experiment("", cores=2)],
    "on_cores": [Experiment("", on_cores=(2,)), Experiment("", on_cores=(0, 1, 2, 5))],
    "affinity": [Experiment("", affinity=Affinity.BESIDE), Experiment("", affinity=Affinity.SIBLINGS_IDLE)],
    "settings": [
        Experiment("", settings=(Setting(SettingKind.MTU, "9000"), Setting(SettingKind.LRO, "off", ends=(End.NEAR,)))),
        Experiment("", duration=30, client_port=20_000, settings=(Setting(SettingKind.MEMBER, "2", since=5, until=9),)),
    ],
}
# how often, in which comparison and on which paths is no part of a load
NO_LOAD = {"id", "warmup", "repeats", "at_most", "contends", "strongest", "baseline", "discard_first", "step", "begins"}
NO_LOAD |= {"company", "paths", "kernel"}
BESIDE = {"duration", "ping_under_load", "label", "count", "interval", "sizes"}


def test_no_field_of_an_experiment_is_forgotten_here() -> None:
    assert {f.name for f in fields(Experiment)} == set(LOADS) | NO_LOAD


@pytest.mark.parametrize("load", [one for loads in LOADS.values() for one in loads])
def test_the_table_of_a_load_reads_as_that_load(load: Experiment) -> None:
    contract = Contract(dscp=12)
    made = plans.read_plan('name = "x"\n' + as_toml("dc-link", load), contract=contract).rungs[0].experiments
    expected = replace(load, sizes=load.sizes or made[0].sizes)
    assert [identity(e) for e in made] == [identity(expected)]


@pytest.mark.parametrize("key", [key for key in LOADS if key not in BESIDE])
def test_another_of_any_kind_is_another_load(key: str) -> None:
    for load in LOADS[key]:
        plain = replace(load, **{key: getattr(Experiment(""), key)})
        assert same_load(load, load) and not same_load(load, plain) and not same_load(plain, load)


@pytest.mark.parametrize("key", sorted(BESIDE))
def test_for_how_long_and_what_beside_is_no_other_load(key: str) -> None:
    for load in LOADS[key]:
        assert same_load(load, replace(load, **{key: getattr(Experiment(""), key)}))


def both_ways(load: Experiment, bps: float, repeats: int, name: str) -> list[ExperimentResult]:
    found = (tcp(d, tuple(trial(bps, d, n) for n in range(repeats)), load.streams) for d in (F, R))
    return [
        replace(e, parameters=replace(load, id=f"{name}-{d}", direction=d, repeats=repeats))
        for e, d in zip(found, (F, R), strict=True)
    ]


def measured(*results: ExperimentResult) -> Document:
    return document(both(RungName.SAME_HOST, 4e9), rung(RungName.DC_LINK, ping(5.0), *results))


@pytest.mark.parametrize(
    "load",
    [
        one
        for key in ("tool", "dscp", "cores", "on_cores", "client_port", "zero_copy", "affinity", "write_size")
        for one in LOADS[key]
    ],
)
def test_more_of_the_same_is_more_of_that_very_load(load: Experiment) -> None:
    made = measured(*both_ways(load, 950e6, 1, "it"))
    judged = judge_document(made)
    asked = plans.follow_up(made.run.plan, judged).rungs[0].experiments
    assert {(e.direction, e.repeats) for e in asked if e.protocol is Protocol.TCP} == {(F, 5), (R, 5)}
    assert all(same_load(replace(e, direction=F), load) for e in asked if e.protocol is Protocol.TCP)
    known = {e.parameters.id for e in made.rungs[-1].experiments}
    assert {e.id for e in asked if e.protocol is Protocol.TCP} <= known, "further repeats, and no experiment beside it"


def test_what_was_measured_of_another_load_does_not_answer() -> None:
    """Of two loads the slower has all its repeats; the faster, which the verdict rests on, has one."""
    fast, slow = Experiment("", dscp=46), Experiment("")
    made = measured(*both_ways(fast, 950e6, 1, "fast"), *both_ways(slow, 600e6, 20, "slow"))
    asked = plans.follow_up(made.run.plan, judge_document(made)).rungs[0].experiments
    loads = [e for e in asked if e.protocol is Protocol.TCP]
    assert loads and all(e.dscp == fast.dscp != slow.dscp for e in loads)


def test_a_load_is_asked_for_on_its_own() -> None:
    arm = Experiment("b", baseline="a", step=2, at_most=4, repeats=6, begins=True, discard_first=True, contends=True)
    alone = like(replace(arm, company=Company.ALONE, paths=(0,)))
    assert alone == Experiment("", label="follow-up")
    assert tcp_load(arm, streams=4) == Experiment("", label="follow-up", ping_under_load=True, streams=4)
