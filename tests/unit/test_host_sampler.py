"""Differences and summaries: worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder import host
from linkladder.errors import LinkladderError
from linkladder.host.sampler import QUIET, load
from linkladder.model import CoreLoad, CoreTimes, HostSample


def sample(t: float, *idle: float, memory: int = 100) -> HostSample:
    return HostSample(t, tuple(CoreLoad(100.0 - i, 0.0, 0.0, i) for i in idle), memory)


def test_load_is_the_share_of_what_the_core_had() -> None:
    before, after = CoreTimes(10, 10, 10, 10), CoreTimes(10.5, 10.2, 10.1, 10.2)
    found = load(before, after)
    assert (round(found.user), round(found.system), round(found.interrupt), round(found.idle)) == (50, 20, 10, 20)
    assert load(before, before) == QUIET


def test_a_clock_that_did_not_tick_tells_nothing() -> None:
    last = CoreLoad(30.0, 10.0, 0.0, 60.0)
    assert load(CoreTimes(1, 1, 1, 1), CoreTimes(1, 1, 1, 1), last) == last


times = st.builds(CoreTimes, *[st.floats(0, 1e9)] * 4)


@given(times, times)
def test_loads_add_up_whatever_the_counters_do(before: CoreTimes, after: CoreTimes) -> None:
    found = load(before, after)
    assert found.user + found.system + found.interrupt + found.idle == pytest.approx(100.0)
    assert min(found.user, found.system, found.interrupt, found.idle) >= 0


def test_summary_counts_the_counted_part_only() -> None:
    warmup, tail = [sample(t, 0, 0) for t in (1, 2, 3)], [sample(14, 0, 0)]
    counted = [sample(float(t), 20, 60, memory=200 + t) for t in range(4, 14)]
    cpu, memory = host.summarise([*warmup, *counted, *tail], 1000, 3.0, 13.0, 9e9, 0.01)
    assert cpu.per_core == pytest.approx((80.0, 40.0))
    assert cpu.percent == pytest.approx(60.0)
    assert cpu.busiest == pytest.approx(80.0)
    assert cpu.cores_used == pytest.approx(1.2)
    assert cpu.gbps_per_core == pytest.approx(7.5)
    assert cpu.starved == 0.01
    assert (memory.total, memory.peak, memory.mean) == (1000, 213, round(sum(range(204, 214)) / 10))


def test_a_sample_across_the_edge_weighs_what_lies_inside() -> None:
    cpu, _ = host.summarise([sample(1.0, 100), sample(2.0, 0), sample(3.0, 100)], 1000, 1.5, 3.0)
    assert cpu.percent == pytest.approx(100 * 0.5 / 1.5)


def test_without_samples_there_is_no_load_and_no_error() -> None:
    cpu, memory = host.summarise([], 1000, 0.0, 10.0, 1e9)
    assert (cpu.percent, cpu.per_core, cpu.gbps_per_core) == (0.0, (), None)
    assert memory.total == 1000


@pytest.mark.parametrize(
    ("ttl", "hops"), [(64, 0), (63, 1), (60, 4), (128, 0), (125, 3), (255, 0), (250, 5), (0, None)]
)
def test_hops(ttl: int, hops: int | None) -> None:
    assert host.hops_from_ttl(ttl) == hops


def test_own_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINKLADDER_CORES", raising=False)
    assert host.own_cores(4) == (0, 1, 2, 3)
    monkeypatch.setenv("LINKLADDER_CORES", "2,0,9")
    assert host.own_cores(4) == (0, 2)
    for wrong in ("x", "9", "0;1"):
        monkeypatch.setenv("LINKLADDER_CORES", wrong)
        with pytest.raises(LinkladderError, match="LINKLADDER_CORES"):
            host.own_cores(4)
