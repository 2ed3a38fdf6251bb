"""What the check of a plan takes is taken by both ends: no run ends at the far one with a number that it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder import plan as plans
from linkladder.model import Experiment, Plan
from linkladder.model.asked import BOUNDS, MOST, beyond
from linkladder.wire.limits import Refused, check_experiment

KINDS = (
    ("mtu", 9000), ("tso", "off"), ("lro", "off"), ("gso", "off"), ("gro", "off"), ("rxcsum", "off"), ("txcsum", "off"),
    ("congestion", "cubic"), ("stack", "rack"), ("sack", "off"), ("delayed-ack", "off"), ("ecn", "on"),
)  # fmt: skip
LENT = [{"kind": kind, "value": value, "ends": end} for kind, value in KINDS for end in ("near", "far")]
TABLES = st.fixed_dictionaries(
    {"tool": st.sampled_from(("iperf", "iperf3", "netperf"))},
    optional={
        "protocol": st.sampled_from(("tcp", "udp", "rr")),
        "streams": st.integers(-1, 300) | st.just("auto"),
        "window": st.integers(0, 1 << 31) | st.sampled_from(("512", "1k", "1K", "1G", "2G", "default")),
        "write_size": st.integers(0, 1 << 28) | st.sampled_from(("64M", "65M")),
        "udp_rate": st.sampled_from(("999", "1k", "1T", "2T", "10T")) | st.floats(1, 1e14),
        "udp_percent": st.floats(1, 200),
        "duration": st.floats(0.5, 1e6),
        "warmup": st.floats(0, 70),
        "repeats": st.integers(0, 101),
        "request": st.integers(0, 70_000),
        "sessions": st.integers(0, 200),
        "dscp": st.integers(0, 70),
        "client_port": st.integers(9000, 70_000),
        "direction": st.sampled_from(("forward", "duplex", "both")),
        "cores": st.integers(0, 2000) | st.just("auto"),
        "settings": st.lists(st.sampled_from(range(len(LENT))), unique=True, min_size=1).map(
            lambda some: [LENT[n] for n in some]
        ),
    },
)
PINGS = st.fixed_dictionaries(
    {"tool": st.just("ping"), "protocol": st.sampled_from(("df", "echo"))},
    optional={
        "sizes": st.lists(st.integers(60, 70_000), min_size=1, max_size=40),
        "count": st.integers(0, 20_000),
        "interval": st.floats(0.001, 20),
    },
)


def text(table: dict[str, Any], contract: str = "") -> str:
    return f'name = "p"\n{contract}[[experiment]]\nrungs = ["dc-link"]\n' + "".join(
        f"{key} = {_toml(one)}\n" for key, one in table.items()
    )


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def every(plan: Plan) -> Iterator[Experiment]:
    for rung in plan.rungs:
        yield from rung.experiments
        for stair in rung.stairs:
            for step in stair.steps:
                yield from step


@given(TABLES | PINGS, st.sampled_from((1, 2, 256, 258, 1024, 4096)), st.sampled_from(("10G", "10k", "10T")))
def test_every_plan_that_the_check_takes_is_taken_by_an_end(table: dict[str, Any], cores: int, port: str) -> None:
    try:
        plan = plans.read_plan(text(table, f'[contract]\nport = "{port}"\n'), cores=cores)
    except plans.PlanError:
        return
    for one in every(plan):
        check_experiment(one)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"window": 1023}, "window: expected a size from 1.00 kB to 1.00 GB, got 1023"),
        ({"window": "2G"}, "window: expected a size from"),
        ({"write_size": "65M"}, "write_size: expected a size from 1 B to 64.0 MB, got '65M'"),
        ({"settings": LENT[:17]}, "settings: expected at most 16 settings at once, got 17"),
        (
            {"tool": "ping", "protocol": "df", "sizes": [*range(1000, 1033)]},
            "sizes: expected at most 32 values, got 33",
        ),
        ({"protocol": "udp", "udp_rate": "2T"}, "udp_rate: expected a rate from 1k to 1T"),
        ({"steps": [{"settings": LENT[n : n + 2]} for n in range(0, 18, 2)]}, "settings: expected at most 16, got 18"),
    ],
)
def test_what_an_end_refuses_is_refused_before_a_run(table: dict[str, Any], said: str) -> None:
    with pytest.raises(plans.PlanError) as refused:
        plans.read_plan(text(table))
    assert said in refused.value.title


def test_a_rate_in_percent_that_comes_to_more_than_an_end_takes_is_refused() -> None:
    with pytest.raises(plans.PlanError, match=r"udp_rate: expected from 1000 to 1e\+12"):
        plans.read_plan(text({"protocol": "udp", "udp_percent": 100}, '[contract]\nport = "2T"\n'))


def test_auto_asks_for_no_more_than_an_end_takes() -> None:
    for cores in (256, 258, 1024, 5000):
        found = list(every(plans.read_plan(text({"streams": "auto"}), cores=cores)))
        assert {one.streams for one in found} == {128}
        named = list(every(plans.read_plan(text({"cores": "auto"}), cores=cores)))
        assert max(one.cores or 0 for one in named) == min(cores, 1024)


@pytest.mark.parametrize("key", BOUNDS)
def test_an_end_holds_each_number_to_the_same_bounds(key: str) -> None:
    low, high = BOUNDS[key]
    many = isinstance(getattr(Experiment("x"), key), tuple)
    for value, fits in ((low, True), (high, True), (low - 1, False), (high * 1.01 + 1, False)):
        one = Experiment("x", **{key: (value,) if many else value})
        assert (beyond(one) is None) is fits
        if not fits:
            with pytest.raises(Refused, match=f"^{key}: expected from"):
                check_experiment(one)


def test_an_end_holds_how_many_there_are_to_the_same_bounds() -> None:
    for key, most in MOST.items():
        with pytest.raises(Refused, match=f"^{key}: expected at most {most}, got {most + 1}"):
            check_experiment(Experiment("x", **{key: tuple(range(most + 1))}))
