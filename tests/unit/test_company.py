"""Several pairs in one plan: who is paired with whom, who is loaded beside whom, and how long that takes for many."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from linkladder import plan as plans
from linkladder.engine.left_out import without_effect
from linkladder.model import Company, Experiment, Rung, RungName
from linkladder.model import Path as Pair
from linkladder.plan import company
from linkladder.plan.link import Side
from linkladder.wire.limits import check_experiment

MESH = """name = "m"
mesh = true
[[experiment]]
rungs = "dc-link"
company = ["alone", "rounds", "all"]
duration = 10
warmup = 3
"""
LINK = plans.Link(ends={"near": Side("10.0.0.1", "up0"), "beta": Side("10.0.0.2"), "gamma": Side("10.0.0.3", "vmx1")})


def named(ends: int) -> list[str]:
    return [company.NEAR, *(f"end{n}" for n in range(1, ends))]


@pytest.mark.parametrize("ends", [2, 3, 4, 5, 7, 8, 13, 50, 200])
def test_a_mesh_takes_as_few_rounds_as_any_schedule_can(ends: int) -> None:
    pairs = [(path.origin or company.NEAR, path.peer) for path in company.mesh(named(ends))]
    found = company.rounds(pairs)
    assert len(pairs) == ends * (ends - 1) // 2
    assert len(found) == (ends - 1 if ends % 2 == 0 else ends)
    assert sorted(chain(*found)) == list(range(len(pairs))), "every pair has its turn, and has it once"
    for one in found:
        busy = [end for number in one for end in pairs[number]]
        assert len(busy) == len(set(busy)), "no end is in two pairs of a round"


def test_pairs_that_are_no_mesh_go_side_by_side_where_they_can() -> None:
    assert company.rounds([("a", "b"), ("c", "d"), ("e", "f")]) == ((0, 1, 2),)
    assert company.rounds([("near", "b"), ("near", "c"), ("near", "d")]) == ((0,), (1,), (2,))
    assert company.rounds([("near", "b"), ("near", "b")]) == ((0,), (1,)), "two paths of one pair share its ends"


def test_a_mesh_is_every_pair_alone_then_side_by_side_then_all() -> None:
    plan = plans.with_link(plans.read_plan(MESH), LINK, paired=["beta", "gamma"])
    (rung,) = plan.rungs
    assert rung.paths == (
        Pair("10.0.0.1", "10.0.0.2", "beta", "up0"),
        Pair("10.0.0.1", "10.0.0.3", "gamma", "up0", "vmx1"),
        Pair("10.0.0.2", "10.0.0.3", "gamma", "", "vmx1", "beta"),
    )
    assert rung.peers == ("beta", "gamma")
    alone = [(e.id, e.paths) for e in rung.experiments if e.company is Company.ALONE]
    assert [paths for _, paths in alone] == [(0,), (1,), (2,)]
    assert [name.rpartition("alone-")[2] for name, _ in alone] == ["near-beta", "near-gamma", "beta-gamma"]
    assert [e.paths for e in rung.experiments if e.company is Company.ALL] == [()]
    assert not [e for e in rung.experiments if e.company is Company.ROUNDS], "of three ends no two pairs are disjoint"
    four = plans.with_link(plans.read_plan(MESH), plans.Link(), "beta,gamma,delta").rungs[0]
    assert [e.paths for e in four.experiments if e.company is Company.ROUNDS] == [(0, 5), (1, 4), (2, 3)]
    assert company.spread(four) == four, "once is enough"


def test_pairs_are_named_and_their_addresses_known_from_the_link(tmp_path: Path) -> None:
    text = MESH.replace(
        "mesh = true", '[[path.dc-link]]\npeer = "beta"\n[[path.dc-link]]\nfrom = "beta"\npeer = "gamma"'
    )
    rung = plans.with_link(plans.read_plan(text), LINK).rungs[0]
    assert [(p.local, p.remote, p.origin, p.peer) for p in rung.paths] == [
        ("10.0.0.1", "10.0.0.2", "", "beta"),
        ("10.0.0.2", "10.0.0.3", "beta", "gamma"),
    ]
    plans.save_link(tmp_path, LINK)
    assert plans.load_link(tmp_path) == LINK


def test_two_paths_never_have_one_name() -> None:
    """ "a-b" and "c" read like "a" and "b-c", and a peer may be called near, as this appliance is."""
    for pairs in (
        [("a-b", "c"), ("a", "b-c")],
        [("", "b"), ("near", "b")],
        [("", "b"), ("", "b")],
        [("", ""), ("", "")],
    ):
        paths = tuple(Pair(f"10.0.{n}.1", f"10.0.{n}.2", peer, origin=origin) for n, (origin, peer) in enumerate(pairs))
        rung = Rung(RungName.DC_LINK, paths, (Experiment("tcp", company=Company.ALONE),))
        assert [e.id for e in company.spread(rung).experiments] == ["tcp-path1", "tcp-path2"]


@pytest.mark.parametrize("kind", ["alone", "rounds", "neighbours"])
def test_what_is_compared_on_each_path_has_its_baseline_there(kind: str) -> None:
    text = MESH.replace('["alone", "rounds", "all"]', f'"{kind}"') + 'settings = {kind = "tso", value = "off"}\n'
    (rung,) = plans.with_link(plans.read_plan(f"{text}baseline = true\n"), plans.Link(), "beta,gamma,delta").rungs
    by_id = {e.id: e for e in rung.experiments}
    changed = [e for e in rung.experiments if e.baseline]
    assert len(changed) == {"alone": 6, "rounds": 3, "neighbours": 5}[kind] and len(by_id) == 2 * len(changed)
    assert all(by_id[e.baseline].paths == e.paths and not by_id[e.baseline].settings for e in changed)


def test_of_a_single_path_alone_and_all_are_one() -> None:
    link = plans.Link(paths={RungName.DC_LINK: (Pair("10.0.0.1", "10.0.0.2", "beta"),)})
    rung = plans.with_link(plans.builtin("cards"), link).rungs[0]
    assert {e.company for e in rung.experiments} == {Company.ALL}


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(plans.PlanError, match="company: expected one of alone, rounds, neighbours, visited, all"):
        plans.read_plan(MESH.replace('"alone"', '"single"'))
    with pytest.raises(plans.PlanError, match="ends: expected beside mesh"):
        plans.read_plan(MESH.replace("mesh = true", 'ends = ["near", "beta"]'))


def test_a_path_that_a_rung_has_twice_is_refused_with_its_line() -> None:
    """Its figures stood there as those of two paths that share something."""
    one = '[[path.dc-link]]\npeer = "beta"\nlocal = "10.0.0.1"\nremote = "10.0.0.2"\n'
    text = MESH.replace("mesh = true", f"{one}{one.replace('10.0.0', '10.0.1')}{one}")
    line = 1 + text.splitlines().index('remote = "10.0.0.2"', text.splitlines().index('remote = "10.0.1.2"'))
    words = rf"line {line}: path\.dc-link\.remote: expected another path than path 1, between the same addresses"
    with pytest.raises(plans.PlanError, match=words):
        plans.read_plan(text)
    by_name = '[[path.dc-link]]\npeer = "beta"\n'
    with pytest.raises(plans.PlanError, match=r"path\.dc-link\.peer: expected another path than path 1"):
        plans.read_plan(MESH.replace("mesh = true", f"{by_name}{by_name}"))
    cards = "".join(f'{by_name}interface = "vmx{n}"\n' for n in (1, 2))
    assert len(plans.read_plan(MESH.replace("mesh = true", cards)).rungs[0].paths) == 2


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('protocol = "udp"\nudp_rate = "10M"', "company: expected visited with protocol tcp, one way"),
        ('direction = "duplex"', "company: expected visited with protocol tcp, one way"),
        ("duration = 2", "duration: expected at least 3 s for each visit"),
        ('settings = {kind = "mtu", value = 9000}', "company: expected visited without settings"),
    ],
)
def test_a_visit_that_could_not_be_told_is_no_plan(keys: str, words: str) -> None:
    visited = 'name = "x"\n[[experiment]]\nrungs = "dc-link"\ncompany = "visited"\n'
    assert plans.read_plan(visited + "duration = 3").rungs
    with pytest.raises(plans.PlanError, match=words):
        plans.read_plan(visited + keys)


def test_a_staircase_is_climbed_on_all_paths_at_once() -> None:
    steps = 'steps = [{settings = {kind = "tso", value = "off"}}]\n'
    with pytest.raises(plans.PlanError, match="company: expected all beside steps"):
        plans.read_plan(f'name = "x"\n[[experiment]]\nrungs = "dc-link"\ncompany = "alone"\n{steps}')


def test_two_hundred_ends_take_an_hour_where_every_pair_alone_would_take_three_days() -> None:
    """Each round a trial of 14 s: what is worth while for hundreds of ends is the rounds, and never each pair alone."""
    seconds = plans.trial_seconds(plans.read_plan(MESH).rungs[0].experiments[0])
    pairs = [(path.origin or company.NEAR, path.peer) for path in company.mesh(named(200))]
    assert seconds == 14
    assert len(company.rounds(pairs)) * seconds / 60 == pytest.approx(46.4, abs=0.1)
    assert len(pairs) * seconds / 3600 == pytest.approx(77.4, abs=0.1)


def test_what_two_hundred_ends_are_asked_in_rounds_is_taken_by_each() -> None:
    rung = plans.read_plan(MESH.replace('["alone", "rounds", "all"]', '"rounds"')).rungs[0]
    spread = company.spread(replace(rung, paths=company.mesh(named(200))))
    assert len(spread.experiments) == 199
    for e in spread.experiments:
        check_experiment(e)


def test_more_paths_at_once_than_there_are_ports_for_are_left_out_and_the_rest_is_measured() -> None:
    for ends, gone in ((14, {}), (15, {"all": "105 paths at once take 105 ports, and there are 100"})):
        (rung,) = plans.with_link(plans.read_plan(MESH), plans.Link(), paired=named(ends)[1:]).rungs
        kinds = {e.id: str(e.company) for e in rung.experiments}
        assert {kinds[name]: why for name, why in without_effect(rung, rung.paths, {}).items()} == gone
    two = plans.Link(paths={RungName.DC_LINK: (Pair("10.0.0.1", "10.0.0.2", "b"), Pair("10.1.0.1", "10.1.0.2", "b"))})
    rung = plans.with_link(plans.builtin("rr"), two).rungs[-1]
    (left,) = without_effect(rung, rung.paths, {}).items()
    assert left == ("rr-50x700-forward", "2 paths at once take 102 ports, and there are 100")


def test_sites_of_ends_are_kept_and_stand_in_every_path_of_a_mesh(tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text('[end.near]\naddress = "10.0.0.1"\nsite = "east"\n[end.beta]\nsite = "west"\n')
    link = plans.load_link(tmp_path)
    plans.save_link(tmp_path, link)
    assert plans.load_link(tmp_path) == link
    (rung,) = plans.with_link(plans.read_plan(MESH), link, paired=("beta", "gamma")).rungs
    sites = [(path.origin or "near", path.peer, path.origin_site, path.peer_site) for path in rung.paths]
    assert sorted(sites) == [
        ("beta", "gamma", "west", ""),
        ("near", "beta", "east", "west"),
        ("near", "gamma", "east", ""),
    ]
