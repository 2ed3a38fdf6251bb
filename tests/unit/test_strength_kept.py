"""What was found of a generator: kept, used where it fits, and looked for again when a machine has changed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from linkladder import host, phrases, units
from linkladder import plan as plans
from linkladder.app.live_backend import LiveBackend
from linkladder.cli import main
from linkladder.commands import planning
from linkladder.engine import generators, strongest
from linkladder.engine.generators import Generators, Pair
from linkladder.engine.route import Route
from linkladder.events import Event
from linkladder.model import (
    Contract,
    Experiment,
    HostFacts,
    Interruption,
    Leg,
    Outcome,
    Plan,
    Rung,
    RungName,
    TrialResult,
)
from linkladder.model import Path as Way
from test_strongest import BETA, BOTH, CARD, HOST, OPEN, OTHER, M


def rung(name: RungName = RungName.SAME_HOST, *experiments: Experiment) -> Rung:
    peer = "" if name is RungName.LOCALHOST else "beta"
    return Rung(name, (Way("192.0.2.1", "192.0.2.2", peer),), experiments or (OPEN,))


class Machine:
    """An end that tells what it is, and is asked nothing else."""

    name, hello, address, lost = "", None, "192.0.2.1", False

    def __init__(self, facts: HostFacts) -> None:
        self.facts = facts

    async def ask(self, request: Any) -> Any:
        return self.facts


class Ends:
    """Two machines, of which the looks are counted."""

    def __init__(self, folder: Path) -> None:
        self.generators, self.looks = Generators(folder), 0
        self.events: list[Event] = []

    async def measure(self, exp: Experiment, over: tuple[Route, ...]) -> TrialResult | Interruption:
        self.looks += 1
        bps = 2e9 if exp.write_size == M else 1e9
        return TrialResult("look", 0, (Leg(Outcome(True, goodput_bps=bps)),))

    def strengthened(self, on: Rung, pair: Pair) -> Any:
        plan = Plan("p", contract=Contract(), rungs=(on,))
        ends: Any = {"": Machine(pair.near), "beta": Machine(pair.far)}
        found = asyncio.run(self.generators.strengthened(plan, on, ends, self.measure, self.events.append))
        return found


@pytest.fixture
def ends(tmp_path: Path) -> Ends:
    return Ends(tmp_path)


def test_it_is_kept_with_the_facts_of_the_machines(ends: Ends) -> None:
    first = ends.strengthened(rung(), Pair(HOST, BETA))
    assert ends.looks and len(ends.events) == 1 and "strongest by iperf" in first.said
    (made,) = first.plan.rungs[0].experiments
    assert made.write_size == M and made.id == plans.name_of(made) and made.strongest
    looks = ends.looks
    again = Ends(ends.generators._path.parent)
    assert again.strengthened(rung(), Pair(HOST, BETA)).plan == first.plan
    assert again.looks == 0 and again.events == [] and looks


@pytest.mark.parametrize(
    "changed",
    [
        {"tools": {"iperf": "2.1.9"}}, {"cores": 8}, {"kernel": "6.2"}, {"memory": 4 << 30}, {"cpu": "other"},
        {"release": "13"}, {"window_limit": 32 * M},
        *({"nics": (OTHER, replace(CARD, **of_card))} for of_card in (
            {"driver": "ix"}, {"name": "ix0"}, {"mtu": 9000}, {"speed_bps": 25e9}, {"offloads": {"tso": False}},
        )),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", ["near", "far"])
def test_it_is_looked_for_again_when_a_machine_has_changed(ends: Ends, changed: dict[str, object], at: str) -> None:
    pair = Pair(HOST, BETA)
    ends.strengthened(rung(), pair)
    ends.looks = 0
    ends.strengthened(rung(), replace(pair, **{at: replace(getattr(pair, at), **changed)}))
    assert ends.looks


def test_a_little_more_memory_after_a_boot_is_no_change(ends: Ends) -> None:
    ends.strengthened(rung(), Pair(HOST, BETA))
    ends.looks = 0
    ends.strengthened(rung(), Pair(replace(HOST, memory=HOST.memory + 4096), BETA))
    assert ends.looks == 0


def test_another_card_than_the_paths_own_is_no_change(ends: Ends) -> None:
    ends.strengthened(rung(), Pair(HOST, BETA))
    ends.looks = 0
    ends.strengthened(rung(), Pair(replace(HOST, nics=(replace(OTHER, mtu=9000), CARD)), BETA))
    assert ends.looks == 0


@pytest.mark.parametrize(
    ("changed", "again"), [({"nics": (replace(CARD, mtu=9000),)}, False), ({"window_limit": M}, True)]
)
def test_within_a_machine_no_card_counts_but_the_largest_buffer_does(
    ends: Ends, changed: dict[str, Any], again: bool
) -> None:
    here, there = replace(HOST, **changed), rung(RungName.LOCALHOST)
    ends.strengthened(there, Pair(HOST, HOST))
    ends.looks = 0
    ends.strengthened(there, Pair(here, here))
    assert bool(ends.looks) == again


def test_the_link_itself_takes_what_was_found_nearer_by(ends: Ends) -> None:
    ends.strengthened(rung(RungName.SAME_HOST), Pair(HOST, BETA))
    ends.looks = 0
    for name in (RungName.SAME_VLAN, RungName.DC_LINK):
        assert ends.strengthened(rung(name), Pair(HOST, BETA)).plan.rungs[0].experiments[0].write_size == M
    assert ends.looks == 0


def test_on_the_link_alone_it_is_looked_for_within_this_machine(ends: Ends) -> None:
    link = rung(RungName.DC_LINK)
    assert generators.searched_on(link) is RungName.LOCALHOST
    near, far = cast("tuple[Any, Any]", (Machine(HOST), Machine(BETA)))
    path, here, there = generators.path_to_search(link, near, far)
    assert (path.local, path.remote) == ("127.0.0.1", "127.0.0.1") and {here, there} == {near}
    ends.strengthened(link, Pair(HOST, BETA))
    ends.looks = 0
    ends.strengthened(rung(RungName.LOCALHOST), Pair(HOST, HOST))
    assert ends.looks == 0, "what was found there is known on localhost"


def test_a_file_that_cannot_be_read_is_as_good_as_none(ends: Ends) -> None:
    for text in ("", "{", "[5]", '[{"near": 1}]', "{}"):
        ends.generators._path.write_text(text)
        ends.looks = 0
        assert "strongest" in ends.strengthened(rung(), Pair(HOST, BETA)).said
        assert ends.looks


def test_where_an_end_goes_meanwhile_nothing_is_kept(ends: Ends) -> None:
    async def lost(exp: Experiment, over: tuple[Route, ...]) -> TrialResult | Interruption:
        return Interruption("2026-01-01", 1.0, "gone")

    ends.measure = lost  # type: ignore[method-assign]
    assert ends.strengthened(rung(), Pair(HOST, BETA)) is None
    assert ends.generators.known(rung(), Pair(HOST, BETA)) is None


def test_over_several_paths_nothing_is_looked_at_and_the_run_says_so(ends: Ends) -> None:
    one = rung()
    two = replace(one, paths=(*one.paths, Way("192.0.2.3", "192.0.2.4", "beta")))
    found = ends.strengthened(two, Pair(HOST, BETA))
    assert found.said == phrases.OVER_SEVERAL_PATHS and found.plan.rungs == (two,)
    assert ends.looks == 0 and ends.events == []


def test_a_plan_says_beforehand_what_is_known(ends: Ends) -> None:
    plan = Plan("p", rungs=(rung(), rung(RungName.SAME_VLAN, Experiment("pinned"))))
    folder, facts = ends.generators._path.parent, {"": HOST, "beta": BETA}
    before = generators.planned(plan, facts, folder)
    assert before.plan == plan and list(before.said) == ["same-host"] and not before.known
    assert "found first" in before.said[RungName.SAME_HOST]
    ends.strengthened(rung(), Pair(HOST, BETA))
    after = generators.planned(plan, facts, folder)
    assert after.plan.rungs[0].experiments[0].write_size == M and "strongest by" in after.said[RungName.SAME_HOST]
    assert after.plan.rungs[1] == plan.rungs[1] and after.known == {RungName.SAME_HOST}
    assert generators.planned(plan, {"": HOST}, folder).known == {RungName.SAME_HOST}, "it may be"


def test_the_time_told_at_best_has_a_search_in_it_only_as_long_as_nothing_is_kept(
    ends: Ends, own_state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "facts", lambda: HOST)
    monkeypatch.setattr(planning, "local_versions", lambda: BOTH)
    quick = plans.builtin("quick")
    known = replace(quick, rungs=tuple(replace(r, paths=rung(r.name).paths) for r in quick.rungs))
    on_same_vlan = replace(known, rungs=tuple(r for r in known.rungs if r.name is RungName.SAME_VLAN))
    ends.generators = Generators(own_state)

    def told(found: bool) -> None:
        for plan, searches in ((on_same_vlan, 1), (known, 2)):
            planning.describe(plan, {"beta": BETA})
            least = plans.at_best(plan) + strongest.LIMIT * searches * (not found)
            said = units.at_best(least, plans.longest(plan))
            assert f"\ntakes {said}, " in capsys.readouterr().out
        assert main(["plan", "list"]) == 0
        assert f"  {said}  {quick.title}\n" in capsys.readouterr().out
        choice = next(one for one in LiveBackend().plans(plans.Link()) if one.name == "quick")  # within this machine
        assert choice.longest - choice.seconds == strongest.LIMIT * found

    told(found=False)
    ends.strengthened(rung(RungName.LOCALHOST), Pair(HOST, HOST))
    ends.strengthened(rung(), Pair(HOST, BETA))
    told(found=True)
