"""Figures of several values, against the standard library's exact ones."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder.judge.stats import deviation, spread, variance
from linkladder.phrases.judgements import rests_on_repeats

RATES = st.floats(1e3, 1e12)


@given(st.lists(RATES, min_size=2, max_size=60))
def test_the_deviation_is_the_exact_one(values: list[float]) -> None:
    assert variance(values) == pytest.approx(statistics.variance(values), rel=1e-9, abs=(1e-12 * max(values)) ** 2)
    assert deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-12 * max(values))


@given(RATES, st.integers(2, 60))
def test_equal_values_do_not_scatter_at_all(value: float, count: int) -> None:
    assert variance([value] * count) == 0.0


def test_repeats_that_all_carried_nothing_have_an_interval_that_says_so() -> None:
    said = rests_on_repeats("near to far", spread([0.0, 0.0]), None)
    assert said.endswith("of the mean of 2 repeats, 0 b/s to 0 b/s.")
    assert rests_on_repeats("near to far", spread([0.0, 1e9]), None).endswith("too wide to say anything.")
