"""Raw output of trials over several paths is read once more, leg by leg, over the seconds that the legs share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judge_documents import GIGABIT
from linkladder import tools
from linkladder.judge.recount import recount
from linkladder.model import (
    Command,
    Document,
    EndRecord,
    Experiment,
    HostFacts,
    Leg,
    Plan,
    RunEnd,
    RungName,
    RungResult,
    RunInfo,
    TrialResult,
)
from linkladder.model import Path as RungPath
from linkladder.model.several_legs import counted_together, share
from tools_cases import EXPERIMENTS, MODERN, read

PATHS = (RungPath("10.91.0.1", "10.91.0.2", "beta"), RungPath("10.91.0.1", "10.91.0.2", "gamma"))
NAMES = ("near", "beta", "gamma")


def leg(folder: Path, name: str, exp: Experiment, number: int, ends: tuple[str, str], began: float) -> Leg:
    """As a trial keeps it: what came of the output, and the output."""
    where = tools.layout(exp, MODERN, MODERN)
    server, client = read(folder, f"{name}.server.txt"), read(folder, f"{name}.client.txt")
    outcome = tools.finish(exp, where, (server, ""), ((client, ""),), tools.Expectation(exit_codes=(0,)))
    assert outcome.ok, outcome.reason
    commands = (
        Command(ends[1], "server", ("iperf", "-s", "-B", "10.91.0.2"), 0, server),
        Command(ends[0], "client", ("iperf", "-c", "10.91.0.2"), 0, client),
    )
    return Leg(outcome, path=number, near=0, far=NAMES.index(ends[1]), began=began, commands=commands)


def of(captures: Path, name: str, began: float = 0.0) -> tuple[TrialResult, Experiment, RungResult, Document]:
    """Near to beta and near to gamma at once, the second so many seconds later."""
    exp, folder = EXPERIMENTS[name], captures / "iperf-2.1.8-two-ends"
    asked = replace(exp, udp_rate_bps=exp.udp_rate_bps * 2) if exp.udp_rate_bps else exp
    mine = share(asked, 2)
    alone = [leg(folder, name, mine, n, ("near", NAMES[n + 1]), began * n) for n in (0, 1)]
    together = counted_together([(one.began, one.outcome) for one in alone], asked)
    legs = tuple(replace(one, outcome=outcome) for one, outcome in zip(alone, together, strict=True))
    trial = TrialResult("t", 0, legs, tuple(map(EndRecord, NAMES)))
    facts = HostFacts("x", os="Linux", tools=dict(MODERN.found))
    run = RunInfo(
        "r", "2026-11-22T10:00:00+00:00", Plan("p", contract=GIGABIT), ends=tuple(RunEnd(name, facts) for name in NAMES)
    )
    rung = RungResult(RungName.DC_LINK, PATHS)
    return trial, asked, rung, Document(run, (rung,))


@pytest.mark.parametrize("name,began", [("tcp-p2", 0.0), ("tcp-p2", 1.0), ("udp-p2", 0.0), ("duplex-p2", 0.0)])
def test_figures_that_the_output_of_each_leg_makes_are_borne_out(captures: Path, name: str, began: float) -> None:
    assert recount(*of(captures, name, began)) == ""


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("began", [0.0, 1.0])
def test_one_leg_that_claims_more_than_its_output_makes_is_found(captures: Path, number: int, began: float) -> None:
    trial, exp, rung, document = of(captures, "tcp-p2", began)
    true = trial.legs[number].outcome
    more = {way: 1.1 * bps for way, bps in true.by_direction.items()}
    raised = replace(true, goodput_bps=1.1 * true.goodput_bps, by_direction=more)
    legs = tuple(replace(one, outcome=raised) if n == number else one for n, one in enumerate(trial.legs))
    assert "but the tools' own output makes" in recount(replace(trial, legs=legs), exp, rung, document)


def test_what_one_leg_carried_does_not_make_up_for_the_other(captures: Path) -> None:
    """The sum is right, and neither part is."""
    trial, exp, rung, document = of(captures, "tcp-p2")
    moved = [
        replace(one, outcome=replace(o, goodput_bps=f * o.goodput_bps, by_direction={"forward": f * o.goodput_bps}))
        for one, f in zip(trial.legs, (1.3, 0.7), strict=True)
        for o in (one.outcome,)
    ]
    forged = replace(trial, legs=tuple(moved))
    assert forged.goodput_bps == pytest.approx(trial.goodput_bps)
    assert recount(forged, exp, rung, document)


def test_datagrams_lost_on_one_path_are_not_hidden_by_the_other(captures: Path) -> None:
    trial, exp, rung, document = of(captures, "udp-p2")
    first, second = trial.legs
    lost = replace(second.outcome, lost=(second.outcome.datagrams or 0) // 20)
    forged = replace(trial, legs=(first, replace(second, outcome=lost)))
    assert "lost" in recount(forged, exp, rung, document)


def test_a_leg_without_its_output_leaves_the_others_to_be_asked(captures: Path) -> None:
    trial, exp, rung, document = of(captures, "tcp-p2")
    first, second = trial.legs
    silent = replace(first, commands=())
    assert recount(replace(trial, legs=(silent, second)), exp, rung, document) == ""
    more = replace(second, outcome=replace(second.outcome, by_direction={"forward": 2e12}, goodput_bps=2e12))
    assert recount(replace(trial, legs=(silent, more)), exp, rung, document)


@pytest.mark.parametrize("system,asked", [("Linux", 800000), ("FreeBSD", 1600000)])
def test_a_socket_buffer_is_read_back_as_each_system_tells_it(captures: Path, system: str, asked: int) -> None:
    """Linux grants the double and FreeBSD what was asked: a trial of the latter was that of no measurement."""
    exp = replace(EXPERIMENTS["window"], window=asked)
    where, folder = tools.layout(exp, MODERN, MODERN), captures / "iperf-2.1.8-two-ends"
    server, client = read(folder, "window.server.txt"), read(folder, "window.client.txt")
    expect = tools.Expectation(os_near=system, os_far=system, exit_codes=(0,))
    outcome = tools.finish(exp, where, (server, ""), ((client, ""),), expect)
    assert outcome.ok, outcome.reason
    argv = ("iperf", "-c", "10.91.0.2", "-w", str(asked))
    commands = (Command("beta", "server", argv, 0, server), Command("near", "client", argv, 0, client))
    trial = TrialResult("t", 0, (Leg(outcome, commands=commands),), tuple(map(EndRecord, NAMES[:2])))
    _, _, rung, document = of(captures, "tcp-p2")
    facts = HostFacts("x", os=system, tools=dict(MODERN.found))
    ends = tuple(RunEnd(name, facts) for name in NAMES)
    rung, document = replace(rung, paths=PATHS[:1]), replace(document, run=replace(document.run, ends=ends))
    assert recount(trial, exp, rung, document) == ""
