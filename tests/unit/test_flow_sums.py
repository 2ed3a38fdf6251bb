"""A flow's seconds beside its own total."""

from __future__ import annotations

import pytest

from linkladder.model import Direction, Experiment
from linkladder.tools.flow_sums import contradiction, flow
from linkladder.tools.streams import Connection, Row, Series

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


def told(*seconds: int, total: int, end: float = 3.0) -> Series:
    series = Series()
    for start, number in enumerate(seconds):
        series.add(Row("8", False, start, start + 1.0, number, True, "read"))
    series.add(Row("8", False, 0.0, end, total, True, "read"))
    return series


RECEIVED = (18_854_720, 11_428_136, 38_056_032)  # by a busy machine, which then found 6 MB in its socket
SENT = (18_874_432, 10_485_760, 44_040_192)


@pytest.mark.parametrize(
    ("received", "sent", "sent_in_all", "believed"),
    [
        (RECEIVED, SENT, 74_448_960, True),
        (RECEIVED, SENT, 74_448_896, False),
        (RECEIVED, (74_448_960,), 74_448_960, False),  # the sender told one second, whose end says nothing
        ((18_854_720, 5_428_136, 38_056_032), SENT, 74_448_960, False),
    ],
)
def test_more_may_be_in_the_total_alone_where_the_sender_tells_the_same(
    received: tuple[int, ...], sent: tuple[int, ...], sent_in_all: int, believed: bool
) -> None:
    rx = told(*received, total=74_448_960, end=3.01)
    tx = told(*sent, total=sent_in_all, end=3.10)
    flow(Experiment("x"), Direction.FORWARD, Connection("8", "a", 1, "b", 2), rx, tx, receiver_near=False)
    assert (rx.conflict == "") is believed
