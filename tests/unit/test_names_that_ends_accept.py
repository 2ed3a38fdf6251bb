"""Every way by which an experiment gets its name ends in one that an end accepts, and that no other one has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from linkladder import plan as plans
from linkladder.engine.generators import Kept, Pair, applied
from linkladder.model import (
    Company,
    Experiment,
    Generator,
    HostFacts,
    Looked,
    Path,
    Plan,
    Rung,
    RungName,
    Strength,
)
from linkladder.plan import company
from linkladder.wire.limits import check_experiment

LENT = (
    ("mtu", 9000), ("tso", "off"), ("lro", "off"), ("congestion", "a" * 15), ("stack", "freebsd"), ("sack", "off"),
    ("delayed-ack", "off"), ("ecn", "on"), ("initial-window", 20), ("send-buffer", 1 << 30),
    ("receive-buffer", 1 << 30),
)  # fmt: skip
LABELS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.sampled_from(" /"), max_size=120)
SETTINGS = st.lists(st.sampled_from(LENT), unique=True, max_size=len(LENT))
CORES = st.none() | st.integers(1, 1024) | st.sets(st.integers(0, 1023), min_size=1, max_size=300)
LOADS = st.fixed_dictionaries(
    {"label": LABELS, "settings": SETTINGS, "cores": CORES},
    optional={
        "tool": st.sampled_from(("iperf", "iperf3", "netperf")),
        "window": st.sampled_from(("800k", 8_388_607)),
        "write_size": st.integers(1024, 1 << 20),
        "dscp": st.integers(0, 63),
        "duration": st.floats(1, 60),
    },
)


def table(load: dict[str, Any], **more: Any) -> str:
    values = {"rungs": ["dc-link"], **load, **more}
    values["settings"] = [{"kind": kind, "value": value} for kind, value in values.pop("settings")]
    if isinstance(cores := values.pop("cores"), set):
        values["cores"] = ",".join(map(str, sorted(cores)))
    elif cores:
        values["cores"] = cores
    return "[[experiment]]\n" + "".join(f"{key} = {toml(one)}\n" for key, one in values.items() if one not in ([], ""))


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


def read(*tables: str) -> Rung:
    (rung,) = plans.read_plan('name = "p"\n' + "".join(tables)).rungs
    return rung


def accepted(experiments: tuple[Experiment, ...]) -> None:
    for one in experiments:
        check_experiment(one)
    names = {one.id for one in experiments}
    assert len(names) == len(experiments)
    assert {one.baseline for one in experiments} - {""} <= names


@given(st.lists(LOADS, min_size=1, max_size=3), st.booleans())
def test_those_of_a_plan_and_what_is_added_to_it(loads: list[dict[str, Any]], compared: bool) -> None:
    first, *more = (
        read(table(load, **({"baseline": True, "control": True} if compared and load["settings"] else {})))
        for load in loads
    )
    plan = Plan("p", rungs=(first,))
    accepted(first.experiments)
    for rung in more:
        before = plan.rungs[0].experiments
        plan = plans.extended(plan, Plan("p", rungs=(rung,)))
        accepted(plan.rungs[0].experiments)
        assert [e.id for e in plan.rungs[0].experiments[: len(before)]] == [e.id for e in before], "names stay"


@given(
    LOADS,
    st.lists(st.sampled_from(LENT), unique=True, min_size=1, max_size=4),
    st.sets(st.integers(0, 1023), min_size=1),
)
def test_those_of_a_staircase_whose_every_step_wins(load: dict[str, Any], lent: list[Any], cores: set[int]) -> None:
    steps = [{"settings": [{"kind": kind, "value": value}]} for kind, value in lent]
    steps.append({"cores": ",".join(map(str, sorted(cores)))})
    rung = read(table(load, steps=steps))
    accepted(rung.experiments)
    while (stair := rung.stairs[0]).steps:
        arms, stair = plans.next_step(stair, plans.present_step(rung, stair)[-1])
        rung = replace(rung, experiments=(*rung.experiments, *arms), stairs=(stair,))
        accepted(rung.experiments)


@given(LOADS, st.lists(st.text("ab-", min_size=1, max_size=63), unique=True, min_size=2, max_size=4))
def test_those_of_the_paths_of_a_mesh(load: dict[str, Any], peers: list[str]) -> None:
    asked = [Company.ALONE.value, Company.ROUNDS.value, Company.NEIGHBOURS.value]
    more = {"company": asked, **({"baseline": True} if load["settings"] else {})}
    paths = tuple(Path("10.0.0.1", f"10.0.0.{n}", peer) for n, peer in enumerate(peers, 2))
    accepted(company.spread(replace(read(table(load, **more)), paths=paths)).experiments)


@given(LOADS, st.integers(1, 128))
def test_those_that_the_strongest_generator_names(load: dict[str, Any], streams: int) -> None:
    load = {key: load[key] for key in load if key in ("label", "dscp", "duration")} | {"settings": [], "cores": None}
    rung = read(table(load, streams="auto"), table({**load, "streams": streams}))
    way = Generator("iperf3", streams, write_size=1 << 20, zero_copy=True)
    host = HostFacts("alpha", os="Linux", tools={"iperf": "2.1.8", "iperf3": "3.12"}, cores=2)
    kept = Kept("a", "b", RungName.DC_LINK, Strength((Looked(way, 1e9),)))
    (after,) = applied(Plan("p", rungs=(rung,)), rung, Pair(host, host), kept).rungs
    accepted(after.experiments)


def test_a_name_that_is_too_long_is_cut_and_stays_apart() -> None:
    """With a label of 120 characters it was refused as a label, even where there was none."""
    core_lists = [",".join(map(str, range(first, 400, 2))) for first in (0, 2)]
    rung = read(*(table({"label": "", "settings": [], "cores": None}, cores=one) for one in core_lists))
    accepted(rung.experiments)
    assert all(e.id.startswith("tcp-1s-default-cores") for e in rung.experiments)
