"""Figures of several values, against the standard library's exact ones."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder.judge.stats import deviation, variance

RATES = st.floats(1e3, 1e12)


@given(st.lists(RATES, min_size=2, max_size=60))
def test_the_deviation_is_the_exact_one(values: list[float]) -> None:
    assert variance(values) == pytest.approx(statistics.variance(values), rel=1e-9, abs=(1e-12 * max(values)) ** 2)
    assert deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-12 * max(values))


@given(RATES, st.integers(2, 60))
def test_equal_values_do_not_scatter_at_all(value: float, count: int) -> None:
    assert variance([value] * count) == 0.0
