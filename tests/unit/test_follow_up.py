"""Where the evidence fits two answers the judge asks for an experiment, and with its result it decides."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import replace

import pytest

from judge_documents import GIGABIT, F, R, both, df, document, ladder, ping, rung, tcp, trial, udp, with_facts
from linkladder import plan as plans
from linkladder import tools
from linkladder.judge import LimiterKind, Verdict, judge_document
from linkladder.model import Document, HostFacts, PathMtu, Plan, Protocol, RungName, RungResult, TcpCounters
from linkladder.tools import ToolVersions

LOSSY = {"near": TcpCounters(1_000_000, 4000), "far": TcpCounters(1_000_000, 4000)}
HOST = both(RungName.SAME_HOST, 4e9)


def link(*more: object, rtt: float = 5.0, bps: float = 400e6, **said: object) -> RungResult:
    ways = (tcp(d, tuple(trial(bps, d, n, **said) for n in range(3)), 2) for d in (F, R))
    return rung(RungName.DC_LINK, ping(rtt), *ways, *more)


def asked(made: Document) -> tuple[Plan, str]:
    """What is asked besides the probes of the path MTU, which go with anything else."""
    judged = judge_document(made)
    plan = plans.follow_up(made.run.plan, judged, cores=4)
    loads = (replace(r, experiments=tuple(e for e in r.experiments if e.tool != "ping")) for r in plan.rungs)
    return replace(plan, rungs=tuple(r for r in loads if r.experiments)), plans.follow_up_text(judged)


def test_loss_or_policer_asks_for_paced_udp_below_and_above_and_then_decides() -> None:
    made = document(HOST, link(tcp=LOSSY))
    limit = judge_document(made).rungs[-1].limiter
    assert limit is not None
    assert {LimiterKind.LOSS, LimiterKind.POLICER, LimiterKind.BURST} == set(limit.candidates)
    plan, text = asked(made)
    assert [r.name for r in plan.rungs] == [RungName.DC_LINK] and tomllib.loads(text)["name"] == "follow-up"
    offers = [e for e in plan.rungs[0].experiments if e.direction is F]
    assert all(e.protocol is Protocol.UDP for e in offers) and len(offers) >= 3
    rates = [e.udp_rate_bps or 0.0 for e in offers]
    assert min(rates) < 0.6 * 400e6 and max(rates) >= 1.5 * 400e6
    for lossy, kind in (
        ([(r, r * 0.996) for r in rates], LimiterKind.LOSS),
        ([(r, min(r, 440e6)) for r in rates], LimiterKind.POLICER),
    ):
        answers = [udp(d, offered, got) for d in (F, R) for offered, got in lossy]
        after = document(HOST, link(*answers, tcp=LOSSY))
        found = judge_document(after).rungs[-1].limiter
        assert found is not None and found.candidates == (kind,), found
        assert not asked(after)[0].rungs


def test_udp_that_loses_nothing_where_tcp_does_speaks_for_a_policer() -> None:
    made = document(HOST, link(udp(F, 390e6, 390e6), udp(R, 390e6, 390e6), tcp=LOSSY))
    limit = judge_document(made).rungs[-1].limiter
    assert limit is not None and limit.kind is LimiterKind.POLICER and "bursts" in limit.sentence


def test_one_repeat_asks_for_more_of_the_same_and_nothing_else() -> None:
    made = ladder(950e6, repeats=1)
    plan, text = asked(made)
    assert [(e.id, e.repeats) for e in plan.rungs[0].experiments] == [("tcp-4s-forward", 5), ("tcp-4s-reverse", 5)]
    probes = tomllib.loads(text)["experiment"]
    assert {e["direction"] for e in probes if e.get("protocol") == "df"} == {"forward", "reverse"}
    grown = plans.extended(made.run.plan, plan)
    assert [e.repeats for e in grown.rungs[-1].experiments] == [5, 5]
    assert [r.name for r in grown.rungs] == [r.name for r in made.run.plan.rungs]
    assert not asked(ladder(950e6))[0].rungs  # a firm PASS asks for nothing


def test_above_the_ceiling_asks_for_incompressible_payload_and_then_says() -> None:
    made = ladder(970e6)
    plan, _ = asked(made)
    wanted = plan.rungs[0].experiments
    assert [(e.tool, e.incompressible, e.direction) for e in wanted] == [
        ("netperf", True, F),
        ("netperf", True, R),
    ]
    assert "repeat once with incompressible payload" in " ".join(judge_document(made).judgement.remedies)
    for bps, said in ((970e6, "It is not compression"), (950e6, "Something on the way compresses")):
        random = [tcp(d, (trial(bps, d), trial(bps, d, 1)), 1, tool="netperf", incompressible=True) for d in (F, R)]
        after = document(HOST, dataclasses.replace(made.rungs[-1], experiments=(*made.rungs[-1].experiments, *random)))
        judged = judge_document(after)
        assert judged.verdict is Verdict.IMPOSSIBLE and said in " ".join(judged.judgement.remedies)
        assert not asked(after)[0].rungs


def test_silence_asks_for_df_probes_and_then_names_hole_or_card() -> None:
    dead = link(bps=0.0)
    limit = judge_document(document(HOST, dead)).rungs[-1].limiter
    assert limit is not None and LimiterKind.PATH_MTU in limit.candidates and len(limit.candidates) == 2
    plan = plans.follow_up(document(HOST, dead).run.plan, judge_document(document(HOST, dead)))
    assert {(e.protocol, e.direction) for e in plan.rungs[0].experiments} == {(Protocol.DF, F), (Protocol.DF, R)}
    for seen, kind in (
        (PathMtu((576, 1280), (1500,), 1280, True), LimiterKind.PATH_MTU),
        (PathMtu((576, 1500), (), 1500), LimiterKind.LARGE_SENDS),
    ):
        after = link(df(F, seen), df(R, seen), bps=0.0)
        found = judge_document(document(HOST, after)).rungs[-1].limiter
        assert found is not None and found.kind is kind and len(found.candidates) == 1
    plan, _ = asked(document(HOST, after))
    (again,) = [e for e in plan.rungs[0].experiments if e.protocol is Protocol.TCP and e.direction is F]
    assert [(s.kind, s.value) for s in again.settings] == [("tso", "off")], "large sends: the same with TSO off"


@pytest.mark.parametrize("busy", [(99.0, 99.0), (99.0, 40.0)])
def test_a_saturated_core_asks_for_more_streams(busy: tuple[float, float]) -> None:
    plan, _ = asked(document(HOST, link(bps=600e6, busy=busy)))
    assert {e.streams for e in plan.rungs[0].experiments} == {4}


def test_a_plan_never_shrinks() -> None:
    made = ladder(950e6, repeats=3)
    fewer = dataclasses.replace(made.run.plan, rungs=made.run.plan.rungs[:1])
    assert plans.extended(made.run.plan, fewer) == made.run.plan


def test_a_strangers_label_stays_text_in_the_plan() -> None:
    made = ladder(950e6, repeats=1)
    top = made.rungs[-1]
    odd = dataclasses.replace(top.experiments[0].parameters, label='x"\n[a]')
    one = dataclasses.replace(top.experiments[0], parameters=odd)
    link_ = dataclasses.replace(top, experiments=(one, top.experiments[1]))
    after = dataclasses.replace(made, rungs=(made.rungs[0], link_))
    found = tomllib.loads(plans.follow_up_text(judge_document(after)))
    assert set(found) == {"name", "title", "experiment"} and found["experiment"][0]["label"] == 'x"\n[a]'


def test_the_contract_is_what_the_offers_stay_within() -> None:
    plan, _ = asked(document(HOST, link(bps=900e6, tcp=LOSSY)))
    rates = [e.udp_rate_bps or 0.0 for e in plan.rungs[0].experiments if e.protocol is Protocol.UDP]
    assert rates and max(rates) <= (GIGABIT.rate_bps or 0.0)


def test_one_direction_asks_for_the_other() -> None:
    one = rung(RungName.DC_LINK, tcp(F, tuple(trial(950e6, F, n) for n in range(3))))
    plan, _ = asked(document(HOST, one))
    assert [(e.protocol, e.direction) for e in plan.rungs[0].experiments if e.direction is R] == [(Protocol.TCP, R)]


def test_incompressible_payload_is_asked_of_netperf_alone() -> None:
    text = 'name = "x"\n[[experiment]]\nrungs = ["dc-link"]\ntool = "netperf"\nincompressible = true\n'
    one = plans.read_plan(text).rungs[0].experiments[0]
    versions = ToolVersions({"netperf": "2.7.0"})
    where = tools.layout(one, versions, versions)
    argv = tools.client_argv(one, versions, where, "10.0.0.1", "10.0.0.2", 5301)
    assert argv[argv.index("-F") + 1] == "/dev/urandom,/dev/urandom" and argv.index("-F") < argv.index("--")
    with pytest.raises(plans.PlanError, match="only with netperf"):
        plans.read_plan(text.replace('tool = "netperf"\n', ""))


def test_no_window_is_asked_for_that_an_end_would_not_grant() -> None:
    """An unknown limit asks for a large window: one that an end grants not is no question but a failed trial."""
    made = document(HOST, link())
    wanted = [e.window for r in asked(made)[0].rungs for e in r.experiments if e.window]
    assert wanted, "where no end tells what it grants"
    for granted, found in ((wanted[0], wanted), (wanted[0] // 2, [])):
        near = HostFacts("alpha", "Linux", cores=4, window_limit=granted)
        told = with_facts(made, "near", near)
        assert [e.window for r in asked(told)[0].rungs for e in r.experiments if e.window] == found
