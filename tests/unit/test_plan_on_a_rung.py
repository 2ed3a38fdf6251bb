"""The built-in experiments run on the rung that a person asks for, with as many pairs as are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder import plan as plans
from linkladder.cli import main
from linkladder.commands.named_plans import load
from linkladder.model import Path as LinkPath
from linkladder.model import RungName
from short_plans import short_plan

MOVED = ("tune", "offload", "sizing", "affinity")
THOROUGH = plans.Asked(pairs=plans.THOROUGH)


@pytest.mark.parametrize("rung", [RungName.SAME_HOST, RungName.SAME_VLAN, RungName.DC_LINK])
@pytest.mark.parametrize("name", MOVED)
def test_an_experiment_runs_where_it_is_asked_for(
    name: str, rung: RungName, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--rung", rung, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.split("  ")[0] in list(RungName)] == [rung]


@pytest.mark.parametrize("name", MOVED)
def test_without_a_word_it_runs_on_same_vlan(name: str) -> None:
    assert [rung.name for rung in plans.builtin(name).rungs] == [RungName.SAME_VLAN]


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (("localhost", "same-host", "same-vlan", "dc-link"), ("same-vlan", "dc-link", "same-host")),
        (("localhost", "same-host", "dc-link"), ("dc-link", "same-host")),
        (("localhost",), ()),
    ],
)
def test_without_a_word_it_runs_where_the_link_has_a_path(
    described: tuple[str, ...], expected: tuple[str, ...], own_state: Path
) -> None:
    paths = {RungName(name): (LinkPath("10.0.0.1", "10.0.0.2", "beta"),) for name in described}
    plans.save_link(own_state, plans.Link(paths=paths))
    assert plans.rungs_to_try(plans.load_link(own_state)) == expected
    assert [rung.name for rung in load("tune").rungs] == [(*expected, "same-vlan")[0]]


def test_the_rung_that_a_plan_names_goes_before_the_link_s_first(own_state: Path) -> None:
    paths = {name: (LinkPath("10.0.0.1", "10.0.0.2", "beta"),) for name in (RungName.SAME_HOST, RungName.SAME_VLAN)}
    plans.save_link(own_state, plans.Link(paths=paths))
    mine = own_state / "mine.toml"
    mine.write_text('name = "mine"\nrung = "same-host"\n[[experiment]]\n')
    assert [rung.name for rung in load(str(mine)).rungs] == [RungName.SAME_HOST]


def test_two_rungs_are_measured_where_two_are_asked_for() -> None:
    asked = plans.Asked((RungName.DC_LINK, RungName.SAME_HOST))
    assert [rung.name for rung in plans.builtin("tune", asked=asked).rungs] == [RungName.SAME_HOST, RungName.DC_LINK]


@pytest.mark.parametrize("name", ["tune", "offload", "sizing"])
def test_what_changes_adapters_is_refused_where_there_are_none(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--rung", "localhost", "--dry-run"]) == 2
    assert "expected on a rung with two ends, not on localhost" in capsys.readouterr().err


def test_an_experiment_that_names_its_rungs_stays_there() -> None:
    text = 'name = "p"\nrung = "same-vlan"\n[[experiment]]\nrungs = "same-host"\n[[experiment]]\n'
    named, moved = plans.read_plan(text, asked=plans.Asked((RungName.DC_LINK,))).rungs
    assert (named.name, moved.name) == (RungName.SAME_HOST, RungName.DC_LINK)


@pytest.mark.parametrize("name", MOVED)
def test_a_comparison_has_six_pairs_and_a_thorough_one_ten(name: str) -> None:
    assert {e.repeats for e in plans.builtin(name).rungs[0].experiments} == {6}
    (rung,) = plans.builtin(name, asked=THOROUGH).rungs
    assert {e.repeats for e in rung.experiments} == {10}
    assert all(stair.first.repeats == 10 for stair in rung.stairs)


def test_thorough_takes_nothing_from_a_plan_that_asks_for_more() -> None:
    compared = 'name = "p"\n[[experiment]]\nrungs = "same-vlan"\nbaseline = {streams = 1}\nstreams = 2\nrepeats = '
    for written, thorough in ((12, 12), (4, 10)):
        (rung,) = plans.read_plan(f"{compared}{written}\n", asked=THOROUGH).rungs
        assert {e.repeats for e in rung.experiments} == {thorough}


def test_a_rung_that_is_none_is_told_by_its_line() -> None:
    with pytest.raises(plans.PlanError, match="line 2: rung: expected one of localhost"):
        plans.read_plan('name = "p"\nrung = "attic"\n[[experiment]]\n')


@pytest.mark.parametrize("name", [*MOVED, "rr"])
def test_the_short_form_that_machines_run_is_a_plan_too(name: str, own_state: Path) -> None:
    short = own_state / "short.toml"
    short.write_text(short_plan(name, "same-vlan"))
    (rung,) = load(str(short)).rungs
    assert rung.name is RungName.SAME_VLAN
    assert {(exp.duration, exp.repeats) for exp in rung.experiments if exp.tool != "ping"} == {(2, 4)}
