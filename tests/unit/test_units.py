from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder import units


@pytest.mark.parametrize(
    ("text", "bps"),
    [("10G", 10e9), ("2.5 Gb/s", 2.5e9), ("950M", 950e6), ("64k", 64e3), (1000, 1000.0), ("1Gbit/s", 1e9)],
)
def test_rates(text: str, bps: float) -> None:
    assert units.parse_rate(text) == bps


@pytest.mark.parametrize("text", ["", "G", "-1G", "0", "10X", "1 Gx", "nan", "inf", "1e9G"])
def test_no_rates(text: str) -> None:
    with pytest.raises(ValueError):
        units.parse_rate(text)


@pytest.mark.parametrize(
    ("text", "size"), [("800k", 800_000), ("8M", 8 << 20), ("64K", 65536), ("1g", 10**9), (4096, 4096)]
)
def test_sizes_as_iperf_reads_them(text: str, size: int) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("bps", "shown"),
    [
        (9.4146e9, "9.41 Gb/s"),
        (956e6, "956 Mb/s"),
        (999.96e6, "1.00 Gb/s"),
        (0, "0 b/s"),
        (12.3, "12.3 b/s"),
        (1e3, "1.00 kb/s"),
    ],
)
def test_three_figures(bps: float, shown: str) -> None:
    assert units.rate(bps) == shown


@given(st.floats(min_value=1, max_value=1e13))
def test_a_shown_rate_is_close(bps: float) -> None:
    number, unit = units.rate(bps).split()
    factor = {"b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12}[unit]
    assert abs(float(number) * factor - bps) <= 0.0051 * bps


def test_a_range_of_rates_has_one_unit_and_is_one_figure_where_both_read_alike() -> None:
    assert units.rates(75.44e9, 83e9) == "75.4 - 83.0 Gb/s"
    assert units.rates(941.2e6, 941.4e6) == "941 Mb/s" == units.rate(941.3e6)
    assert units.rates(950e6, 1.02e9, "-") == "0.950-1.02 Gb/s"
    assert units.rates(0.0, 0.0) == "0 b/s" and units.rates(None, 1e9) == "-"
    assert units.rates(9.996e8, 9.996e8) == units.rate(9.996e8), "rounded up into the next unit alike"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")])
def test_durations(seconds: float, shown: str) -> None:
    assert units.duration(seconds) == shown


@pytest.mark.parametrize(("names", "said"), [("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")])
def test_names_in_a_sentence(names: str, said: str) -> None:
    assert units.joined(list(names)) == said
