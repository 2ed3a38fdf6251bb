"""The strongest setting of a generator: how it is found in time, where it is used, and when it is looked for again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from linkladder import phrases
from linkladder import plan as plans
from linkladder.engine import strongest
from linkladder.model import (
    Direction,
    Experiment,
    Generator,
    HostFacts,
    Looked,
    Nic,
    Strength,
)
from linkladder.model.asked import beyond
from linkladder.phrases.strength import found_strength
from linkladder.tools import ToolVersions

M = 1 << 20
PLAIN, LONG, WIDE = Generator(), Generator(write_size=M), Generator(write_size=M, window=4 * M)
THREE, LONG3, ZERO3 = (Generator("iperf3", write_size=size, zero_copy=zero) for size, zero in
                       ((None, False), (M, False), (M, True)))  # fmt: skip
WIDE3 = replace(ZERO3, window=4 * M)
WAYS = (PLAIN, LONG, WIDE, THREE, LONG3, WIDE3, ZERO3)
# Gb/s of two looks at each on an unshaped path between two network namespaces, one core an end (WIDE3's are assumed)
RECORDED = {
    PLAIN: (10.6, 13.1), LONG: (17.3, 17.2), WIDE: (32.6, 16.0), THREE: (28.3, 23.1), LONG3: (32.0, 45.5),
    WIDE3: (33.0, 35.0), ZERO3: (34.3, 41.8),
}  # fmt: skip
BOTH = ToolVersions({"iperf": "2.1.8", "iperf3": "3.17.1"})
ALONE = ToolVersions({"iperf": "2.1.8"})
CARD = Nic("vmx1", "vmx", mtu=1500, speed_bps=10e9, addresses=("192.0.2.1", "192.0.2.2"), offloads={"tso": True})
OTHER = Nic("vmx0", "vmx", mtu=1500, speed_bps=10e9, addresses=("198.51.100.1",))  # that no path leads over
HOST = HostFacts("alpha", "Linux", "12", "6.1", cpu="cpu", cores=4, memory=8 << 30, tools=dict(BOTH.found),
                 nics=(OTHER, CARD), window_limit=64 * M)  # fmt: skip
BETA = replace(HOST, name="beta")
OPEN = Experiment("open", streams=2, strongest=True)


class World:
    """A machine whose clock and rates are known beforehand."""

    def __init__(self, rate: Callable[[Generator, int], float], seconds: float = 1.5) -> None:
        self.rate, self.seconds, self.now = rate, seconds, 0.0
        self.looks: list[Generator] = []

    async def look(self, generator: Generator) -> float:
        self.looks.append(generator)
        self.now += self.seconds
        return self.rate(generator, self.looks.count(generator) - 1)

    def search(self, streams: tuple[int, ...] = (1,), ways: tuple[Generator, ...] = WAYS) -> Strength:
        return asyncio.run(strongest.search(ways, streams, self.look, lambda: self.now))


def recorded(generator: Generator, look: int) -> float:
    return 1e9 * RECORDED[replace(generator, streams=1)][min(look, 1)]


def test_of_recorded_figures_the_strongest_is_found_within_its_time() -> None:
    world = World(recorded)
    found = world.search()
    assert found.looked[0].generator in (LONG3, ZERO3)
    assert found.seconds == world.now <= strongest.LIMIT
    assert world.looks[:7] == [ZERO3, *WAYS[:-1]]
    assert world.looks.count(found.looked[0].generator) >= world.looks.count(PLAIN) == 2, "the final is against it"
    assert found.looked[0].bps > 2 * next(one.bps for one in found.looked if one.generator == PLAIN)


def test_one_lucky_look_is_not_enough() -> None:
    lucky = {WIDE: (32.0, 8.0)}
    found = World(
        lambda g, n: 1e9 * (lucky | {one: (20.0, 20.0) for one in WAYS if one != WIDE})[g][min(n, 1)]
    ).search()
    assert found.looked[0].generator != WIDE


def test_those_that_are_close_are_looked_at_in_turn_as_long_as_there_is_time() -> None:
    lucky = {WIDE: (32.0, 30.0, 16.0, 16.0), LONG3: (27.5, 27.5, 27.5, 27.5)}
    rates = {one: (lucky.get(one) or (10.0,) * 4) for one in WAYS}
    world = World(lambda g, n: 1e9 * rates[g][min(n, 3)])
    found = world.search()
    assert found.looked[0].generator == LONG3, "two lucky looks in a row are not enough either"
    assert world.now <= strongest.LIMIT < world.now + 2 * world.seconds


def test_where_one_is_well_ahead_no_more_looks_are_spent() -> None:
    world = World(lambda g, _: 40e9 if g == ZERO3 else 20e9)
    assert world.search().looked[0].generator == ZERO3 and len(world.looks) == len(WAYS) + 2


def test_the_better_ways_are_tried_with_other_numbers_of_streams() -> None:
    many = {1: 1.0, 4: 0.7, 8: 1.4}
    world = World(lambda g, n: recorded(g, n) * many[g.streams])
    found = world.search((4, 8, 1))
    assert found.looked[0].generator.streams == 8
    assert world.now <= strongest.LIMIT and {g.streams for g in world.looks[: len(WAYS)]} == {4}
    assert {g for g in world.looks if g.streams == 1} < {replace(g, streams=1) for g in WAYS}


@pytest.mark.parametrize("seconds", [0.9, 2.5, 6.0, 15.0, 40.0])
def test_slow_looks_are_fewer_and_the_limit_holds(seconds: float) -> None:
    world = World(recorded, seconds)
    found = world.search((4, 8, 1))
    assert found.looked and (world.now <= strongest.LIMIT or len(world.looks) == 1)
    assert len({*world.looks}) >= min(4, strongest.LIMIT // seconds), "a second look at the only one tells nothing"
    assert found.looked[0].generator.tool == "iperf3"


def test_where_looks_are_slow_the_likely_strongest_is_looked_at_first_and_then_the_default() -> None:
    assert [replace(g, streams=1) for g in _looks(9.0)] == [ZERO3, PLAIN]
    assert [replace(g, streams=1) for g in _looks(15.0)] == [ZERO3]
    assert [replace(g, streams=1) for g in _looks(4.0)] == [ZERO3, PLAIN, WIDE3, LONG3, THREE]


def _looks(seconds: float) -> list[Generator]:
    world = World(recorded, seconds)
    world.search()
    return world.looks


def test_what_is_ahead_by_chance_does_not_replace_the_default() -> None:
    found = World(lambda g, _: 1e9 if g == PLAIN else 1.03e9).search()
    assert found.looked[0].generator == PLAIN


@pytest.mark.parametrize(("ahead", "chosen"), [(1.15, ZERO3), (1.3, PLAIN)])
def test_where_each_has_one_look_what_works_least_is_replaced_only_by_what_is_well_ahead(
    ahead: float, chosen: Generator
) -> None:
    """Single short looks between slow machines scatter by a fifth."""
    found = World(lambda g, _: ahead * 0.5e9 if g == PLAIN else 0.5e9, 8.0).search()
    assert found.looked[0].generator == chosen and len(found.looked) == 2
    assert ("which may be chance" in found_strength(found)) == (chosen == ZERO3)


def test_a_setting_that_failed_once_is_not_chosen() -> None:
    found = World(lambda g, n: 0.0 if g == ZERO3 and n else recorded(g, n)).search()
    assert ZERO3 not in [one.generator for one in found.looked]


def test_where_nothing_carried_anything_the_plan_keeps_its_own() -> None:
    found = World(lambda g, n: 0.0).search()
    assert found.looked == ()
    assert strongest.chosen(found, OPEN, BOTH, BOTH, here=True) == OPEN
    assert "plan's own" in phrases.known_strength(found)


def test_only_what_both_ends_have_and_grant_is_looked_at() -> None:
    assert strongest.candidates(BOTH, BOTH, None) == WAYS
    assert strongest.candidates(BOTH, ALONE, None) == (PLAIN, LONG, WIDE)
    assert strongest.candidates(BOTH, ALONE, M) == (PLAIN, LONG)


def test_streams_against_cores() -> None:
    assert strongest.numbers_of_streams(1) == (1, 2)
    assert strongest.numbers_of_streams(2) == (1, 2)
    assert strongest.numbers_of_streams(16) == (8, 16, 1)


@pytest.mark.parametrize("cores", [200, 256, 384, 1024])
def test_no_end_is_asked_for_more_streams_than_it_accepts(cores: int) -> None:
    for streams in strongest.numbers_of_streams(cores):
        assert beyond(strongest.look_at(Generator(streams=streams))) is None


STRENGTH = Strength(tuple(Looked(replace(g, streams=n), bps) for g, n, bps in
                          ((WIDE, 2, 5e9), (LONG3, 1, 4e9), (LONG, 4, 3e9), (PLAIN, 2, 1e9))))  # fmt: skip


def test_on_another_path_no_fixed_buffer_and_no_fewer_streams() -> None:
    assert strongest.chosen(STRENGTH, OPEN, BOTH, BOTH, here=True) == replace(WIDE, streams=2).of(OPEN)
    there = strongest.chosen(STRENGTH, OPEN, BOTH, BOTH, here=False)
    assert (there.tool, there.window, there.write_size, there.streams) == ("iperf", None, M, 4)


def test_what_cannot_go_both_ways_at_once_is_passed_over() -> None:
    duplex = replace(OPEN, direction=Direction.DUPLEX)
    assert strongest.chosen(STRENGTH, duplex, BOTH, BOTH, here=True).tool == "iperf3"
    assert strongest.chosen(STRENGTH, duplex, BOTH, ALONE, here=True).window is None
    eight = strongest.chosen(STRENGTH, replace(duplex, streams=8), BOTH, BOTH, here=False)
    assert eight == replace(LONG3, streams=8).of(eight), "as it is done one way, in more streams"


# --- which plans


@pytest.mark.parametrize("name", plans.BUILTIN)
def test_seed_tables_and_comparisons_keep_their_own_load(name: str) -> None:
    left = {r.name for r in plans.builtin(name, 4).rungs if any(strongest.left_open(e) for e in r.experiments)}
    assert bool(left) == (name in ("quick", "circuit", "soak", "cards"))


@pytest.mark.parametrize(
    "pinned", ['tool = "iperf"', 'window = "8M"', 'write_size = "128k"', "streams = 4", "cores = 1", 'protocol = "udp"']
)
def test_a_plan_that_pins_the_load_keeps_it(pinned: str) -> None:
    lines = ["streams = 'auto'", pinned] if "streams" not in pinned else [pinned]
    lines += ["udp_percent = 50"] if "udp" in pinned else []
    made = plans.read_plan("\n".join(['name = "p"', "[[experiment]]", *lines])).rungs[0].experiments
    assert made and not any(strongest.left_open(e) for e in made)


def test_the_longest_time_has_the_search_in_it() -> None:
    asked = plans.builtin("quick", 4)
    pinned = replace(
        asked,
        rungs=tuple(
            replace(r, experiments=tuple(replace(e, strongest=False) for e in r.experiments)) for r in asked.rungs
        ),
    )
    assert plans.longest(asked) - plans.longest(pinned) == 2 * strongest.LIMIT
    assert plans.seconds(asked) == plans.seconds(pinned)
