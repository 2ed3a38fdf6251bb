"""The matrix of streams and window on 77 columns: everything in it, nothing wrapped."""

from __future__ import annotations

from typing import Any

import trials
from linkladder.app.widgets.matrix import matrix, spread
from linkladder.model import (
    CpuUse,
    Direction,
    Experiment,
    ExperimentResult,
    Path,
    Protocol,
    RungName,
    RungResult,
)


def measured(
    streams: int,
    window: int | None,
    way: Direction,
    low: float,
    high: float | None = None,
    ok: bool = True,
    **more: Any,
) -> ExperimentResult:
    cpu = {"near": CpuUse(100.0, 100.0, 4.0), "far": CpuUse(99.6, 100.0, 4.0)}
    trial = trials.trial("t", 0, ok, cpu=cpu, reason="" if ok else "refused")
    p = Experiment(f"{streams}-{window}-{way}", streams=streams, window=window, direction=way, **more)
    figures = (low, (low + high) / 2, high) if high else (low, low, low)
    return ExperimentResult(p, (trial,), *(figures if ok else (None, None, None)))


def test_both_directions_stand_side_by_side() -> None:
    results = [
        measured(1, None, Direction.FORWARD, 8.91e9, 9.41e9),
        measured(1, None, Direction.REVERSE, 7e9),
        measured(8, 8 << 20, Direction.FORWARD, 1e9, 9.5e9),
        measured(8, 8 << 20, Direction.REVERSE, 0, ok=False),
        measured(2, None, Direction.FORWARD, 9e8, protocol=Protocol.UDP, udp_rate_bps=9.57e9),
        measured(2, None, Direction.DUPLEX, 8e9),
    ]
    text = matrix(RungResult(RungName.DC_LINK, (Path(),), tuple(results)), None, 77).plain
    lines = text.splitlines()
    assert max(map(len, lines)) <= 77, text
    assert "near to far" in lines[0] and "far to near" in lines[0]
    assert lines[1].startswith("1       default * 8.91-9.41 Gb/s") and "* 7.00 Gb/s" in lines[1]
    assert "100/100" in lines[1]
    assert lines[2].startswith("8       8M        1.00-9.50 Gb/s") and "failed" in lines[2]
    assert lines[3].startswith("2 UDP 9.57 Gb/s   900 Mb/s")
    assert "both ways, added" in lines[4] and "8.00 Gb/s" in lines[5]
    roomy = matrix(RungResult(RungName.DC_LINK, (Path(),), tuple(results)), None, 118).plain
    assert "of ceiling" in roomy and max(map(len, roomy.splitlines())) <= 118


def test_a_range_over_two_units_is_told_in_the_larger_one() -> None:
    assert spread(measured(1, None, Direction.FORWARD, 900e6, 1.1e9)) == "0.900-1.10 Gb/s", "as wide as its column"


def test_the_best_setting_is_one_of_tcp_even_where_udp_is_faster() -> None:
    """UDP carries what it is paced at: more of it says nothing of streams and windows."""
    results = [
        measured(1, None, Direction.FORWARD, 4.1e9),
        measured(4, None, Direction.FORWARD, 9.1e9),
        measured(4, None, Direction.FORWARD, 9.5e9, protocol=Protocol.UDP, udp_rate_bps=9.57e9),
        measured(4, None, Direction.REVERSE, 9.5e9, protocol=Protocol.UDP, udp_rate_bps=9.57e9),
    ]
    text = matrix(RungResult(RungName.DC_LINK, (Path(),), tuple(results)), None, 77).plain
    _, slow, fast, udp, legend = text.splitlines()
    assert "* 9.10 Gb/s" in fast and "*" not in slow and "*" not in udp
    assert slow.count("█") == 1 and fast.count("█") == 3 == udp[:40].count("█")
    assert legend.startswith("* best setting of TCP")


def test_a_rung_of_udp_alone_has_no_best_setting() -> None:
    results = [measured(4, None, Direction.FORWARD, 9.5e9, protocol=Protocol.UDP, udp_rate_bps=9.57e9)]
    head, row, _ = matrix(RungResult(RungName.DC_LINK, (Path(),), tuple(results)), None, 77).plain.splitlines()
    assert "near to far" in head and "9.50 Gb/s" in row and "*" not in row


def test_the_sum_of_both_ways_makes_the_bars_of_one_no_shorter() -> None:
    results = [measured(2, None, way, 9e9) for way in (Direction.FORWARD, Direction.REVERSE)]
    results.append(measured(2, None, Direction.DUPLEX, 18e9))
    lines = matrix(RungResult(RungName.DC_LINK, (Path(),), tuple(results)), None, 77).plain.splitlines()
    assert lines[1].count("███") == 2 and lines[3].count("███") == 1


def test_a_setting_with_other_properties_has_a_row_of_its_own() -> None:
    results = [
        measured(4, None, Direction.FORWARD, 9.1e9),
        measured(4, None, Direction.FORWARD, 2.2e9, tool="netperf", incompressible=True),
    ]
    text = matrix(RungResult(RungName.DC_LINK, (Path(),), tuple(results)), None, 77).plain
    assert "9.10 Gb/s" in text and "2.20 Gb/s" in text
    assert "by netperf, incompressible payload:" in text.splitlines()
