"""A flow's seconds beside its own total."""

from __future__ import annotations

import pytest

from linkladder.tools.flow_sums import contradiction
from linkladder.tools.streams import Row, Series

MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    ("over", "block", "believed"),
    [
        (MEGABYTE, MEGABYTE, True),  # seen of a machine that stood still: the last write is in the total alone
        (MEGABYTE, None, False),
        (MEGABYTE, 131072, False),
        (2 * MEGABYTE, MEGABYTE, False),
        (-MEGABYTE, MEGABYTE, False),
    ],
)
def test_the_last_block_may_be_in_the_total_alone(over: int, block: int | None, believed: bool) -> None:
    series = Series()
    for second in range(3):
        series.add(Row("7", False, second, second + 1.0, 1_128_936, True, "write"))
    series.add(Row("7", False, 0.0, 3.0, 3 * 1_128_936 + over, True, "write"))
    assert (contradiction(series, block) == "") is believed
