"""Socket buffers where both ways are loaded at once: iperf 3 sets them and iperf 2 does not, so `tune` takes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import trials
from linkladder import host
from linkladder import plan as plans
from linkladder.app.experiment_text import about
from linkladder.commands import planning
from linkladder.engine import generators
from linkladder.engine.generators import Kept, Pair
from linkladder.model import (
    Direction,
    End,
    Experiment,
    Generator,
    HostFacts,
    Looked,
    Nic,
    Plan,
    Rung,
    RungName,
    RunState,
    Strength,
)
from linkladder.model import Path as Path_
from linkladder.run.starting_point import begun_at_best
from linkladder.store import Store
from linkladder.tools import ToolVersions
from staircases import PATHS, climbed_with

D = Direction.DUPLEX
RUNG = RungName.SAME_VLAN
BOTH, ALONE = {"iperf": "2.1.8", "iperf3": "3.16"}, {"iperf": "2.1.8"}
WINDOWS = [None, 800_000, 8 << 20]
LONG = Generator(streams=2, write_size=1 << 20)
LONG3 = replace(LONG, tool="iperf3")
STRONG = Strength((Looked(LONG, 4e10), Looked(LONG3, 3e10)))


def tune(paths: tuple[Path_, ...] = PATHS) -> Plan:
    made = plans.builtin("tune", 4)
    return replace(made, rungs=tuple(replace(r, paths=paths) for r in made.rungs))


def machine(tools: dict[str, str]) -> HostFacts:
    nic = Nic("eth0", mtu=1500, addresses=("10.0.0.1", "10.0.0.2"))
    return HostFacts("one", os="Linux", cores=4, tools=tools, nics=(nic,))


def first(plan: Plan) -> Experiment:
    return next(stair.first for stair in plan.rungs[0].stairs if stair.first.direction is D)


@pytest.mark.parametrize("looked", [STRONG, Strength((Looked(LONG, 4e10),)), Strength()])
@pytest.mark.parametrize(
    ("far", "tool", "windows"),
    [(BOTH, "iperf3", WINDOWS), (ALONE, "iperf", []), ({"iperf3": "3.16"}, "iperf3", WINDOWS)],
)
def test_buffers_are_tried_both_ways_at_once_where_both_ends_have_the_tool(
    far: dict[str, str], tool: str, windows: list[int | None], looked: Strength
) -> None:
    near, there = machine(BOTH), machine(far)
    before = tune()
    begun = generators.applied(before, before.rungs[0], Pair(near, there), Kept("", "", RUNG, looked))
    plan, result = climbed_with(begun, lambda e, way: 1e9, {End.NEAR: near, End.FAR: there})
    measured = [e.parameters for e in result.experiments if e.parameters.direction is D]
    assert {e.tool for e in measured} == {tool}
    tried = {e.window for e in plan.rungs[0].experiments if e.direction is D and e.step == 2}
    assert tried == set(WINDOWS)
    assert sorted((e.window for e in measured if e.step == 2), key=lambda size: size or 0) == windows
    assert sorted(e.streams for e in measured if e.step == 3) == [1, 2, 4, 8], "and it goes on"
    if "iperf" in far and looked.looked:
        others = {e.parameters.tool for e in result.experiments if e.parameters.direction is not D}
        assert others == {"iperf"}, "one way it begins where the generator is strongest"


def kept(store: Store, tools: dict[str, str], carried: dict[Generator, float]) -> None:
    """A run that loaded both ways at once in these ways."""
    arms = [replace(way.of(Experiment(str(n))), direction=D) for n, way in enumerate(carried)]
    run = store.begin(Plan("p", rungs=(Rung(RUNG, PATHS, tuple(arms)),)), "beta")
    for name in ("near", "beta"):
        store.keep_host(run, name, machine(tools))
    for e, bps in zip(arms, carried.values(), strict=True):
        store.keep_trial(run, RUNG, e.id, trials.trial(e.id, 0, goodput_bps=bps, by_direction={"forward": bps}))
    store.finish(run, RunState.COMPLETE)


@pytest.mark.parametrize(
    ("tools", "carried", "begins"),
    [
        (ALONE, {LONG: 5e9, Generator(streams=4): 6e9}, Generator(streams=4)),
        (BOTH, {LONG: 5e9, Generator(streams=4): 6e9}, None),
        (BOTH, {LONG: 5e9, LONG3: 4e9, Generator("iperf3"): 3e9}, LONG3),
    ],
)
def test_an_earlier_best_counts_if_it_comes_as_far_as_any(
    tmp_path: Path, tools: dict[str, str], carried: dict[Generator, float], begins: Generator | None
) -> None:
    store = Store(tmp_path)
    kept(store, tools, carried)
    after, said = begun_at_best(tune(), store)
    assert first(after).strongest == (begins is None) and len(said) == (begins is not None)
    assert begins is None or Generator.of_load(first(after)) == begins


def dry_run(far: dict[str, str] | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(host, "facts", lambda: machine(BOTH))
    monkeypatch.setattr(planning, "local_versions", lambda: ToolVersions(BOTH))
    planning.describe(tune(), {"beta": machine(far)} if far else {})
    return capsys.readouterr().out


def test_what_cannot_be_had_is_said_before_it_begins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Only where both ends have iperf3, both ways at once: 800k window instead of default, 8M window instead"
    assert said in " ".join(about(tune()))
    (rung,) = tune().rungs
    known = plans.begun_at(rung, rung.stairs[2], LONG3)
    assert said not in " ".join(about(replace(tune(), rungs=(known,)))), "where it is known to begin with that tool"
    for far in (BOTH, None):  # who cannot be asked counts as a machine like this
        with_it = dry_run(far, capsys, monkeypatch)
        assert "left out" not in with_it and "162 trials" in with_it and "--bidir" in with_it
        assert "--full-duplex" not in with_it and "not available" not in with_it
    without = dry_run(ALONE, capsys, monkeypatch)
    assert "left out: 8M window instead of default, both ways at once: iperf sets a socket buffer only" in without
    assert f"{162 - 3 * 6} trials" in without and "--full-duplex" in without and "--bidir" not in without


def test_over_several_paths_it_begins_with_what_every_end_has() -> None:
    two = tune((*PATHS, replace(PATHS[0], local="10.0.1.1", remote="10.0.1.2", peer="gamma")))
    for far, tool in ((BOTH, "iperf3"), (ALONE, "iperf")):
        facts = {"": machine(BOTH), "beta": machine(BOTH), "gamma": machine(far)}
        begun = generators.planned(two, facts, Path("/nowhere"))
        assert first(begun.plan).tool == tool and "over several paths" in begun.said[RUNG]
