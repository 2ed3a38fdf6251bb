"""A path beside others that come and go: who takes from it is named, with the figures, and nobody else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkladder import plan as plans
from linkladder.judge.company import judge_company
from linkladder.judge.neighbours import judge_neighbours
from linkladder.model import (
    Company,
    Contract,
    CpuUse,
    Direction,
    EndRecord,
    Experiment,
    ExperimentResult,
    Fault,
    Interval,
    Leg,
    Outcome,
    Path,
    Role,
    RungName,
    RungResult,
    TrialResult,
)
from linkladder.model import Rtt as RoundTrips
from linkladder.plan import Link, company
from linkladder.plan.fields import EXPERIMENT
from linkladder.plan.link import Side
from plain import faults

PAIRS = (Path(peer="beta"), Path(peer="delta", origin="gamma"), Path(peer="zeta", origin="epsilon"))
ALONE = 191e6


def pings(ms: float, lost: int = 0) -> RoundTrips:
    return RoundTrips(50, 50 - lost, ms, ms, ms, ms, ms, 0.1)


def leg(path: int, bps: float) -> Leg:
    dead = Outcome(False, Fault.PATH, "nothing came")
    return Leg(Outcome(True, goodput_bps=bps) if bps else dead, path=path, near=0, far=1)


def measured(paths: tuple[int, ...], rates: list[float], beside: RoundTrips | None = None, cpu: float = 40.0,
             kind: Company = Company.NEIGHBOURS) -> ExperimentResult:  # fmt: skip
    """The watched path's rates, one a repeat; whoever is beside it gets as much."""
    trials = []
    for n, bps in enumerate(rates):
        legs = tuple(leg(path, bps) for path in paths)
        if beside:
            legs = (*legs, Leg(Outcome(True, rtt=beside), Role.PING, path=0))
        ends = (EndRecord("near"), EndRecord("beta", cpu=CpuUse(cpu, cpu, 1.0)))
        trials.append(TrialResult(f"t{n}", n, legs, ends))
    return ExperimentResult(Experiment(f"e{paths}", company=kind, paths=paths), tuple(trials))


def said(*experiments: ExperimentResult, paths: tuple[Path, ...] = PAIRS) -> str:
    found = judge_company(RungResult(RungName.DC_LINK, paths, experiments), Contract(rate_bps=200e6))
    assert found
    every = [text for text in found.findings if "side by side" not in text]
    assert not [text for text in every if faults(text)]
    return " ".join(every)


def alone(*rates: float, beside: RoundTrips | None = None) -> ExperimentResult:
    return measured((0,), list(rates), beside, kind=Company.ALONE)


def test_who_takes_is_named_and_who_does_not() -> None:
    text = said(
        alone(ALONE, 190e6, 191e6), measured((0, 1), [96e6, 95e6, 95e6]), measured((0, 2), [190e6, 191e6, 191e6])
    )
    assert "near to beta carries 191 Mb/s alone; beside gamma to delta 95.0 Mb/s (50 % of that)" in text
    assert "beside epsilon to zeta 191 Mb/s (as much)" in text
    assert "gamma to delta takes from near to beta; epsilon to zeta does not." in text and "once" not in text


def test_what_comes_and_goes_by_itself_is_not_blamed_on_a_neighbour() -> None:
    """Alone it was as slow in one repeat as it was beside anybody."""
    text = said(alone(ALONE, 120e6, 191e6), measured((0, 1), [120e6, 191e6, 118e6]))
    assert "No neighbour takes anything from near to beta." in text


def test_pings_and_round_trips_that_suffer_are_told() -> None:
    slow = measured((0, 1), [96e6, 96e6], pings(21.0, lost=2))
    text = said(alone(ALONE, ALONE, beside=pings(0.3)), slow)
    assert "50 % of that, 4 % of its pings lost, round trip 21.0 ms where it is 0.300 ms alone" in text


def test_a_path_that_dies_beside_a_neighbour_has_lost_all() -> None:
    text = said(alone(ALONE, ALONE), measured((0, 1), [0.0, 0.0]))
    assert "0 b/s (0 % of that)" in text and "gamma to delta takes from near to beta." in text


def test_a_machine_that_both_use_and_a_busy_core_may_be_the_reason() -> None:
    paths = (PAIRS[0], Path(peer="delta"))
    text = said(alone(ALONE, ALONE), measured((0, 1), [96e6, 96e6], cpu=99.0), paths=paths)
    assert "They have near in common, so that it may be that machine and no link." in text
    assert "A core of beta had no time left meanwhile." in text


def test_one_repeat_is_told_as_such() -> None:
    assert "Each was measured once: repeat it to be sure." in said(alone(ALONE), measured((0, 1), [96e6]))


@pytest.mark.parametrize("kind", [Company.ALONE, Company.ROUNDS])
def test_what_was_asked_otherwise_is_no_noisy_neighbour(kind: Company) -> None:
    rung = RungResult(RungName.DC_LINK, PAIRS, (alone(ALONE), measured((0, 1), [96e6], kind=kind)))
    assert judge_neighbours(rung) == ()


def test_the_plan_sets_the_first_path_beside_each_of_the_others() -> None:
    rung = plans.with_link(plans.builtin("neighbours"), Link(paths={RungName.DC_LINK: PAIRS})).rungs[0]
    loads = [e for e in rung.experiments if e.tool == "iperf" and e.direction == "forward"]
    assert [e.paths for e in loads] == [(0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2)]
    assert len({e.id for e in rung.experiments}) == len(rung.experiments) and all(e.repeats == 3 for e in loads[:5])
    assert loads[5].company is Company.VISITED and loads[5].duration == 4 * 5, "alone, one, alone, the other, alone"
    assert company.spread(rung) == rung
    one = company.spread(replace(rung, paths=PAIRS[:1], experiments=(Experiment("x", company=Company.NEIGHBOURS),)))
    assert one.experiments == (), "a path without others has no neighbours"
    assert EXPERIMENT["company"]("neighbours") == [Company.NEIGHBOURS]


def visited(
    kept: dict[int, float], reason: str = "", moments: dict[int, float] | None = None, mended: float = 1.0
) -> ExperimentResult:
    """20 s of the watched path, in which each of the others came for 4 s; it kept so much of its rate beside each.

    `mended`: what it had in the second after somebody had gone, of its rate.
    """
    moments = moments or {1: 7.0, 2: 15.0}  # seconds after the start, 3 of which are the warm-up

    def bps(second: float) -> float:
        for path, at in moments.items():
            if at <= second < at + 4:
                return ALONE * kept.get(path, 1.0)
            if second == at + 4:
                return ALONE * mended
        return ALONE

    seconds = [Interval(t, t + 1, int(bps(t) / 8), counted=t >= 3) for t in map(float, range(23))]
    legs = [Leg(Outcome(True, goodput_bps=ALONE, intervals=tuple(seconds)), path=0, near=0, far=1)]
    for path, at in moments.items():
        its = tuple(Interval(t, t + 1, int(ALONE / 8)) for t in map(float, range(4)))
        made = Outcome(False, Fault.PATH, reason) if reason else Outcome(True, goodput_bps=ALONE, intervals=its)
        legs.append(Leg(made, Role.VISITOR, path, 2, 3, began=at))
    parameters = Experiment("visited", company=Company.VISITED, paths=(0, 1, 2), duration=20.0)
    return ExperimentResult(parameters, (TrialResult("v1", 0, tuple(legs)),))


def test_a_visitor_who_takes_is_told_from_one_who_does_not_by_the_seconds_of_one_trial() -> None:
    text = said(visited({1: 0.5}, mended=0.6))
    assert "near to beta carries 191 Mb/s alone; beside gamma to delta 95.5 Mb/s (50 % of that)" in text
    assert "beside epsilon to zeta 191 Mb/s (as much)" in text
    assert "gamma to delta takes from near to beta; epsilon to zeta does not. 2 of the repeats are visits" in text
    assert "once" in text, "a single visit of each"


def test_visits_stand_beside_trials_of_the_same_pair() -> None:
    rung = RungResult(RungName.DC_LINK, PAIRS, (alone(ALONE), measured((0, 1), [96e6]), visited({1: 0.5})))
    crossing, aside = judge_neighbours(rung)
    assert crossing.takes and not crossing.once and crossing.visits == 1
    assert not aside.takes and aside.once and aside.visits == 1
    slow_alone = RungResult(RungName.DC_LINK, PAIRS, (alone(90e6), visited({1: 0.5})))
    assert not any(one.takes for one in judge_neighbours(slow_alone)), "alone it was as slow once"


def test_a_dip_that_no_visit_explains_is_blamed_on_nobody() -> None:
    """The seconds in which the path was slow are not those in which somebody came."""
    trial = visited({1: 0.5}).trials[0]
    legs = tuple(replace(leg, began=leg.began - 4) if leg.role is Role.VISITOR else leg for leg in trial.legs)
    moved = replace(visited({}), trials=(replace(trial, legs=legs),))
    assert "No neighbour takes anything from near to beta." in said(moved)


def test_who_could_not_come_is_told_with_the_reason() -> None:
    found = judge_company(
        RungResult(RungName.DC_LINK, PAIRS, (alone(ALONE), visited({}, "the port is closed"))), Contract(rate_bps=2e8)
    )
    assert found and found.neighbours == ()
    assert "gamma to delta did not come while it should: the port is closed." in found.findings


def test_visited_seconds_are_no_rate_of_the_path() -> None:
    """What it carried while others came is not what it carries alone."""
    found = judge_company(RungResult(RungName.DC_LINK, PAIRS, (visited({1: 0.1}),)), Contract(rate_bps=2e8))
    assert found and found.cells == () and found.whole.verdict == "INCOMPLETE"
    other_way = ExperimentResult(replace(visited({}).parameters, direction=Direction.REVERSE), visited({}).trials)
    assert judge_neighbours(RungResult(RungName.DC_LINK, PAIRS, (other_way,))) == ()


def test_of_two_paths_the_visit_is_no_trial_of_both() -> None:
    """A trial of both from end to end and a visit name the same paths."""
    visit = visited({1: 0.5}, moments={1: 7.0})
    visit = replace(visit, parameters=replace(visit.parameters, paths=(0, 1)))
    (one,) = judge_neighbours(RungResult(RungName.DC_LINK, PAIRS[:2], (alone(ALONE), visit)))
    assert one.visits == 1 and one.beside_bps == pytest.approx(0.5 * ALONE) and one.once


def test_where_no_path_is_described_all_that_are_paired_take_part() -> None:
    """alpha (here) and gamma stand on one side, beta and delta on the other: near to beta, gamma to delta."""
    sites = {"near": "east", "beta": "west", "gamma": "east", "delta": "west"}
    link = Link(ends={name: Side(site=site) for name, site in sites.items()})
    (rung,) = plans.with_link(plans.builtin("neighbours"), link, paired=("beta", "gamma", "delta")).rungs
    pairs = [(path.origin, path.peer) for path in rung.paths]
    assert pairs in ([("", "beta"), ("gamma", "delta")], [("", "delta"), ("beta", "gamma")])
    assert all(path.origin_site != path.peer_site for path in rung.paths)
    (three,) = plans.with_link(plans.builtin("neighbours"), Link(), paired=("beta", "gamma")).rungs
    assert [(path.origin, path.peer) for path in three.paths] == [("", "beta"), ("", "gamma")]
    described = Link(paths={RungName.DC_LINK: PAIRS})
    (own,) = plans.with_link(plans.builtin("neighbours"), described, paired=("beta", "gamma", "delta")).rungs
    assert [path.peer for path in own.paths] == ["beta", "delta", "zeta"], "the description wins"
    (quick,) = (r for r in plans.with_link(plans.builtin("quick"), Link(), paired=("beta", "gamma", "delta")).rungs
                if r.name is RungName.DC_LINK)  # fmt: skip
    assert len(quick.paths) == 1
