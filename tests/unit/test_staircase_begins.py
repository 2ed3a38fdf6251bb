"""Where the staircase of `tune` begins, how it goes both ways at once, and the ceiling beside each of its arms."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path

import pytest

import trials
from judge_documents import document
from linkladder import judge, keeping, report, units
from linkladder import plan as plans
from linkladder.app.experiment_text import about
from linkladder.cli import main
from linkladder.commands.planning import describe
from linkladder.engine import generators
from linkladder.engine.generators import Kept, Pair
from linkladder.judge.changes import changes
from linkladder.judge.staircase import landings, staircase
from linkladder.judge.stats import spread
from linkladder.model import (
    Contract,
    Direction,
    Experiment,
    Generator,
    HostFacts,
    Looked,
    Nic,
    Plan,
    RunEnd,
    Rung,
    RungName,
    RunState,
    Strength,
)
from linkladder.model import Path as Path_
from linkladder.report import compared
from linkladder.run.starting_point import begun_at_best
from linkladder.store import Store
from staircases import PATHS, climbed, climbed_with

F, R, D = Direction.FORWARD, Direction.REVERSE, Direction.DUPLEX
RUNG = RungName.SAME_VLAN


def tune() -> Plan:
    made = plans.builtin("tune", 4)
    return replace(made, rungs=tuple(replace(r, paths=PATHS) for r in made.rungs))


def firsts(plan: Plan) -> dict[Direction, Generator]:
    return {stair.first.direction: Generator.of_load(stair.first) for stair in plan.rungs[0].stairs}


def test_it_is_climbed_one_way_the_other_and_both_at_once() -> None:
    assert list(firsts(tune())) == [F, R, D]


def test_it_begins_where_the_generator_is_strongest() -> None:
    strong = Generator("iperf3", 2, write_size=1 << 20, zero_copy=True)
    facts = HostFacts("one", os="Linux", cores=4, tools={"iperf": "2.1.8", "iperf3": "3.16"})
    kept = Kept("", "", RUNG, Strength((Looked(strong, 4e10), Looked(Generator(streams=2), 2e10))))
    before = tune()
    assert plans.sought(before.rungs[0])
    after = generators.applied(before, before.rungs[0], Pair(facts, facts), kept)
    assert firsts(after)[F] == firsts(after)[R] == strong
    assert not plans.sought(after.rungs[0]), "it is known by then"
    (rung,) = after.rungs
    base, jumbo = plans.present_step(rung, rung.stairs[0])
    assert (Generator.of_load(base), Generator.of_load(jumbo)) == (strong, strong)
    assert jumbo.settings and jumbo.baseline == base.id and len({e.id for e in rung.experiments}) == 6
    buffers, streams = plans.to_try(rung.stairs[0])
    assert [e.window for e in buffers] == [800_000, 8 << 20] and {e.streams for e in buffers} == {2}
    assert [e.streams for e in streams] == [1, 4, 8] and {e.tool for e in streams} == {"iperf3"}


def measured(store: Store, carried: dict[Experiment, float], peer: str = "beta", rung: RungName = RUNG) -> str:
    paths = tuple(replace(path, peer=peer) for path in PATHS)
    run = store.begin(Plan("p", rungs=(Rung(rung, paths, tuple(carried)),)), peer)
    for e, bps in carried.items():
        by = {str(e.direction): bps}
        store.keep_trial(run, rung, e.id, trials.trial(e.id, 0, True, goodput_bps=bps, by_direction=by))
    store.finish(run, RunState.COMPLETE)
    return run


ONE = Experiment("one")
EIGHT = Experiment("eight", streams=8, window=8 << 20)
JUMBO = replace(EIGHT, id="jumbo", settings=plans.builtin("sizing").rungs[0].experiments[1].settings)


def test_it_begins_at_the_best_that_an_earlier_run_measured_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = measured(store, {ONE: 2e9, EIGHT: 7e9, JUMBO: 9e9})
    measured(store, {ONE: 9e9}, rung=RungName.DC_LINK)  # elsewhere
    measured(store, {ONE: 9e9, EIGHT: 1e9}, peer="gamma")  # with another
    measured(store, {EIGHT: 1e9})  # nothing to choose from
    after, said = begun_at_best(tune(), store)
    assert firsts(after)[F] == Generator(streams=8, window=8 << 20)
    assert said == (f"same-vlan: begins at TCP, 8 streams, 8M window, near to far: 7.00 Gb/s, the best of run {run}",)
    assert firsts(after)[R] == firsts(tune())[R], "nobody has measured the other way"
    assert [e.window for e in plans.to_try(after.rungs[0].stairs[0])[0]] == [None, 800_000]
    assert [s.first.strongest for s in after.rungs[0].stairs] == [False, True, True]


def test_where_nothing_is_known_it_stays_open(tmp_path: Path) -> None:
    after, said = begun_at_best(tune(), Store(tmp_path))
    assert firsts(after) == firsts(tune()) and all(s.first.strongest for s in after.rungs[0].stairs)
    assert said == ()


def test_the_time_told_beforehand_is_the_time_it_takes_wherever_it_begins(tmp_path: Path) -> None:
    store = Store(tmp_path)
    measured(store, {ONE: 2e9, EIGHT: 7e9})
    for before in (tune(), begun_at_best(tune(), store)[0]):
        after, _ = climbed_with(before, lambda e, way: 1e9)
        assert plans.trials(after) == plans.trials(before) == 3 * 6 * (2 + 3 + 4)


def carries(e: Experiment, way: Direction) -> float:
    """Large frames help both ways; with 8 streams one way starves the other when both are loaded."""
    rate = 2e9 if e.settings else 1e9
    if e.direction is not D:
        return rate
    return rate * {1: 1.0, 2: 1.2, 4: 1.0, 8: 3.0 if way is F else 0.5}[e.streams]


def test_both_ways_at_once_are_a_staircase_of_their_own_in_which_neither_way_pays_for_the_other() -> None:
    plan, result = climbed_with(tune(), carries)
    won = {p.direction: p for p in judge.won(result, plan)}
    assert set(won) == {F, R, D}
    assert won[D].streams == 2 and won[F].streams == won[R].streams == 2  # where it began: half of four cores
    flights = judge.flights(landings(result, changes(result)))
    assert [(mine[0].direction, mine[0].both_ways) for mine in flights] == [
        ("forward", False), ("reverse", False), ("forward", True), ("reverse", True),
    ]  # fmt: skip
    assert all(sum(one.kept and one.words == "MTU 9000" for one in mine) == 1 for mine in flights)
    starved = [one for mine in flights for one in mine if one.both_ways and one.words.startswith("8 streams")]
    assert starved and not any(one.kept for one in starved)
    said = [text for text in staircase(result, changes(result)) if text.startswith("Staircase")]
    assert [text.split(":")[0] for text in said] == [
        "Staircase, near to far", "Staircase, far to near",
        "Staircase, near to far while both ways are loaded", "Staircase, far to near while both ways are loaded",
    ]  # fmt: skip
    assert len(plan.rungs[0].experiments) == 3 * (2 + 3 + 4)


def test_what_a_change_did_while_both_ways_are_loaded_is_told_apart() -> None:
    _, result = climbed_with(tune(), carries)
    judged = judge.judge_rung(result, document(result))
    heads = [text.split(": ")[0] for text in judged.judgement.findings if text.startswith("8 streams instead of")]
    assert heads == [
        "8 streams instead of 2",
        "8 streams instead of 2, near to far",
        "8 streams instead of 2, far to near",
        "8 streams instead of 2 (both ways at once), near to far",
        "8 streams instead of 2 (both ways at once), far to near",
    ]


def test_each_arm_stands_beside_the_ceiling_at_its_mtu() -> None:
    _, result = climbed_with(tune(), carries)
    deal = Contract(port_bps=2.5e9)
    flights = judge.flights(landings(result, changes(result), deal))
    small, large = (judge.ceiling(replace(deal, mtu=mtu)).bps for mtu in (1500, 9000))
    one_way = {one.words: one.ceiling_bps for one in flights[0]}
    assert one_way["MTU 9000"] == large > small and small in one_way.values()
    both = {one.words: one.ceiling_bps for one in flights[2]}
    assert small < (both["MTU 9000"] or 0) < large, "the acknowledgements of the other way take their part"
    two = replace(result, paths=PATHS * 2)
    assert landings(two, changes(two), deal)[1].ceiling_bps == 2 * large
    assert landings(two, changes(two), replace(deal, shared_bps=1e9))[1].ceiling_bps is None
    drawn = [compared.staircase(mine) for mine in flights]
    assert all("stroke-dasharray" in picture for picture in drawn)
    assert "stroke-dasharray" not in compared.staircase(
        judge.flights(landings(result, changes(result), Contract(port_bps=1e11)))[0]
    )


TWO = (Path_("10.0.0.1", "10.0.0.2", "beta", "eth0", "eth0"), Path_("10.0.1.1", "10.0.1.2", "beta", "eth1", "eth1"))


def test_it_is_climbed_over_two_paths_as_over_one() -> None:
    before = plans.builtin("tune", 4)
    before = replace(before, rungs=tuple(replace(r, paths=TWO) for r in before.rungs))
    plan, result = climbed_with(before, carries)
    one, _ = climbed_with(tune(), carries)
    assert [e.id for e in plan.rungs[0].experiments] == [e.id for e in one.rungs[0].experiments]
    won = {p.direction: p for p in judge.won(result, plan)}
    assert all(p.settings for p in won.values()) and won[D].streams == 2
    landed = landings(result, changes(result))
    assert next(x.bps for x in landed if x.words == "MTU 9000") == pytest.approx(2 * 2e9, rel=0.01), "the sum of both"
    said = [line for line in staircase(result, changes(result)) if "ip link" in line]
    assert said == [
        f"To set, MTU 9000, at both ends, Linux: ip link set dev {card} mtu 9000" for card in ("eth0", "eth1")
    ]


def test_over_several_paths_nothing_stronger_is_looked_for_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    (rung,) = tune().rungs
    alone, two = (replace(tune(), rungs=(replace(rung, paths=paths),)) for paths in (PATHS, TWO))
    assert plans.longest(alone) == plans.longest(two) + plans.SEARCH
    said = " ".join(about(alone))
    assert "On same-vlan: 10.0.0.1 to 10.0.0.2 at beta." in said and "Begins where the generator is strongest" in said
    said = " ".join(about(two))
    assert "On same-vlan: 10.0.0.1 to 10.0.0.2 at beta; 10.0.1.1 to 10.0.1.2 at beta." in said
    assert "no stronger setting of the generator is looked for" in said and "Begins where" not in said
    assert "Begins at TCP, 2 streams, default window, near to far; " in said
    for plan, told in ((two, True), (alone, False)):
        describe(plan)
        assert ("over several paths no stronger setting" in capsys.readouterr().out) == told


def test_one_way_is_known_and_the_others_begin_where_the_generator_is_strongest(tmp_path: Path) -> None:
    store = Store(tmp_path)
    measured(store, {ONE: 2e9, EIGHT: 7e9})
    said = " ".join(about(begun_at_best(tune(), store)[0]))
    assert "Begins at the best that is known: TCP, 8 streams, 8M window, near to far. What is not known begins" in said
    (rung,) = tune().rungs
    two = replace(tune(), rungs=(replace(rung, paths=(*rung.paths, replace(rung.path, local="10.0.1.1"))),))
    assert begun_at_best(two, store) == (two, ()), "what was best over one path is not best over two"


def test_the_page_has_the_staircase_as_a_table() -> None:
    made = climbed()
    page = report.html(made)
    assert "<caption>Staircase, near to far: mean of the repeats (95 % interval)</caption>" in page
    assert "Ceiling at its MTU" in page and "+100.0 %" in page
    bare = next(e for e in made.rungs[0].experiments if not e.parameters.settings and e.parameters.streams == 1)
    rates = [t.goodput_bps for t in bare.trials]
    seen = spread(rates)
    assert seen.low < min(rates) and seen.high > max(rates), "what stands there is no range"
    assert f"{units.rate(statistics.median(rates))} ({units.rate(seen.low)} to {units.rate(seen.high)})" in page


@pytest.mark.parametrize("step", [1, 2])
def test_a_step_with_nothing_to_try_is_passed_over(step: int) -> None:
    steps = 'steps = [{window = ["800k"]}, {streams = [1]}, {streams = [2]}]'
    plan = plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "same-vlan"\n{steps}\n')
    assert plans.trials(plan) == 6 * 4
    after, _ = climbed_with(plan, lambda e, way: 1e9)
    assert len([e for e in after.rungs[0].experiments if e.step == step]) == 2


def test_more_is_tried_where_it_is_asked_for() -> None:
    asked = plans.Asked(also=("lro", "congestion=htcp,cubic"))
    (rung,) = plans.builtin("tune", asked=asked).rungs
    for stair in rung.stairs:
        *_, lro, congestion = plans.to_try(stair)
        assert [s.label for e in lro for s in e.settings] == ["lro-on", "lro-off"]
        assert [s.label for e in congestion for s in e.settings] == ["congestion-htcp", "congestion-cubic"]


def test_a_dry_run_has_each_change_of_a_later_step_and_its_undo_at_both_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = plans.builtin("tune", 4, asked=plans.Asked(also=("lro", "congestion=htcp")))
    describe(replace(made, rungs=tuple(replace(r, paths=PATHS) for r in made.rungs)))
    lines = capsys.readouterr().out.splitlines()
    after = lines[lines.index("    LRO on") + 1 :]
    assert [line.partition("; undo: ")[0] for line in after[:2]] == [
        "      far: set lro of eth0 to on", "      near: set lro of eth0 to on",
    ]  # fmt: skip
    assert all("; undo: set it back to " in line for line in after[:2])
    assert [line.split()[:2] for line in after[2:4]] == [["far:", "iperf"], ["near:", "iperf"]]
    after = lines[lines.index("    congestion control htcp") + 1 :][:2]
    assert [line.split()[0] for line in after] == ["near:", "far:"]
    assert all(" to htcp; undo: set it back to " in line for line in after)


@pytest.mark.parametrize(("also", "said"), [("weather", "kind: expected one of"), ("mtu=12", "value: expected")])
def test_what_cannot_be_tried_is_refused(also: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--also", also, "--dry-run"]) == 2
    assert said in capsys.readouterr().err


def test_the_lines_name_the_cards_that_the_ends_told_of() -> None:
    """A path that leaves its cards open is found by its addresses."""
    path = Path_("10.0.0.1", "10.0.0.2", "beta")
    nics = {"near": Nic("vmx3", addresses=("10.0.0.1",)), "beta": Nic("ens7", addresses=("10.0.0.2",))}
    ends = tuple(RunEnd(name, HostFacts(name, nics=(nic,))) for name, nic in nics.items())
    before = climbed()
    made = replace(before, run=replace(before.run, ends=ends), rungs=(replace(before.rungs[0], paths=(path, path)),))
    (judged,) = judge.judge_document(made).rungs
    said = [line for line in judged.judgement.findings if "ip link" in line]
    assert said == [
        "To set, MTU 9000, at the near end, Linux: ip link set dev vmx3 mtu 9000",
        "To set, MTU 9000, at the far end, beta, Linux: ip link set dev ens7 mtu 9000",
    ]
    assert keeping.winners(made).elsewhere == ("at beta: linkladder system mtu ens7 9000",)
